// Lists read many keys. One of them that holds malformed data must not hide the others.

internal import NIOCore
internal import Redis

extension EventLoopFuture where Value: Sendable {
    /// Replaces malformed data, which has been reported, by what the list gets instead.
    func skippingMalformedData(as value: Value) -> EventLoopFuture<Value> {
        self.flatMapErrorThrowing { error in
            guard let refused = error as? RedisError, refused.isMalformedData || refused.isUnexpectedAnswer else {
                throw error
            }
            return value
        }
    }
}
