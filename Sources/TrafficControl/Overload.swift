// When a gateway takes nobody new, and whom it lets go, so that those it has are served.
//
// Four things can run out: time on the loops, descriptors, memory, and the CPU that handshakes need. The judge is a value
// that is told what is and says what to do; `AcceptGate` performs it at the listener. While accepting is paused,
// newcomers wait in the kernel's queue, and `/readyz` tells the balancer to send them elsewhere.

internal import Synchronization

/// Bounds of a gateway as a whole.
package struct OverloadBounds: Hashable, Sendable {
    /// Accepting pauses while a loop is this late, and goes on at half of it.
    package var loopLagMilliseconds = 50
    /// Accepting pauses while more than this share of the descriptors is in use, in percent.
    package var descriptorPercent = 90
    /// Descriptors never given to a connection: Redis, files and logs need some.
    package var descriptorsKeptBack = 64
    /// Resident memory above which idle sessions are let go, newest first; 0 for no bound.
    package var memoryBytes = 0
    /// A session in which nothing came or went for so long is idle.
    package var idleSeconds = 10

    package init() {}

    /// Descriptors that may be open before accepting pauses, of a process that may have `most`.
    package func descriptors(of most: Int) -> Int {
        max(1, min(most * self.descriptorPercent / 100, most - self.descriptorsKeptBack))
    }
}

/// Decides from what is measured. A value: it knows no clock and reads nothing.
package struct OverloadJudge {
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
    let mostDescriptors: Int
    private var lag = LagHistory()
    /// Why nobody is taken at the moment; empty when all is well.
    package private(set) var reasons: Set<Reason> = []

    package init(bounds: OverloadBounds, descriptorLimit: Int) {
        self.bounds = bounds
        self.mostDescriptors = bounds.descriptors(of: descriptorLimit)
    }

    /// Sessions let go in one second, in parts of a hundred of those that are open: a bound passed by a little must not
    /// cost everybody.
    static let shedPercent = 5

    /// - Returns: how many percent of the sessions to let go now.
    package mutating func hear(_ load: Load) -> Int {
        switch self.lag.hear(load.loopLagMilliseconds, bound: self.bounds.loopLagMilliseconds) {
        case .lasting: self.reasons.insert(.loopLag)
        case .over: self.reasons.remove(.loopLag)
        case .undecided: break
        }
        self.judge(.descriptors, load.descriptors, self.mostDescriptors, relief: 98)
        guard self.bounds.memoryBytes > 0 else { return 0 }
        self.judge(.memory, load.memoryBytes, self.bounds.memoryBytes, relief: 95)
        return load.memoryBytes > self.bounds.memoryBytes ? Self.shedPercent : 0
    }

    /// - Parameter relief: percent of the bound below which it is over, so that it does not flicker.
    private mutating func judge(_ reason: Reason, _ value: Int, _ bound: Int, relief: Int) {
        if value >= bound {
            self.reasons.insert(reason)
        } else if value * 100 < bound * relief {
            self.reasons.remove(reason)
        }
    }
}

/// Whether the loops are late for good or have stumbled once: what was seen in the last `ticks` ticks. A value.
struct LagHistory {
    enum Verdict: Hashable {
        /// Late too often.
        case lasting
        /// Not even half as late as allowed, in any of these ticks.
        case over
        case undecided
    }

    /// Ticks that are looked at together: a second's.
    static let ticks = 10
    /// Of them so many must be late; fewer are a busy moment that passes.
    static let lateTicks = 5

    /// The newest tick is the lowest bit.
    private var late: UInt16 = 0
    private var uneasy: UInt16 = 0
    private static let mask: UInt16 = (1 << ticks) - 1

