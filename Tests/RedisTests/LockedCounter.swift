import NIOConcurrencyHelpers

/// Counts calls from any thread.
struct LockedCounter: Sendable {
    private let value = NIOLockedValueBox(0)

    /// Returns 1 for the first call.
    func next() -> Int {
        self.value.withLockedValue { value in
            value += 1
            return value
        }
    }

    var count: Int { self.value.withLockedValue { $0 } }
}
