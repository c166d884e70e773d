// How often a peer may take new keys (RFC 8446, 4.6.3). Each time costs the derivation of a key and an answer, and no peer has
// a reason to do it more than now and then: AES-GCM is good for 2^24 records under one key.

internal import NIOCore

/// Counts what a peer does with its keys; time goes in, a decision comes out.
struct KeyUpdateBudget {
    /// Within `window`.
    static let most = 32
    static let window = TimeAmount.minutes(1)

    private var begun: NIODeadline?
    private var count = 0

    /// - Parameters:
    ///   - updates: that have just come.
    ///   - now: asked only when there are any.
    /// - Returns: whether there were not too many.
    mutating func take(_ updates: Int, at now: () -> NIODeadline) -> Bool {
        guard updates > 0 else { return true }
        let now = now()
        let isOver = self.begun.map { now - $0 >= Self.window } ?? true
        if isOver { (self.begun, self.count) = (now, 0) }
        // A call into libssl reads a few KB, so the sum stays small.
        self.count += updates
        return self.count <= Self.most
    }
}