    /// - Parameters:
    ///   - lag: how late the latest loop is, ms.
    ///   - bound: how late is late, ms.
    mutating func hear(_ lag: Int, bound: Int) -> Verdict {
        self.late = (self.late << 1 | (lag >= bound ? 1 : 0)) & Self.mask
        self.uneasy = (self.uneasy << 1 | (lag * 2 >= bound ? 1 : 0)) & Self.mask
        if self.late.nonzeroBitCount >= Self.lateTicks { return .lasting }
        return self.uneasy == 0 ? .over : .undecided
    }
}

/// When overload is worth a line in the log: once it lasts, and once it has been over for a while. What flickers is only
/// counted. A value; times are ns of a clock that never goes back.
package struct OverloadEpisode {

    package init() {}
    package enum Line: Hashable {
        case began
        /// - Parameter seconds: from its beginning to the end of its last pause.
        case ended(seconds: Int)
    }

    /// How long accepting must pause before that is said, and how long it must go on before its end is.
    static let sayAfter: UInt64 = 2_000_000_000
    static let calmAfter: UInt64 = 10_000_000_000
    /// An interruption of a pause that is shorter does not begin it anew.
    static let interruption: UInt64 = 1_000_000_000

    private var began: UInt64?
    private var calmSince: UInt64?
    private var isSaid = false

    package mutating func hear(isPaused: Bool, now: UInt64) -> Line? {
        guard let began = self.began else {
            if isPaused { self.began = now }
            return nil
        }
        if isPaused {
            self.calmSince = nil
            guard !self.isSaid, now >= began + Self.sayAfter else { return nil }
            self.isSaid = true
            return .began
        }
        let calmSince = self.calmSince ?? now
        self.calmSince = calmSince
        guard now >= calmSince + (self.isSaid ? Self.calmAfter : Self.interruption) else { return nil }
        defer { self = OverloadEpisode() }
        return self.isSaid ? .ended(seconds: Int((calmSince - began) / 1_000_000_000)) : nil
    }
}

/// What the loops tell each other of their load. Safe from any thread.
package final class SharedLoad: Sendable {
    private let sockets = Atomic(0)
    private let isDrainingFlag = Atomic(false)
    private let isSheddingFlag = Atomic(false)
    private let hasReachedRedisFlag = Atomic(false)
    package let pulses: [Pulse]

    package init(loops: Int) { self.pulses = (0..<loops).map { _ in Pulse() } }

    package var openSockets: Int { self.sockets.load(ordering: .relaxed) }
    package func socketOpened() { self.sockets.add(1, ordering: .relaxed) }
    package func socketClosed() { self.sockets.subtract(1, ordering: .relaxed) }

    /// Told to stop.
    package var isDraining: Bool { self.isDrainingFlag.load(ordering: .acquiring) }
    package func drain() { self.isDrainingFlag.store(true, ordering: .releasing) }

    /// Every loop has reached Redis, once.
    package var hasReachedRedis: Bool { self.hasReachedRedisFlag.load(ordering: .acquiring) }
    package func reachedRedis() { self.hasReachedRedisFlag.store(true, ordering: .releasing) }

    /// Takes nobody because of overload.
    package var isShedding: Bool { self.isSheddingFlag.load(ordering: .acquiring) }
    package func shed(_ isShedding: Bool) { self.isSheddingFlag.store(isShedding, ordering: .releasing) }

    /// How late the latest loop is, in ms: what it said at its last tick, or how long it has been silent.
    package func loopLag(now: UInt64, tick: UInt64) -> Int {
        self.pulses.map { $0.lag(now: now, tick: tick) }.max() ?? 0
    }

    /// How long the most silent loop has been silent beyond its tick, ms.
    package func silence(now: UInt64, tick: UInt64) -> Int {
        self.pulses.map { $0.silence(now: now, tick: tick) }.max() ?? 0
    }

    /// One loop's sign of life.
    package final class Pulse: Sendable {
        private let at = Atomic<UInt64>(0)
        private let lateMilliseconds = Atomic(0)

        /// - Parameters:
        ///   - now: ns of a clock that does not go back.
        ///   - tick: ns between two beats.
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
