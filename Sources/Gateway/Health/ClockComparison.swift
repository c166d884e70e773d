// Detects a clock that goes wrong while the gateway runs. The gateway's clock decides which positions, tokens and
// events are too old or from the future. If it is wrong, the gateway refuses valid ones, and its errors blame phones
// and issuers.

internal import LiveState
internal import Logging
internal import Synchronization
internal import Telemetry

/// How serious the difference between two clocks is. A value.
struct ClockDifference: Hashable {
    enum Severity: Hashable, Comparable {
        case none
        /// Ages and arrival times are visibly wrong.
        case noticeable
        /// Valid positions and tokens are refused.
        case refusing
    }

    /// The smallest noticeable difference, s.
    static let noticeableSeconds = 1.0
    /// The smallest difference with which valid positions and tokens are refused, s. `enroute check` reports it as an
    /// error.
    static let refusingSeconds = Double(RedisFacts.clockErrorMilliseconds) / 1000
    /// A severity ends below this share of its limit, so that a difference close to the limit is not logged repeatedly.
    static let releaseShare = 0.8

    private(set) var severity = Severity.none

    /// - Parameter seconds: the difference; negative or positive.
    /// - Returns: the severity, if it has changed.
    mutating func observe(_ seconds: Double) -> Severity? {
        func isReached(_ limit: Double, _ severity: Severity) -> Bool {
            abs(seconds) >= (self.severity >= severity ? limit * Self.releaseShare : limit)
        }
        let severity: Severity =
            isReached(Self.refusingSeconds, .refusing)
            ? .refusing : isReached(Self.noticeableSeconds, .noticeable) ? .noticeable : .none
        guard severity != self.severity else { return nil }
        self.severity = severity
        return severity
    }
}

/// Compares this machine's clock with those of both Redis instances: a gauge, and a log line when the severity changes.
/// Thread-safe.
final class ClockComparison: Sendable {
    private struct State {
        var differences: [RedisMetrics.Role: ClockDifference] = [:]
        var seconds: [RedisMetrics.Role: Double] = [:]
    }

    private let addresses: [RedisMetrics.Role: String]
    private let logger: Logger
    private let state = Mutex(State())

    /// - Parameter addresses: of both instances, without credentials.
    init(addresses: [RedisMetrics.Role: String], logger: Logger) {
        (self.addresses, self.logger) = (addresses, logger)
    }

    /// - Parameter reading: `nil` if the instance does not answer. The gauge then has no sample.
    func observe(_ reading: ClockReading?, of role: RedisMetrics.Role) {
        let seconds = reading?.certainSeconds
        let changed = self.state.withLock { state in
            state.seconds[role] = seconds
            return seconds.flatMap { state.differences[role, default: ClockDifference()].observe($0) }
        }
        if let seconds, let changed { self.log(changed, seconds, role) }
    }

    private func log(_ severity: ClockDifference.Severity, _ seconds: Double, _ role: RedisMetrics.Role) {
        // Milliseconds are precise enough for a wrong clock.
        let distance = Double(Int64(abs(seconds) * 1000)) / 1000
        var metadata: Logger.Metadata = [
            LogKey.role: "\(role.rawValue)", LogKey.redis: "\(self.addresses[role] ?? "")",
            LogKey.seconds: "\(seconds < 0 ? -distance : distance)",
        ]
        guard severity != .none else {
            return self.logger.notice("clock matches redis again", metadata: metadata)
        }
        metadata[LogKey.reason] = """
            this machine's clock is \(distance) s \(seconds < 0 ? "behind" : "ahead of") that of Redis; from \
            \(Int(ClockDifference.refusingSeconds)) s on, valid positions and tokens are refused. Synchronize the wrong one: \
            timedatectl, chronyc tracking
            """
        self.logger.log(
            level: severity == .refusing ? .error : .warning, "clock differs from redis", metadata: metadata)
    }

    /// Seconds by which this machine's clock is ahead, for each instance that answers.
    var gauge: GaugeSamples { GaugeSamples(clockOffsets: self.state.withLock { $0.seconds }) }
}
