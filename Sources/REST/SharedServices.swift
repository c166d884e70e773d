// What the routes of all event loops share: built once, when the gateway is put together.

package import Access
package import Events
internal import Jobs
internal import LiveState
package import NIOCore
package import Realtime
package import TrafficControl

/// One of each for a gateway.
package struct SharedServices: Sendable {
    package let settings: RealtimeSettings
    package let pages: Pages
    /// Topics of SNS whose events are taken; `nil` for none.
    package let topics: SNSVerifier?
    package let quotas: Quotas
    package let revocations: Revocations
    package let eventCounts: EventCounts
    package let loops: LoopMap
    package let operations: OperationsQueries
    /// `nil` where none are configured.
    package let tiles: TileProxy?
    /// Makes the answer under way on a connection a stream, which a session writes. Called on the connection's loop.
    ///
    /// - Returns: whether it is written in chunks.
    /// - Throws: when the end of the client's side was seen already: no session would hear of it.
    package let becomeStream: @Sendable (any Channel) throws -> Bool
    let earlyEvents = DeferredEventCache()

    package init(
        settings: RealtimeSettings, pages: Pages, topics: SNSVerifier?, quotas: Quotas, revocations: Revocations,
        eventCounts: EventCounts, loops: LoopMap, operations: OperationsQueries, tiles: TileProxy?,
        becomeStream: @escaping @Sendable (any Channel) throws -> Bool
    ) {
        (self.settings, self.pages, self.topics) = (settings, pages, topics)
        (self.quotas, self.revocations, self.eventCounts) = (quotas, revocations, eventCounts)
        (self.loops, self.operations, self.tiles) = (loops, operations, tiles)
        self.becomeStream = becomeStream
    }
}
