// The services that the routes of all event loops share, created once at the start of the gateway.

package import Access
package import Events
internal import Jobs
internal import LiveState
package import NIOCore
package import Realtime
package import TrafficControl
package import Webhooks
package import Telemetry

/// The shared services of a gateway.
package struct SharedServices: Sendable {
    package let settings: RealtimeSettings
    package let pages: Pages
    /// The origins of web pages that may use the REST interface.
    package let origins: AllowedOrigins
    /// The Amazon SNS topics whose events are accepted; `nil` for none.
    package let topics: SNSVerifier?
    package let quotas: Quotas
    package let revocations: Revocations
    package let eventCounts: SharedCounts
    package let loops: LoopMap
    package let operations: OperationsQueries
    /// `nil` if no tile provider is configured.
    package let tiles: TileProxy?
    /// Sends tests of webhooks, and decides which addresses new endpoints may have.
    package let webhookSender: WebhookSender
    /// Turns the current response of a connection into a stream to which a session writes. Must be called on the
    /// connection's event loop.
    ///
    /// - Returns: whether the stream uses chunked transfer coding.
    /// - Throws: an error if the client has closed its side already, because a session would not be notified of it.
    package let becomeStream: @Sendable (any Channel) throws -> Bool
    let deferredEvents = DeferredEventCache()
    let recordedReads = RecordedReads()
    let zoneExtents = ZoneExtents()

    package init(
        settings: RealtimeSettings, pages: Pages, origins: AllowedOrigins = .own, topics: SNSVerifier?, quotas: Quotas,
        revocations: Revocations,
        eventCounts: SharedCounts, loops: LoopMap, operations: OperationsQueries, tiles: TileProxy?,
        webhookSender: WebhookSender, becomeStream: @escaping @Sendable (any Channel) throws -> Bool
    ) {
        (self.settings, self.pages, self.origins, self.topics) = (settings, pages, origins, topics)
        (self.quotas, self.revocations, self.eventCounts) = (quotas, revocations, eventCounts)
        (self.loops, self.operations, self.tiles) = (loops, operations, tiles)
        (self.webhookSender, self.becomeStream) = (webhookSender, becomeStream)
    }
}
