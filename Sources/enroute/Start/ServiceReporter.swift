// Reports the gateway's state to systemd. Without systemd it does nothing.

import Gateway
import Glibc
import Logging
import NIOCore
import Synchronization
import Telemetry

/// Sends the notifications that `ServiceReport` decides on. Thread-safe: the lock is held while a message is sent, so messages
/// arrive in the order of the decisions.
final class ServiceReporter: Sendable {
    private struct State {
        var report: ServiceReport
        var port: Int?
        var hasLoggedFailure = false
    }

    private let socket: ServiceManagerSocket?
    private let state: Mutex<State>
    private let gateway: GatewayStatus
    private let logger: Logger
    private let tickInterval: Duration

    init(_ environment: ServiceManagerEnvironment, gateway: GatewayStatus, logger: Logger) {
        let report = ServiceReport(watchdog: environment.watchdog)
        self.tickInterval = .nanoseconds(Int64(report.tickInterval))
        self.state = Mutex(State(report: report))
        (self.gateway, self.logger) = (gateway, logger)
        var socket: ServiceManagerSocket?
        if let name = environment.socket {
            do throws(ServiceManagerSocket.Failure) {
                socket = try ServiceManagerSocket(name)
            } catch {
                logger.warning("systemd cannot be notified", metadata: [LogKey.reason: "\(error)"])
            }
        }
        self.socket = socket
    }

    // MARK: events

    /// Whether systemd started this process and wants notifications.
    var isActive: Bool { self.socket != nil }

    /// Follows the readiness and feeds the watchdog until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            self.tick()
            try? await Task.sleep(for: self.tickInterval)
        }
    }

    func tick() { self.send { $0.tick($1, now: $2) } }

    /// - Parameter port: where the gateway accepts clients.
    func started(port: Int) {
        self.state.withLock { $0.port = port }
        self.send { $0.started($1, now: $2) }
    }

    func reloading() { self.send { report, _, now in report.reloading(now: now) } }

    func reloaded() { self.send { report, health, _ in report.reloaded(health) } }

    /// - Parameter limit: the longest time that the stop takes.
    func stopping(limit: Duration) {
        let nanoseconds = TimeAmount(limit).nanoseconds
        self.send { report, _, _ in report.stopping(limit: UInt64(max(0, nanoseconds))) }
    }

    // MARK: sending

    private func send(
        _ decide: (inout ServiceReport, ServiceReport.Health, _ now: UInt64) -> [ServiceMessage]
    ) {
        guard let socket = self.socket else { return }
        self.state.withLock { state in
            let messages = decide(&state.report, self.health(port: state.port), NIODeadline.now().uptimeNanoseconds)
            guard !messages.isEmpty else { return }
            do throws(ServiceManagerSocket.Failure) {
                try socket.send(ServiceMessage.datagram(messages))
                state.hasLoggedFailure = false
            } catch {
                guard !state.hasLoggedFailure else { return }
                state.hasLoggedFailure = true
                self.logger.warning("systemd cannot be notified", metadata: [LogKey.reason: "\(error)"])
            }
        }
    }

    private func health(port: Int?) -> ServiceReport.Health {
        // Redis responded shortly before the gateway started to listen.
        let text = self.gateway.isReady ? port.map { "ready: listening on port \($0)" } ?? "starting" : nil
        return .init(
            readiness: text ?? self.gateway.readiness, silentMilliseconds: self.gateway.silentMilliseconds)
    }
}
