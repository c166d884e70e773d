// enroute serve: runs a gateway until it receives a signal to stop.

import ArgumentParser
import Glibc
import Gateway
import REST
import Realtime
import LiveState
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
        usage: "enroute serve [<options>]",
        discussion: wrappable(
            """
            Settings come from the environment or from a file of NAME=value lines; they are listed below. While Redis is
            unavailable, or its clock differs by 30 s or more, the gateway waits. It does not start when `enroute check`
            finds an error, unless ENROUTE_MODE=development. SIGTERM drains connections and stops; a second SIGTERM stops
            immediately. SIGHUP reloads the certificate files without closing a connection. Under systemd (Type=notify)
            the gateway reports when it is ready, reloads or stops, and feeds the watchdog.

            Examples:
              ENROUTE_MODE=development ENROUTE_REDIS_LIVE_URL=redis://127.0.0.1 \\
                ENROUTE_TLS_CERTIFICATE_FILE=chain.pem ENROUTE_TLS_KEY_FILE=key.pem \\
                ENROUTE_TOKEN_PUBLIC_KEY_FILES=tokens.pem enroute serve
              enroute serve --config /etc/enroute/enroute.env --port 443
            """))

    @Option(help: "Address to listen on; takes precedence over ENROUTE_LISTEN_HOST.")
    var host: String?

    @Option(help: "Port to listen on, 1 to 65535, or 0 for any free one; takes precedence over ENROUTE_LISTEN_PORT.")
    var port: Int?

    @Flag(
        name: .customLong("echo-endpoint"),
        help: "Serve an echo endpoint at /v1/_echo, for WebSocket conformance tests. Not for production.")
    var hasEchoEndpoint = false

    @Option(help: configurationFileHelp)
    var config: String?

    func validate() throws {
        guard self.port.map((0...65_535).contains) ?? true else { throw ValidationError("--port must be 0 to 65535.") }
    }

    func run() async throws {
        let systemd = ServiceManagerEnvironment.take()
        prepareForCrash()
        // A reload may be requested before `CertificateReload` runs. Without this, the signal would end the process.
        signal(SIGHUP, SIG_IGN)
        try await exitingCleanly {
            let configuration = try ProcessConfiguration(file: self.config, command: "serve")
            let (settings, logger, loops) = try await self.read(configuration)
            try await loggingFailure(logger, as: try configuration.logFormat()) {
                try await self.serve(configuration, settings, logger, loops: loops, systemd)
            }
        }
    }

    private func serve(
        _ configuration: ProcessConfiguration, _ settings: GatewaySettings, _ logger: Logger, loops: Int,
        _ systemd: ServiceManagerEnvironment
    ) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: loops)
        let status = GatewayStatus()
        let reporter = ServiceReporter(systemd, gateway: status, logger: logger)
        reporter.tick()
        try await fetchFirstKeys(settings)
        self.logWarnings(about: settings, configuration, logger)
        let check = StartCheck(try configuration.inspection(group: group), logger: logger)
        raiseDescriptorLimit()
        let gateway = GatewayServer(
            settings: settings, group: group, logger: logger, status: status,
            onListening: { ports in
                Self.announce(ports, settings, logger)
                reporter.started(port: ports.gateway)
            }, beforeStarting: { try await check.run() })
        let reload = CertificateReload(credentials: settings.credentials, reporter: reporter, logger: logger)
        try await self.run(
            gateway, reload, reporter, stopLimit: settings.drainAccept + settings.drain + .seconds(5), logger)
    }

    /// Runs the gateway until a signal stops it.
    ///
    /// - Parameter stopLimit: how long a graceful shutdown may take.
    private func run(
        _ gateway: GatewayServer, _ reload: CertificateReload, _ reporter: ServiceReporter, stopLimit: Duration,
        _ logger: Logger
    ) async throws {
        var lifecycle = ServiceGroupConfiguration(
            services: [.init(service: gateway), .init(service: reload)], logger: logger)
        lifecycle.maximumGracefulShutdownDuration = stopLimit
        let process = ServiceGroup(configuration: lifecycle)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await process.run() }
            group.addTask {
                await StopSignals(logger: logger).stop(process) {
                    reporter.stopping(limit: stopLimit + .seconds(5))
                }
            }
            if reporter.isActive { group.addTask { await reporter.run() } }
            // The service group finishes first, unless a second signal exits the process.
            try await group.next()
            group.cancelAll()
        }
    }

    /// Logs problems that do not prevent the start but that an operator should correct.
    private func logWarnings(
        about settings: GatewaySettings, _ configuration: ProcessConfiguration, _ logger: Logger
    ) {
        if let problem = settings.credentials?.dateProblem {
            logger.warning("starting although a check failed", metadata: [LogKey.reason: "\(problem)"])
        }
        settings.credentials?.warnAboutChain(logger)
        for problem in configuration.sources.repeatedNames {
            logger.warning("setting repeated", metadata: [LogKey.reason: "\(problem)"])
        }
        for file in settings.languageFiles where !file.missing.isEmpty {
            logger.warning("texts missing in a language file", metadata: [LogKey.reason: "\(file.gaps)"])
        }
    }

    /// Announces on standard output that the gateway accepts connections.
    private static func announce(_ ports: GatewayServer.Ports, _ settings: GatewaySettings, _ logger: Logger) {
        let line =
            "enroute: listening on \(settings.host) port \(ports.gateway)"
            + (settings.credentials == nil ? ", without TLS" : "")
            + (ports.management.map { "; probes and metrics on port \($0)" } ?? "")
        Output.announce(line + "\n") { reason in
            logger.warning("cannot write to standard output", metadata: [LogKey.reason: "\(reason)"])
        }
    }

    /// - Throws: `ConfigurationError` with everything that is wrong.
    private func read(_ configuration: ProcessConfiguration) async throws -> (GatewaySettings, Logger, loops: Int) {
        do {
            let settings = try await configuration.gateway(
                host: self.host, port: self.port, hasEchoEndpoint: self.hasEchoEndpoint)
            return (settings, try configuration.logger(), try configuration.loops())
        } catch {
            let problems = await ProcessConfiguration(configuration.sources).problems()
            guard problems.count > 1 else { throw error }
            throw ConfigurationError(description: problems.map { "\($0.error)" }.joined(separator: "\n"))
        }
    }
}

