// Overload protection: when a gateway stops accepting connections, and which sessions it closes, to keep serving the others.
//
// Four resources can run out: time on the event loops, file descriptors, memory, and the CPU time of TLS handshakes. The
// types here are values that decide from measurements; `AcceptGate` acts on them at the listener. While accepting is paused,
// new connections wait in the kernel's accept queue, and `/readyz` makes the load balancer use other gateways.

internal import Synchronization

/// The limits of a whole gateway.
package struct OverloadBounds: Hashable, Sendable {
    /// Accepting pauses while an event loop lags this much, and resumes at half of it.
    package var loopLagMilliseconds = 50
    /// Accepting pauses while more than this percentage of the file descriptors is in use.
    package var descriptorPercent = 90
    /// File descriptors reserved for Redis connections, files and logs.
    package var reservedDescriptors = 64
    /// The resident memory above which idle sessions are closed, newest first; 0 for no limit.
    package var memoryBytes = 0
    /// A session without messages in either direction for this long is idle.
    package var idleSeconds = 10

    package init() {}

    /// Returns the number of open descriptors at which accepting pauses.
    ///
    /// - Parameter most: the descriptor limit of the process.
    package func descriptors(of most: Int) -> Int {
        max(1, min(most * self.descriptorPercent / 100, most - self.reservedDescriptors))
    }
}

/// Decides from measurements whether the gateway is overloaded. A value without a clock.
package struct OverloadDetector {
    package struct Load: Hashable {
        var loopLagMilliseconds = 0
        var descriptors = 0
        var memoryBytes = 0

        package init(loopLagMilliseconds: Int = 0, descriptors: Int = 0, memoryBytes: Int = 0) {
            self.loopLagMilliseconds = loopLagMilliseconds
            self.descriptors = descriptors
            self.memoryBytes = memoryBytes
        }
    }

    package enum Reason: String, Hashable, CaseIterable {
        case loopLag = "loop_lag"
        case descriptors, memory
    }

    package let bounds: OverloadBounds
    let maxDescriptors: Int
    private var lag = LagHistory()
    /// The reasons why accepting is paused; empty if the gateway is not overloaded.
    package private(set) var reasons: Set<Reason> = []

    package init(bounds: OverloadBounds, descriptorLimit: Int) {
        self.bounds = bounds
        self.maxDescriptors = bounds.descriptors(of: descriptorLimit)
    }

    /// The percentage of open sessions to close in one second. It is small, so that slightly too much memory in use does not
    /// disconnect everyone.
    static let shedPercent = 5

    /// Updates the reasons with a new measurement.
    ///
    /// - Returns: the percentage of sessions to close now.
    package mutating func update(_ load: Load) -> Int {
        switch self.lag.update(load.loopLagMilliseconds, bound: self.bounds.loopLagMilliseconds) {
        case .lasting: self.reasons.insert(.loopLag)
        case .over: self.reasons.remove(.loopLag)
        case .undecided: break
        }
        self.check(.descriptors, load.descriptors, self.maxDescriptors, relief: 98)
        guard self.bounds.memoryBytes > 0 else { return 0 }
        self.check(.memory, load.memoryBytes, self.bounds.memoryBytes, relief: 95)
        return load.memoryBytes > self.bounds.memoryBytes ? Self.shedPercent : 0
    }

    /// - Parameter relief: the percentage of the bound below which the overload is over. It is less than 100, so that
    ///   the state does not flicker around the bound.
    private mutating func check(_ reason: Reason, _ value: Int, _ bound: Int, relief: Int) {
        if value >= bound {
            self.reasons.insert(reason)
        } else if value * 100 < bound * relief {
            self.reasons.remove(reason)
        }
    }
}

/// Distinguishes lasting event-loop lag from a single slow tick, by the history of the last `ticks` ticks. A value.
struct LagHistory {
    enum Verdict: Hashable {
        /// The lag exceeded the bound in at least `lateTicks` ticks.
        case lasting
        /// The lag stayed below half of the bound in all ticks.
        case over
        case undecided
    }

    /// The length of the history: one second.
    static let ticks = 10
    /// The number of late ticks that count as lasting lag. Fewer are a short peak.
    static let lateTicks = 5

    /// One bit for each tick; the newest is the least significant.
    private var late: UInt16 = 0
    private var halfLate: UInt16 = 0
    private static let mask: UInt16 = (1 << ticks) - 1

    /// - Parameters:
    ///   - lag: the lag of the slowest event loop, in milliseconds.
    ///   - bound: the lag at which a tick counts as late, in milliseconds.
    mutating func update(_ lag: Int, bound: Int) -> Verdict {
        self.late = (self.late << 1 | (lag >= bound ? 1 : 0)) & Self.mask
        self.halfLate = (self.halfLate << 1 | (lag * 2 >= bound ? 1 : 0)) & Self.mask
        if self.late.nonzeroBitCount >= Self.lateTicks { return .lasting }
        return self.halfLate == 0 ? .over : .undecided
    }
}

