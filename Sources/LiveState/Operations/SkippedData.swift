// Lists and periodic work read many keys. A key with malformed data must not hide or stop the others.

package import NIOCore
internal import Redis

extension EventLoopFuture where Value: Sendable {
    /// Replaces malformed data, which has been reported, with this value.
    package func skippingMalformedData(as value: Value) -> EventLoopFuture<Value> {
        self.flatMapErrorThrowing { error in
            guard let refused = error as? RedisError, refused.isMalformedData || refused.isUnexpectedAnswer else {
                throw error
            }
            return value
        }
    }
}

/// Processes one of several keys. Skips a key with malformed data, which has been reported.
func skippingMalformedData(_ body: () async throws -> Void) async throws {
    do {
        try await body()
    } catch let error as RedisError where error.isMalformedData || error.isUnexpectedAnswer {
        // Continue with the other keys.
    }
}
