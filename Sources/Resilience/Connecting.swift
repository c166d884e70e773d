// One connection's life: try, stand, ask now and then whether the other side is there, give up, wait a random time that
// grows, try again. It knows no socket; who owns it does what it says and tells it what happened.

/// When to connect, to ask and to give up. Times are nanoseconds of a clock that never goes back.
package struct Connecting: Sendable {
    package struct Timing: Sendable {
        /// The oldest question without an answer may be this old.
        package var answer = UInt64.seconds(3)
        /// After so long without a word the other side is asked.
        package var health = UInt64.milliseconds(500)
        /// Waits are rand(0, min(longest, shortest * 2^n)): full jitter. What fell within the longest wait did not really
        /// stand, so n grows on: who accepts and hangs up at once is not asked twenty times a second.
        package var shortestBackoff = UInt64.milliseconds(50)
        package var longestBackoff = UInt64.seconds(1)

        package init() {}
    }

    private enum Phase: Hashable {
        case idle
        case trying
        case standing(since: UInt64)
        case waiting(until: UInt64)
        case stopped
    }

    package enum Event: Hashable, Sendable {
        case start
        /// Connected and signed in.
        case stood
        /// The attempt came to nothing, or the connection ended.
        case fell
        case stop
    }

    package enum Effect: Hashable, Sendable {
        case none
        case connect
        /// Close what stands or is being made.
        case close
        /// It stood and does no more.
        case lost
    }

    /// What to do about a connection that stands.
    package enum Question: Hashable, Sendable {
        case none
        case ask
        /// Nothing was answered for too long: close it.
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

    package var isStanding: Bool { if case .standing = self.phase { true } else { false } }
    /// For good: no attempt follows.
    package var isStopped: Bool { self.phase == .stopped }

    package mutating func handle(_ event: Event, now: UInt64) -> Effect {
        switch (self.phase, event) {
        case (.stopped, .stood): return .close
        case (.stopped, _): return .none
        case (.standing, .stop), (.trying, .stop):
            self.phase = .stopped
            return .close
        case (.idle, .stop), (.waiting, .stop):
            self.phase = .stopped
            return .none
        case (.idle, .start):
            self.phase = .trying
            return .connect
        case (.trying, .stood):
            self.phase = .standing(since: now)
            return .none
        case (.trying, .fell):
            self.wait(from: now)
            return .none
        case (.standing(let since), .fell):
            if now >= since + self.timing.longestBackoff { self.attempts = 0 }
            self.wait(from: now)
            return .lost
        // An attempt that was given up succeeds after all: there must not be two.
        case (.idle, .stood), (.waiting, .stood): return .close
        case (.idle, .fell), (.trying, .start), (.standing, _), (.waiting, _): return .none
        }
    }

    /// Whether it is time for the next attempt. Called every tick.
    package mutating func tick(now: UInt64) -> Effect {
        guard case .waiting(let until) = self.phase, now >= until else { return .none }
        self.phase = .trying
        return .connect
    }

    /// - Parameters:
    ///   - heard: when the other side last said anything.
    ///   - asked: since when the oldest question waits; `nil` when none does.
    package func question(heard: UInt64, asked: UInt64?, now: UInt64) -> Question {
        guard self.isStanding else { return .none }
        if let asked { return now >= asked + self.timing.answer ? .giveUp : .none }
        return now >= heard + self.timing.health ? .ask : .none
    }

    private mutating func wait(from now: UInt64) {
        let ceiling = min(self.timing.longestBackoff, self.timing.shortestBackoff << UInt64(min(self.attempts, 20)))
        self.attempts += 1
        self.phase = .waiting(until: now + self.jitter.upTo(ceiling))
    }
}