/// Drains on the first SIGTERM or SIGINT and exits the process on the second.
struct StopSignals {
    let logger: Logger

    /// - Parameter onFirst: called before the draining starts.
    func stop(_ process: ServiceGroup, onFirst: () -> Void = {}) async {
        var isStopping = false
        for await signal in await UnixSignalsSequence(trapping: .sigterm, .sigint) {
            guard !isStopping else {
                self.logger.notice("second signal received; stopping immediately")
                exit(128 + signal.rawValue)
            }
            isStopping = true
            self.logger.notice("draining; a second signal stops immediately")
            onFirst()
            await process.triggerGracefulShutdown()
        }
    }
}

/// Raises the limit of file descriptors to the maximum: every connection needs one.
private func raiseDescriptorLimit() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}

/// Reloads the certificate files on SIGHUP. If that fails, it logs a warning and keeps the current ones. Without TLS it
/// only logs a line, so a unit file may send the signal to every gateway.
struct CertificateReload: Service, CustomStringConvertible {
    let credentials: TLSCredentials?
    let reporter: ServiceReporter
    let logger: Logger

    var description: String { "certificate reload" }

    func run() async throws {
        for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() {
            self.reporter.reloading()
            self.reload()
            self.reporter.reloaded()
        }
    }

    private func reload() {
        guard let credentials else {
            return self.logger.notice("SIGHUP ignored; TLS is off, so there are no certificates to reload")
        }
        do throws(TLSConfigurationError) {
            try credentials.reload()
            credentials.warnAboutChain(self.logger)
            self.logger.info("certificates reloaded")
        } catch {
            self.logger.warning(
                "certificate reload failed; keeping the current certificates", metadata: [LogKey.reason: "\(error)"])
        }
    }
}

extension TLSCredentials {
    /// Logs a warning if some clients reject the chain of certificates.
    fileprivate func warnAboutChain(_ logger: Logger) {
        guard let problem = self.chainProblem else { return }
        logger.warning("certificate chain incomplete", metadata: [LogKey.reason: "\(problem)"])
    }
}
