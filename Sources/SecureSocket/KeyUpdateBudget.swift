// Limits how often a peer may renew its keys (RFC 8446, 4.6.3). Each KeyUpdate costs a key derivation and an answer, and peers
// rarely need one: AES-GCM allows 2^24 records under one key.

internal import NIOCore

/// Counts a peer's key updates. A value without a clock.
struct KeyUpdateBudget {
    /// Maximum per `window`.
    static let most = 32
    static let window = TimeAmount.minutes(1)

    private var windowStart: NIODeadline?
    private var count = 0

    /// - Parameters:
    ///   - updates: the number just received.
    ///   - now: evaluated only when there are any.
    /// - Returns: whether the number is within the limit.
    mutating func record(_ updates: Int, at now: () -> NIODeadline) -> Bool {
        guard updates > 0 else { return true }
        let now = now()
        let isOver = self.windowStart.map { now - $0 >= Self.window } ?? true
        if isOver { (self.windowStart, self.count) = (now, 0) }
        // One call into libssl reads a few KB, so the sum cannot overflow.
        self.count += updates
        return self.count <= Self.most
    }
}
