// enroute demo-gateway: a gateway of the demo. `enroute demo` starts it and passes its settings.

import Access
import ArgumentParser
import EnrouteWire
import Foundation
import Gateway
import Realtime
import REST
import Logging
import NIOPosix
import Redis
import SecureSocket
import ServiceLifecycle
import TrafficControl
import UnixSignals

struct DemoGatewayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo-gateway", abstract: "A gateway of the demo; enroute demo starts it.",
        shouldDisplay: false)

    /// Issuer and audience of the demo's tokens.
    static let issuer = "demo"

    private static let longestLoopLagMilliseconds = 60_000

    @Option var live: String
    @Option var ledger: String
    @Option var certificate: String?
    @Option var key: String?
    @Option var streets: String?

    func run() async throws {
        disableCoreDumps()
        exitImmediatelyOnCrash()
        try await exitingCleanly {
            guard let secret = ProcessInfo.processInfo.environment[DemoGateway.secretVariable] else {
                throw ConfigurationError(
                    description: "\(DemoGateway.secretVariable) is not set; `enroute demo` sets it.")
            }
            var credentials: TLSCredentials?
            if let certificate, let key {
                credentials = try TLSCredentials(certificateChain: certificate, privateKey: key)
            }
            var settings = GatewaySettings(
                host: "127.0.0.1", port: 0, credentials: credentials, live: try RedisAddress(url: self.live),
                ledger: try RedisAddress(url: self.ledger),
                tokens: TokenVerifier(
                    keys: [try await .hs256(secret: secret)], issuer: Self.issuer, audience: Self.issuer))
            settings.streets = try self.streets.map { Array(try Data(contentsOf: URL(filePath: $0))) }
            settings.drainAccept = .zero
            settings.drain = .seconds(1)
            // Everything runs on one machine, so another gateway would not be faster: a lagging one accepts connections too.
            // With the default, a busy desktop paused accepting, and the end of the trip was never reported.
            settings.overload.loopLagMilliseconds = Self.longestLoopLagMilliseconds
            settings.management = nil
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