/// Decides when an overload is logged: once after it has lasted a while, and once after it has been over for a while. Short
/// overloads are only counted. A value; times are nanoseconds of a monotonic clock.
package struct OverloadEpisode {
    package enum Line: Hashable {
        case started
        /// - Parameter seconds: the time from the start of the first pause to the end of the last.
        case ended(seconds: Int)
    }

    /// How long a pause must last before its start is logged.
    static let logAfter: UInt64 = 2_000_000_000
    /// How long accepting must work again before the end of the overload is logged.
    static let calmPeriod: UInt64 = 10_000_000_000
    /// If accepting resumes for a shorter time than this, the pause counts as uninterrupted.
    static let maxInterruption: UInt64 = 1_000_000_000

    private var startedAt: UInt64?
    private var calmSince: UInt64?
    private var isLogged = false

    package init() {}

    package mutating func update(isPaused: Bool, now: UInt64) -> Line? {
        guard let startedAt = self.startedAt else {
            if isPaused { self.startedAt = now }
            return nil
        }
        if isPaused {
            self.calmSince = nil
            guard !self.isLogged, now >= startedAt + Self.logAfter else { return nil }
            self.isLogged = true
            return .started
        }
        let calmSince = self.calmSince ?? now
        self.calmSince = calmSince
        guard now >= calmSince + (self.isLogged ? Self.calmPeriod : Self.maxInterruption) else { return nil }
        defer { self = OverloadEpisode() }
        return self.isLogged ? .ended(seconds: Int((calmSince - startedAt) / 1_000_000_000)) : nil
    }
}

/// The load that all event loops share with each other. Thread-safe.
package final class SharedLoad: Sendable {
    private let sockets = Atomic(0)
    private let isDrainingFlag = Atomic(false)
    private let isOverloadedFlag = Atomic(false)
    private let hasReachedRedisFlag = Atomic(false)
    package let pulses: [Pulse]
    /// The jobs that any event loop follows.
    package let followedJobs = FollowedJobs()

    package init(loops: Int) { self.pulses = (0..<loops).map { _ in Pulse() } }

    package var openSockets: Int { self.sockets.load(ordering: .relaxed) }
    package func socketOpened() { self.sockets.add(1, ordering: .relaxed) }
    package func socketClosed() { self.sockets.subtract(1, ordering: .relaxed) }

    /// Whether the gateway is shutting down.
    package var isDraining: Bool { self.isDrainingFlag.load(ordering: .acquiring) }
    package func drain() { self.isDrainingFlag.store(true, ordering: .releasing) }

    /// Whether every event loop has connected to Redis at least once.
    package var hasReachedRedis: Bool { self.hasReachedRedisFlag.load(ordering: .acquiring) }
    package func reachedRedis() { self.hasReachedRedisFlag.store(true, ordering: .releasing) }

    /// Whether accepting is paused because of overload.
    package var isOverloaded: Bool { self.isOverloadedFlag.load(ordering: .acquiring) }
    package func setOverloaded(_ isOverloaded: Bool) { self.isOverloadedFlag.store(isOverloaded, ordering: .releasing) }

    /// Returns the lag of the slowest event loop in ms: the lag at its last tick, or the time for which its next tick
    /// is overdue.
    package func loopLag(now: UInt64, tick: UInt64) -> Int {
        self.pulses.map { $0.lag(now: now, tick: tick) }.max() ?? 0
    }

    /// Returns how long the slowest event loop is overdue for its next tick, in milliseconds.
    package func silence(now: UInt64, tick: UInt64) -> Int {
        self.pulses.map { $0.silence(now: now, tick: tick) }.max() ?? 0
    }

    /// The heartbeat of one event loop.
    package final class Pulse: Sendable {
        private let at = Atomic<UInt64>(0)
        private let lateMilliseconds = Atomic(0)

        /// - Parameters:
        ///   - now: nanoseconds of a monotonic clock.
        ///   - tick: nanoseconds between two beats.
        package func beat(now: UInt64, tick: UInt64) {
            let last = self.at.exchange(now, ordering: .relaxed)
            let late = last == 0 ? 0 : now - min(now, last + tick)
            self.lateMilliseconds.store(Int(late / 1_000_000), ordering: .relaxed)
        }

        fileprivate func lag(now: UInt64, tick: UInt64) -> Int {
            max(self.lateMilliseconds.load(ordering: .relaxed), self.silence(now: now, tick: tick))
        }

        fileprivate func silence(now: UInt64, tick: UInt64) -> Int {
            let last = self.at.load(ordering: .relaxed)
            return last == 0 ? 0 : Int((now - min(now, last + tick)) / 1_000_000)
        }
    }
}
