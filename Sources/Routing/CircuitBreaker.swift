// A circuit breaker for one provider. After several failures in a row, it opens for a while. Then it lets one request
// through, and opens for longer if that fails too. It respects `Retry-After`.

/// The circuit breaker of one provider. Times are ns of a monotonic clock.
package struct CircuitBreaker: Hashable, Sendable {
    package struct Bounds: Hashable, Sendable {
        /// The number of failures in a row that opens it.
        package var failures = 3
        /// How long it stays open, in seconds: the first time, and at most. The time doubles with each failed trial.
        package var firstRest = 10.0
        package var lastRest = 600.0
        /// How long it stays open, in seconds, after the key was rejected, and after a 429 without `Retry-After`.
        package var refusedRest = 300.0
        package var throttledRest = 60.0
        /// The longest accepted `Retry-After` in seconds.
        package var longestThrottle = 3600.0

        package init() {}
    }

    private let bounds: Bounds
    private var failuresInARow = 0
    private var rests = 0
    private var restsUntil: UInt64?
    private var isTrying = false

    package init(bounds: Bounds = Bounds()) { self.bounds = bounds }

    /// Whether it is open, or a trial request is running.
    package func isOpen(now: UInt64) -> Bool {
        guard let restsUntil = self.restsUntil else { return false }
        return now < restsUntil || self.isTrying
    }

    /// Returns whether a request may be sent. After the open time, this is one trial request. The caller reports the
    /// outcome with `succeeded` or `failed`.
    package mutating func mayAsk(now: UInt64) -> Bool {
        guard !self.isOpen(now: now) else { return false }
        if self.restsUntil != nil { self.isTrying = true }
        return true
    }

    /// Reports that the permitted request was not sent, so another one may be.
    package mutating func requestNotSent() { self.isTrying = false }

    /// Reports a success. Only a success of the trial request closes an open circuit breaker: a request that was sent
    /// before it opened may succeed after the provider demanded a pause.
    package mutating func succeeded() {
        guard self.restsUntil == nil || self.isTrying else { return }
        (self.failuresInARow, self.rests, self.restsUntil, self.isTrying) = (0, 0, nil, false)
    }

    /// Reports a failure. Once it is open, only the failure of a trial request counts. A request that was sent before may
    /// fail too: then it stays open for longer only if the provider refuses the key or demands a pause.
    ///
    /// - Returns: whether this failure opened it, for the first time or again.
    @discardableResult
    package mutating func failed(_ failure: ProviderFailure, now: UInt64) -> Bool {
        guard failure.isFault else {
            self.succeeded()
            return false
        }
        let wasTrying = self.isTrying
        let isLate = self.restsUntil != nil && !wasTrying
        self.isTrying = false
        switch failure {
        case .throttled(let seconds):
            let asked = seconds.map { min(self.bounds.longestThrottle, max(1, Double($0))) }
            self.rest(asked ?? self.bounds.throttledRest, now)
        case .keyRefused: self.rest(self.bounds.refusedRest, now)
        default:
            guard !isLate else { return false }
            self.failuresInARow += 1
            guard wasTrying || self.failuresInARow >= self.bounds.failures else { return false }
            var seconds = self.bounds.firstRest
            for _ in 0..<min(self.rests, 32) { seconds = min(self.bounds.lastRest, seconds * 2) }
            self.rests += 1
            self.rest(seconds, now)
        }
        return !isLate
    }

    /// Of two end times the later one applies, because a request from before the last failure may fail after it.
    private mutating func rest(_ seconds: Double, _ now: UInt64) {
        self.restsUntil = max(self.restsUntil ?? 0, now + UInt64(seconds * 1e9))
    }
}
