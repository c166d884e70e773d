// Collects the errors of each of the two Redis instances. Every error is counted, and logged at a limited rate.
//
// If Redis refuses writes because it lacks memory or disk space, this counts as an outage although reads still succeed.
// The monitor detects it, and the loops report it to their clients.

package import LiveState
package import Logging
package import NIOCore
package import Redis
internal import Synchronization
internal import Telemetry
internal import TrafficControl

/// Monitors the errors of one Redis role, for all loops of a gateway. Safe to use from any thread.
package final class RedisFaultMonitor: RedisObserver {
    private struct State {
        var metrics = RedisMetrics()
        var errors = KeyedLogThrottle<RedisMetrics.Failure>(maxSubjects: RedisMetrics.Failure.allCases.count)
        var names = KeyedLogThrottle<String>(maxSubjects: RedisFaultMonitor.maxNames)
        var events = KeyedLogThrottle<String>(maxSubjects: RedisFaultMonitor.maxEvents)
        /// When Redis started to refuse writes, and when it last did.
        var refusing: (since: NIODeadline, last: NIODeadline)?
        /// The last error that explains an outage.
        var cause: (reason: String, at: NIODeadline)?
    }

    private let role: RedisMetrics.Role
    private let keyspace: Keyspace
    private let logger: Logger
    private let clock: @Sendable () -> NIODeadline
    private let state = Mutex(State())
    /// Whether `refusing` is set, readable without the lock before every plain command.
    private let isRefusing = Atomic(false)

    /// The maximum number of keys and channels with malformed data that are remembered. Further ones are counted but not
    /// logged.
    static let maxNames = 1_000
    /// The maximum number of different connection events that are remembered. Further ones are counted but not logged.
    static let maxEvents = 100
    /// How long a refused write counts as an outage if no other write succeeds or fails. A gateway writes to each instance
    /// every few seconds.
    static let refusalLifetime = TimeAmount.seconds(12)

    init(
        _ role: RedisMetrics.Role, keyspace: Keyspace, logger: Logger,
        clock: @escaping @Sendable () -> NIODeadline = { .now() }
    ) {
        (self.role, self.keyspace, self.logger, self.clock) = (role, keyspace, logger, clock)
    }

    // MARK: errors

    package func failed(_ error: RedisError) {
        let (failure, now) = (RedisMetrics.Failure(error), self.clock())
        let unlogged = self.state.withLock { state in
            state.metrics.recordFailure(failure, at: self.role)
            if error.explainsOutage { state.cause = (error.withoutArguments, now) }
            if failure.refusesWrites {
                state.refusing = (state.refusing?.since ?? now, now)
                self.isRefusing.store(true, ordering: .relaxed)
            }
            return state.errors.record(failure, now: now)
        }
        guard let unlogged else { return }
        var metadata: Logger.Metadata = [
            LogKey.role: "\(self.role.rawValue)", LogKey.kind: "\(failure.rawValue)",
            LogKey.reason: "\(error.withoutArguments)",
        ]
        if unlogged > 0 { metadata[LogKey.count] = "\(unlogged)" }
        // Temporary errors are warnings. All other errors need an operator.
        let level: Logger.Level = error.isOutage && !failure.refusesWrites ? .warning : .error
        self.logger.log(level: level, "redis command failed", metadata: metadata)
    }

    // MARK: connections

    /// A gateway has dozens of connections to each instance, and all of them end or fail together. One line per minute
    /// for each event and reason is enough.
    package func observed(_ event: RedisConnectionEvent) {
        var (metadata, now) = (event.metadata, self.clock())
        let subject = "\(event.message) \(event.address) \(metadata[LogKey.reason, default: ""])"
        let unlogged = self.state.withLock { state in
            if case .attemptFailed(let error, _) = event {
                state.metrics.recordFailure(.init(error), at: self.role)
                state.cause = (error.withoutArguments, now)
            }
            return state.events.record(subject, now: now)
        }
        guard let unlogged else { return }
        metadata[LogKey.role] = "\(self.role.rawValue)"
        if unlogged > 0 { metadata[LogKey.count] = "\(unlogged)" }
        self.logger.log(level: Self.level(of: event), event.message, metadata: metadata)
    }

    private static func level(of event: RedisConnectionEvent) -> Logger.Level {
        switch event {
        case .attemptFailed(let error, _): error.isOutage ? .warning : .error
        case .connectionEnded: .warning
        case .masterSwitched, .slotsMoved: .notice
        }
    }

    // MARK: malformed data

    package func refused(_ names: [String], by command: String) {
        let (name, now) = (names.first ?? "", self.clock())
        let kind = self.keyspace.kind(of: name)
        let unlogged = self.state.withLock { state in
            state.metrics.recordInvalidValue(kind.rawValue)
            return state.names.record(name, now: now)
        }
        guard let unlogged else { return }
        var metadata: Logger.Metadata = [
            LogKey.role: "\(self.role.rawValue)", LogKey.key: "\(names.joined(separator: " "))",
            LogKey.kind: "\(kind.rawValue)",
            LogKey.command: "\(command)",
        ]
        if unlogged > 0 { metadata[LogKey.count] = "\(unlogged)" }
        self.logger.error("ignoring unknown or malformed data in redis", metadata: metadata)
    }

    // MARK: refused writes

    package var isRefusingWrites: Bool { self.isRefusing.load(ordering: .relaxed) }

    package func wrote() { self.state.withLock { self.clearRefusal(&$0) } }

    /// When Redis started to refuse writes; `nil` while it accepts them, as far as is known.
    var refusingSince: NIODeadline? {
        guard self.isRefusingWrites else { return nil }
        let now = self.clock()
        return self.state.withLock { state in
            if let refusing = state.refusing, now - refusing.last >= Self.refusalLifetime { self.clearRefusal(&state) }
            return state.refusing?.since
        }
    }

    private func clearRefusal(_ state: inout State) {
        state.refusing = nil
        self.isRefusing.store(false, ordering: .relaxed)
    }

    var metrics: RedisMetrics { self.state.withLock { $0.metrics } }

    /// Why Redis counts as unavailable, as far as is known.
    fileprivate var outageReason: String {
        let now = self.clock()
        return self.state.withLock { state in
            guard let cause = state.cause, now - cause.at < Self.refusalLifetime else { return "no reply in time" }
            return cause.reason
        }
    }
}

