// The life cycle of one connection: connect, check its health from time to time, give up, wait for a random and growing
// time, connect again. No I/O: the owner performs the effects and reports the events.

/// Decides when to connect, to check and to give up. Times are nanoseconds of a monotonic clock.
package struct ConnectionStateMachine: Sendable {
    package struct Timing: Sendable {
        /// Maximum age of the oldest unanswered command. Beyond it, the connection is closed.
        package var answer = UInt64.seconds(3)
        /// After this much silence the peer is checked with a PING.
        package var health = UInt64.milliseconds(500)
        /// Back-off is rand(0, min(longest, shortest * 2^n)): full jitter. A connection that ends within the longest back-off
        /// counts as failed, so n keeps growing: a peer that accepts and immediately disconnects is not retried 20 times a
        /// second.
        package var shortestBackoff = UInt64.milliseconds(50)
        package var longestBackoff = UInt64.seconds(1)

        package init() {}
    }

    private enum Phase: Hashable {
        case idle
        case trying
        case connected(since: UInt64)
        case waiting(until: UInt64)
        case stopped
    }

    package enum Event: Hashable, Sendable {
        case start
        /// Connected and authenticated.
        case didConnect
        /// The attempt failed, or the connection ended.
        case didDisconnect
        /// The owner wants no other attempt now. It may start again later.
        case abandon
        case stop
    }

    package enum Effect: Hashable, Sendable {
        case none
        case connect
        /// Close the connection, or the attempt under way.
        case close
        /// The connection was established and has ended.
        case lost
    }

    /// What to do about an established connection.
    package enum HealthCheck: Hashable, Sendable {
        case none
        case ping
        /// The oldest command got no reply in time, so close the connection.
        case giveUp
    }

    private let timing: Timing
    private var phase = Phase.idle
    private var attempts = 0
    private var jitter: SplitMix

    package init(timing: Timing = Timing(), seed: UInt64) {
        self.timing = timing
        self.jitter = SplitMix(seed: seed)
    }

    package var isConnected: Bool { if case .connected = self.phase { true } else { false } }
    /// Stopped permanently: no attempt follows.
    package var isStopped: Bool { self.phase == .stopped }
    /// No attempt is under way, and none follows until `start`.
    package var isInactive: Bool { self.phase == .idle || self.phase == .stopped }

    package mutating func handle(_ event: Event, now: UInt64) -> Effect {
        switch (self.phase, event) {
        case (.stopped, .didConnect): return .close
        case (.stopped, _): return .none
        case (.connected, .stop), (.trying, .stop):
            self.phase = .stopped
            return .close
        case (.idle, .stop), (.waiting, .stop):
            self.phase = .stopped
            return .none
        case (.waiting, .abandon):
            self.phase = .idle
            return .none
        case (.idle, .start):
            self.phase = .trying
            return .connect
        case (.trying, .didConnect):
            self.phase = .connected(since: now)
            return .none
        case (.trying, .didDisconnect):
            self.wait(from: now)
            return .none
        case (.connected(let since), .didDisconnect):
            if now >= since + self.timing.longestBackoff { self.attempts = 0 }
            self.wait(from: now)
            return .lost
        // An attempt that was given up succeeded after all. There must not be two connections.
        case (.idle, .didConnect), (.waiting, .didConnect): return .close
        case (.idle, .didDisconnect), (.idle, .abandon), (.trying, .start), (.trying, .abandon), (.connected, _),
            (.waiting, _):
            return .none
        }
    }

    /// Starts the next attempt when it is due. Call it every tick.
    package mutating func tick(now: UInt64) -> Effect {
        guard case .waiting(let until) = self.phase, now >= until else { return .none }
        self.phase = .trying
        return .connect
    }

    /// - Parameters:
    ///   - lastReceived: when anything was last received.
    ///   - oldestUnanswered: since when the oldest command has been unanswered; `nil` if none is.
    package func healthCheck(lastReceived: UInt64, oldestUnanswered: UInt64?, now: UInt64) -> HealthCheck {
        guard self.isConnected else { return .none }
        if let oldestUnanswered { return now >= oldestUnanswered + self.timing.answer ? .giveUp : .none }
        return now >= lastReceived + self.timing.health ? .ping : .none
    }

    private mutating func wait(from now: UInt64) {
        let ceiling = min(self.timing.longestBackoff, self.timing.shortestBackoff << UInt64(min(self.attempts, 20)))
        self.attempts += 1
        self.phase = .waiting(until: now + self.jitter.upTo(ceiling))
    }
}
