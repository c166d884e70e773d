// enroute demo-gateway: a gateway of the demo. `enroute demo` starts it and passes its settings.

import ArgumentParser
import ETA
import Foundation
import Gateway
import REST
import Logging
import NIOPosix
import Realtime
import Routing
import SecureSocket
import TrafficControl
import ServiceLifecycle
import Streets
import UnixSignals

struct DemoGatewayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo-gateway", abstract: "A gateway of the demo; enroute demo starts it.",
        shouldDisplay: false)

    /// Issuer and audience of the demo's tokens.
    static let issuer = "demo"

    /// The name on the operations page and in the audit trail.
    @Option var name: String
    @Option var live: String
    @Option var ledger: String
    @Option var certificate: String?
    @Option var key: String?
    @Option var streets: String?
    /// The same streets as a compiled file, for arrival times and routes.
    @Option var network: String?
    /// The only origin that may show these pages in a frame.
    @Option var stageOrigin: String
    /// A folder with pages that differ from the built-in ones.
    @Option var pages: String

    func run() async throws {
        prepareForCrash()
        try await exitingCleanly {
            guard let secret = ProcessInfo.processInfo.environment[DemoGateway.secretVariable] else {
                throw ConfigurationError(
                    description: "\(DemoGateway.secretVariable) is not set; `enroute demo` sets it.")
            }
            var credentials: TLSCredentials?
            if let certificate, let key {
                credentials = try TLSCredentials(certificateChain: certificate, privateKey: key)
            }
            var settings = try await GatewaySettings.onThisMachine(
                live: self.live, ledger: self.ledger, secret: secret, issuer: Self.issuer, credentials: credentials)
            settings.name = self.name
            settings.streets = try self.streets.map { Array(try Data(contentsOf: URL(filePath: $0))) }
            settings.arrivals.streets = try self.network.map { try StreetNetwork(path: $0) }
            settings.streetSource = settings.arrivals.streets.map { NetworkStreets($0) }
            settings.stageOrigins = try AllowedOrigins([self.stageOrigin])
            settings.pagesFolder = self.pages
            settings.liftLimitsOfAddresses()
            var logger = Logger(label: "enroute")
            logger.logLevel = .critical
            let gateway = GatewayServer(
                settings: settings, group: MultiThreadedEventLoopGroup.singleton, logger: logger
            ) { ports in say("\(ports.gateway)") }
            try await ServiceGroup(
                configuration: .init(services: [gateway], gracefulShutdownSignals: [.sigterm], logger: logger)
            ).run()
        }
    }
}
