// The masters behind an address, for connections to each of them. An inspection of a cluster must not depend on which
// master happens to reply.

package import NIOCore

extension RedisClient {
    /// Returns the addresses of the current masters: one, or in a cluster every node that owns slots, in the order of their
    /// names.
    ///
    /// - Throws: (in the future) `RedisError`.
    package func masters() -> EventLoopFuture<[RedisAddress]> {
        self.eventLoop.flatSubmit {
            let route = self.route.value
            return EventLoopFuture.whenAllSucceed(route.locations.map { route.locate($0) }, on: self.eventLoop)
        }.map { $0.sorted { $0.description < $1.description } }
    }
}