/// The monitors of both roles.
package struct RedisFaultMonitors: Sendable {
    package let live: RedisFaultMonitor
    package let ledger: RedisFaultMonitor
    let outages: OutageLog

    package init(
        keyspace: Keyspace, logger: Logger, clock: @escaping @Sendable () -> NIODeadline = { .now() }
    ) {
        self.live = RedisFaultMonitor(.live, keyspace: keyspace, logger: logger, clock: clock)
        self.ledger = RedisFaultMonitor(.ledger, keyspace: keyspace, logger: logger, clock: clock)
        self.outages = OutageLog(logger: logger)
    }

    /// When one of the two roles started to refuse writes.
    var refusingSince: NIODeadline? { [self.live.refusingSince, self.ledger.refusingSince].compactMap { $0 }.min() }

    /// Why these roles count as unavailable, for the log.
    func reasons(of roles: [Dependency]) -> String {
        let reasons = roles.map { ($0 == .redisLive ? self.live : self.ledger).outageReason }
        return Set(reasons).count == 1 ? reasons[0] : reasons.joined(separator: " ")
    }

    /// The metrics of both roles in the Prometheus text format.
    package var text: String {
        var metrics = self.live.metrics
        metrics.add(self.ledger.metrics)
        return metrics.text(kinds: Keyspace.Kind.allCases.map(\.rawValue))
    }
}

extension RedisError {
    /// Whether the error of a command explains why Redis is unavailable. A missing connection is only a consequence,
    /// and other errors concern the command alone.
    fileprivate var explainsOutage: Bool {
        switch self {
        case .disconnected, .overloaded: false
        default: self.isOutage
        }
    }
}

extension RedisMetrics.Failure {
    package init(_ error: RedisError) {
        self =
            switch error {
            case .refused(let code, _): Self.codes[code] ?? .other
            case .timedOut: .timedOut
            case .disconnected, .connectionLost: .disconnected
            case .overloaded: .overloaded
            case .unreachable, .tooManyClients: .unreachable
            case .authenticationRefused, .sentinelAuthenticationRefused, .invalidTLS, .tlsFailed,
                .certificateNotYetValid, .certificateExpired, .notMaster, .databaseRefused:
                .notSignedIn
            case .protocolViolation, .unexpectedAnswer: .protocolViolation
            }
    }

    private static let codes: [String: Self] = [
        "OOM": .outOfMemory, "MISCONF": .diskRefused, "READONLY": .readOnly, "NOREPLICAS": .tooFewReplicas,
        "NOPERM": .noPermission, "NOAUTH": .notSignedIn, "WRONGPASS": .notSignedIn, "LOADING": .loading, "BUSY": .busy,
        "CLUSTERDOWN": .clusterDown, "MASTERDOWN": .clusterDown, "TRYAGAIN": .clusterDown, "MOVED": .clusterDown,
        "ASK": .clusterDown,
    ]

    /// Redis answers reads but refuses writes.
    var refusesWrites: Bool { [.outOfMemory, .diskRefused, .tooFewReplicas].contains(self) }
}
