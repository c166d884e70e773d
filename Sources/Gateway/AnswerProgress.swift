// Whether a peer takes its answer, and not just a byte now and then: a connection costs a descriptor and what waits for it,
// and a peer that reads a few bytes each minute would keep both for ever.

internal import EnrouteWire

/// What a peer has taken between two looks.
struct AnswerProgress {
    /// Bytes that a peer has to take from one look to the next.
    private let leastBytes: Int
    private var written = 0
    /// Taken when it was looked last: an upper bound, as what was written is counted without TLS' own bytes.
    private var takenBefore = 0

    init(_ limits: Limits) {
        // Nothing at all is never enough.
        self.leastBytes = max(1, limits.answerBytesPerSecond * limits.stallSeconds)
    }

    mutating func wrote(_ bytes: Int) { self.written += bytes }

    /// Something begins to wait.
    ///
    /// - Parameter unsent: bytes that the peer has not taken, here and in the kernel.
    mutating func begin(unsent: Int) { self.takenBefore = self.written - unsent }

    /// Whether enough was taken since the last look, all through which something waited.
    mutating func isEnough(unsent: Int) -> Bool {
        let taken = self.written - unsent
        defer { self.takenBefore = taken }
        return taken - self.takenBefore >= self.leastBytes
    }
}
