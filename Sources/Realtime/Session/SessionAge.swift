// The maximum age of a session, and the time within which its client reconnects. Both are random for each session, so
// that sessions that started together do not end together.

/// Chosen at random once for each session. A value.
struct SessionAge: Hashable {
    /// When the client is asked to reconnect, ms after it signed in.
    let milliseconds: Int64
    /// The time after that within which the client reconnects, ms.
    let retryInMilliseconds: Int64

    /// The maximum time within which to reconnect, ms; a tenth of the maximum age if that is less.
    static let maxRetryMilliseconds: Int64 = 5_000

    /// - Parameter limit: the maximum age in seconds; 0 for no limit.
    /// - Returns: `nil` if there is no limit.
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
