// The services that REST handlers use on the event loop where a request arrived. They share the rules and the Redis
// connections of that loop's sessions, and can be used from any thread.

package import Access
package import ETA
package import EnrouteWire
internal import HTTPValues
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
    package let push: PushSubscriptions
    package let precedingStops: PrecedingStops
    /// Responses stored under an Idempotency-Key.
    package let requests: IdempotencyRecords
    package let riders: RiderService
    package let pool: ZonePool
    package let revocationLog: RevocationLog
    /// `nil` if no geocoding provider is configured.
    package let geocoder: Geocoder?
    package let streams: AuditStreams
    package let registry: GatewayRegistry
    package let webhooks: WebhookStore
    /// Reads the facts for explanations.
    package let facts: FactsCollector
    /// Records an entry in the audit trail. Never waits and never fails.
    package let audit: @Sendable (AuditEntry) -> Void
    /// Whether the loop's revocation state is stale. If so, no position may be shown.
    package let isRevocationStateStale: @Sendable () async throws -> Bool

    /// The customer of an open job with this rider; `nil` if it has ended or has another rider, or while revocations
    /// may be missing.
    package func customer(of job: JobID, with rider: PersonID) async throws -> PersonID? {
        guard try await !self.isRevocationStateStale(),
            let record = try await self.jobs.ledger.recover(job).get()?.record,
            record.rider == rider, record.status.end == nil
        else { return nil }
        return record.customer
    }

    /// Whether a customer's stored grant still gives access to a job of this customer, as far as the gateway knows of
    /// revocations. The grant was valid when it was stored; since then, its token or link may have expired.
    package func mayFollow(
        _ grant: Grant, _ job: JobID, of customer: PersonID, _ revocations: Revocations
    ) async throws -> Bool {
        guard grant.person == customer, !revocations.isRevoked(grant), !revocations.hides(job, from: grant.role) else {
            return false
        }
        guard let link = grant.link, !Self.hasExpired(grant) else { return true }
        // The link may have been deleted before it expired.
        return try await self.links.read(link).get()?.job == job
    }

    /// Whether the grant may have expired by the clock of Redis.
    private static func hasExpired(_ grant: Grant) -> Bool {
        grant.expiresAt.map { WallClock.nowMilliseconds / 1000 >= $0 - TokenVerifier.skew } ?? false
    }

    package var zoneJobsReader: ZoneJobsReader {
        ZoneJobsReader(
            jobs: self.jobs, registry: self.registry, places: self.riders.places,
            isRevocationStateStale: self.isRevocationStateStale)
    }
}

extension LoopState {
    /// Created once, when the gateway is assembled.
    package var services: LoopServices {
        let (eventLoop, bound) = (self.eventLoop, NIOLoopBound(self, eventLoop: self.eventLoop))
        return LoopServices(
            jobs: self.jobs, publisher: self.publisher, notes: self.notes, tickets: self.tickets,
            signInCodes: self.signInCodes, links: self.links, push: self.push,
            precedingStops: self.precedingStops, requests: self.requests, riders: self.riders,
            pool: self.pool, revocationLog: self.revocationLog, geocoder: self.geocoder, streams: self.streams,
            registry: self.registry, webhooks: self.webhooks, facts: self.facts,
            audit: { entry in eventLoop.execute { bound.value.trail.record(entry) } },
            isRevocationStateStale: { try await eventLoop.submit { bound.value.isRevocationStateStale }.get() })
    }
}
