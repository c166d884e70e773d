// How old one session gets, and within which time its client is to come back: drawn for each, so that sessions which began
// together do not end together.

/// Drawn once for each session. A value.
struct SessionAge: Hashable {
    /// When the client is told to come back, after it has signed in, ms.
    let milliseconds: Int64
    /// Within which time after that, ms.
    let retryInMilliseconds: Int64

    /// The longest time to come back in, ms; a tenth of the age where that is less.
    static let maxRetryMilliseconds: Int64 = 5_000

    /// - Parameter limit: seconds, the greatest age; 0 for none.
    /// - Returns: `nil` where there is no bound.
    init?(limit: Int, using generator: inout some RandomNumberGenerator) {
        guard limit > 0 else { return nil }
        let most = Int64(limit) * 1000
        self.milliseconds = .random(in: most / 2...most, using: &generator)
        self.retryInMilliseconds = .random(in: 0...min(Self.maxRetryMilliseconds, most / 10), using: &generator)
    }

    init?(limit: Int) {
        var generator = SystemRandomNumberGenerator()
        self.init(limit: limit, using: &generator)
    }
}
