// Whether a provider is asked at all. One that failed several times in a row is left alone for a while, then asked once, and
// left alone for longer if that fails too; one that said when it wants to be asked again is taken at its word.

/// One provider's. Times are ns of a clock that never goes back.
package struct CircuitBreaker: Hashable, Sendable {
    package struct Bounds: Hashable, Sendable {
        /// Failures in a row that are too many.
        package var failures = 3
        /// Left alone for the first at first, doubling up to the last, s.
        package var firstRest = 10.0
        package var lastRest = 600.0
        /// Left alone when the key is refused, or it asked to be without saying for how long, s.
        package var refusedRest = 300.0
        package var throttledRest = 60.0
        /// The longest that it can ask for, s.
        package var longestThrottle = 3600.0

        package init() {}
    }

    private let bounds: Bounds
    private var failuresInARow = 0
    private var rests = 0
    private var restsUntil: UInt64?
    private var isTrying = false

    package init(bounds: Bounds = Bounds()) { self.bounds = bounds }

    /// It is being left alone, or tried by somebody.
    package func isOpen(now: UInt64) -> Bool {
        guard let restsUntil = self.restsUntil else { return false }
        return now < restsUntil || self.isTrying
    }

    /// Whoever may ask says what came of it, by `succeeded` or `failed`.
    ///
    /// - Returns: whether it may be asked. After a rest, one may try.
    package mutating func mayAsk(now: UInt64) -> Bool {
        guard !self.isOpen(now: now) else { return false }
        if self.restsUntil != nil { self.isTrying = true }
        return true
    }

    /// Whoever was to ask did not: the next one may.
    package mutating func withdrawn() { self.isTrying = false }

    package mutating func succeeded() {
        (self.failuresInARow, self.rests, self.restsUntil, self.isTrying) = (0, 0, nil, false)
    }

    package mutating func failed(_ failure: ProviderFailure, now: UInt64) {
        guard failure.isFault else { return self.succeeded() }
        let wasTrying = self.isTrying
        self.isTrying = false
        switch failure {
        case .throttled(let seconds):
            let asked = seconds.map { min(self.bounds.longestThrottle, max(1, Double($0))) }
            self.rest(asked ?? self.bounds.throttledRest, now)
        case .keyRefused: self.rest(self.bounds.refusedRest, now)
        default:
            self.failuresInARow += 1
            guard wasTrying || self.failuresInARow >= self.bounds.failures else { return }
            var seconds = self.bounds.firstRest
            for _ in 0..<min(self.rests, 32) { seconds = min(self.bounds.lastRest, seconds * 2) }
            self.rests += 1
            self.rest(seconds, now)
        }
    }

    /// A later end stands: who was asked before the last failure may answer after it.
    private mutating func rest(_ seconds: Double, _ now: UInt64) {
        self.restsUntil = max(self.restsUntil ?? 0, now + UInt64(seconds * 1e9))
    }
}
