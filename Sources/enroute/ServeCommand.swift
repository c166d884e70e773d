// enroute serve: a gateway, until it is told to stop.

import ArgumentParser
import Gateway
import Logging
import NIOPosix
import SecureSocket
import ServiceLifecycle
import Telemetry
import UnixSignals

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Runs a gateway.",
        discussion: """
            Configured by the environment, or by a file of NAME=value lines; README.md lists the names. SIGTERM drains
            and stops, a second one ends at once; SIGHUP reads the certificate files again and drops no connection.

            Examples:
              ENROUTE_REDIS_LIVE_URL=redis://127.0.0.1 ENROUTE_TLS_CERTIFICATE=chain.pem ENROUTE_TLS_KEY=key.pem \\
                ENROUTE_TOKEN_PUBLIC_KEY=tokens.pem enroute serve
              enroute serve --config /etc/enroute.env --port 443
            """)

    @Option(help: "Address to listen on (ENROUTE_HOST, default 0.0.0.0).")
    var host: String?

    @Option(help: "Port to listen on, 0 for any (ENROUTE_PORT, default 8443).")
    var port: Int?

    @Option(help: ArgumentHelp("Settings that the environment does not name.", valueName: "file"))
    var config: String?

    func run() async throws {
        try await exitingCleanly {
            let configuration = try await ProcessConfiguration(file: self.config)
            let settings = try await configuration.gateway(host: self.host, port: self.port)
            let logger = try configuration.logger()
            let group = MultiThreadedEventLoopGroup(numberOfThreads: try configuration.loops())
            let gateway = GatewayServer(settings: settings, group: group, logger: logger) { port in
                say(
                    "enroute: listening on \(settings.host) port \(port)\(settings.credentials == nil ? ", without TLS" : "")"
                )
            }
            var services: [ServiceGroupConfiguration.ServiceConfiguration] = [.init(service: gateway)]
            if let credentials = settings.credentials {
                services.append(.init(service: CertificateReload(credentials: credentials, logger: logger)))
            }
            var lifecycle = ServiceGroupConfiguration(
                services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
            lifecycle.maximumGracefulShutdownDuration = settings.drain + .seconds(5)
            try await ServiceGroup(configuration: lifecycle).run()
        }
    }
}

/// Reads the certificate files again on SIGHUP. What can not be used is said and changes nothing.
struct CertificateReload: Service, CustomStringConvertible {
    let credentials: TLSCredentials
    let logger: Logger

    var description: String { "certificate reload" }

    func run() async throws {
        for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() {
            do throws(TLSConfigurationError) {
                try self.credentials.reload()
                self.logger.info("certificates read again")
            } catch {
                self.logger.warning(
                    "certificates not read again, the old ones stay", metadata: [LogKey.reason: "\(error)"])
            }
        }
    }
}
