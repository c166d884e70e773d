// What REST uses of the event loop that a request arrived on: the same rules and the same connections to Redis as the sessions
// of that loop. The parts may be used from any thread.

internal import Access
package import Jobs
package import LiveState
internal import NIOCore

/// The services of one event loop.
package struct LoopServices: Sendable {
    package let jobs: JobService
    package let publisher: LocationPublisher
    package let notes: ValidationSummaryStore
    package let tickets: Tickets
    package let signInCodes: SignInCodes
    package let links: TrackingLinks
    /// What was asked for under an Idempotency-Key.
    package let requests: IdempotencyRecords
    package let riders: RiderService
    package let pool: ZonePool
    package let revocationLog: RevocationLog
    /// `nil` where none is configured.
    package let geocoder: Geocoder?
    package let streams: AuditStreams
    package let registry: GatewayRegistry
    /// It may be unknown who may see what: no position is shown.
    package let isRevocationStateStale: @Sendable () async throws -> Bool
}

extension LoopState {
    /// Made once, when the gateway is put together.
    package var services: LoopServices {
        let (eventLoop, bound) = (self.eventLoop, NIOLoopBound(self, eventLoop: self.eventLoop))
        return LoopServices(
            jobs: self.jobs, publisher: self.publisher, notes: self.notes, tickets: self.tickets,
            signInCodes: self.signInCodes, links: self.links, requests: self.requests, riders: self.riders,
            pool: self.pool, revocationLog: self.revocationLog, geocoder: self.geocoder, streams: self.streams,
            registry: self.registry,
            isRevocationStateStale: { try await eventLoop.submit { bound.value.isRevocationStateStale }.get() })
    }
}
