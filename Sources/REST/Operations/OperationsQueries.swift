// All that operations look at beside single jobs, in one place: what the routes of OperationsRoutes.swift ask.

internal import EnrouteWire
internal import HTTPValues
internal import Jobs
package import LiveState
internal import NIOCore
package import Realtime
internal import Redis

/// Zones, their jobs and riders, what happened in them, and gateways. May be used from any thread.
package struct OperationsQueries: Sendable {
    let listing: ZoneJobs
    package let riders: Riders
    let streams: AuditStreams
    package let registry: GatewayRegistry
    let zoneJobs: ZoneJobsCache
    /// This gateway's own word; `nil` where none speaks.
    package var healthSource: HealthSource?

    /// How this gateway is, as it says itself.
    package struct HealthSource: Sendable {
        package let id: String
        package let health: @Sendable () async -> GatewayHealth

        package init(id: String, health: @escaping @Sendable () async -> GatewayHealth) {
            (self.id, self.health) = (id, health)
        }
    }

    /// - Parameter services: of the loop that reads for it.
    package init(_ services: LoopServices) {
        self.listing = services.jobs.ledger.listing
        self.riders = services.jobs.riders
        (self.streams, self.registry) = (services.streams, services.registry)
        self.zoneJobs = ZoneJobsCache(
            jobs: services.jobs, registry: services.registry, isRevocationStateStale: services.isRevocationStateStale)
    }

    struct Zone: Sendable {
        var zone: ZoneID
        var sizes: ZoneJobs.Sizes
    }

    /// Zones with riders or jobs, by name; no more than `ZoneJobs.mostZones` of each kind.
    func zones() async throws -> [Zone] {
        let ofJobs = try await self.listing.zones().get()
        let ofRiders = Set(try await self.riders.zones().get())
        let zones = Set(ofJobs).union(ofRiders.sorted { $0.text < $1.text }.prefix(ZoneJobs.mostZones))
        let sizes = zones.sorted { $0.text < $1.text }.map { zone in
            self.listing.sizes(of: zone).map { Zone(zone: zone, sizes: $0) }
        }
        let found = try await EventLoopFuture.whenAllSucceed(sizes, on: self.riders.eventLoop).get()
        // A zone is there as long as it has riders, or as a job in it is open.
        return found.filter { $0.sizes.jobs > 0 || ofRiders.contains($0.zone) }
    }

    /// What happened in a zone: to its riders, and who followed which of its open jobs, each the newest first.
    ///
    /// - Parameter limit: of each.
    func audit(
        of zone: ZoneID, limit: Int
    ) async throws -> (changes: [AuditStreams.Kept], accesses: [AuditStreams.Kept]) {
        let changes = try await self.streams.newestChanges(in: zone, limit: limit).get()
        let jobs = try await self.zoneJobs.snapshot(of: zone).history
        let newest = try await self.streams.newest(.access, limit: AuditStreams.page).get()
        let ofZone = newest.lazy.filter { $0.value("job").flatMap { JobID($0) }.map(jobs.contains) ?? false }
        return (changes, Array(ofZone.prefix(limit)))
    }

    /// Every gateway that spoke lately.
    struct Gateway: Sendable {
        var id: String
        /// When it spoke last, ms since the epoch.
        var at: Int64
        /// `nil`: too long ago.
        var health: GatewayHealth?
    }

    /// - Returns: `isComplete`: the others could be asked for too.
    func gateways() async -> (gateways: [Gateway], isComplete: Bool) {
        let own: Gateway? =
            if let healthSource { Gateway(id: healthSource.id, at: .now, health: await healthSource.health()) } else {
                nil
            }
        let heard = try? await self.registry.heard(now: .now).get()
        let others = (heard ?? []).filter { $0.id != own?.id }.map { heard in
            let health = heard.facts.flatMap { JSONDocument.value(GatewayHealth.self, of: $0) }
            if heard.facts != nil, health == nil { self.registry.refuseFacts(of: heard.id) }
            return Gateway(id: heard.id, at: heard.at, health: health)
        }
        return (((own.map { [$0] } ?? []) + others).sorted { $0.id < $1.id }, heard != nil)
    }
}
