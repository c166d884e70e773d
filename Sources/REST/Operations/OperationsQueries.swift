// The queries of the operations page: everything that it shows except single jobs. The routes are in
// OperationsRoutes.swift.

internal import EnrouteWire
internal import HTTPValues
internal import Jobs
package import LiveState
internal import NIOCore
package import Realtime
internal import Redis

/// Queries for zones, their jobs, riders and audit entries, and for gateways. Thread-safe.
package struct OperationsQueries: Sendable {
    let listing: ZoneJobs
    package let riders: Riders
    let streams: AuditStreams
    package let registry: GatewayRegistry
    let zoneJobs: ZoneJobsCache
    /// The health of this gateway; `nil` in tests without a gateway.
    package var healthSource: HealthSource?

    /// The source of this gateway's own health, which needs no Redis.
    package struct HealthSource: Sendable {
        package let id: String
        package let health: @Sendable () async -> GatewayHealth

        package init(id: String, health: @escaping @Sendable () async -> GatewayHealth) {
            (self.id, self.health) = (id, health)
        }
    }

    /// - Parameter services: the services of the event loop that executes the queries.
    package init(_ services: LoopServices) {
        self.listing = services.jobs.ledger.listing
        self.riders = services.jobs.riders
        (self.streams, self.registry) = (services.streams, services.registry)
        self.zoneJobs = ZoneJobsCache(services.zoneJobsReader)
    }

    struct Zone: Sendable {
        var zone: ZoneID
        var sizes: ZoneJobs.Sizes
    }

    /// Returns the zones with riders or open jobs, sorted by name; at most `ZoneJobs.maxZones` of each kind.
    func zones() async throws -> [Zone] {
        let ofJobs = try await self.listing.zones().get()
        let ofRiders = Set(try await self.riders.zones().get())
        let zones = Set(ofJobs).union(ofRiders.sorted { $0.text < $1.text }.prefix(ZoneJobs.maxZones))
        let sizes = zones.sorted { $0.text < $1.text }.map { zone in
            self.listing.sizes(of: zone).map { Zone(zone: zone, sizes: $0) }
        }
        let found = try await EventLoopFuture.whenAllSucceed(sizes, on: self.riders.eventLoop).get()
        // A zone exists as long as it has riders or open jobs.
        return found.filter { $0.sizes.jobs > 0 || ofRiders.contains($0.zone) }
    }

    /// Returns the audit entries of a zone, the newest first: changes of its riders, and accesses to its open jobs.
    ///
    /// - Parameter limit: the maximum number of entries of each kind.
    func audit(
        of zone: ZoneID, limit: Int
    ) async throws -> (changes: [AuditStreams.StoredEntry], accesses: [AuditStreams.StoredEntry]) {
        let changes = try await self.streams.newestChanges(in: zone, limit: limit).get()
        let jobs = try await self.zoneJobs.snapshot(of: zone).history
        let newest = try await self.streams.newest(.access, limit: AuditStreams.page).get()
        let ofZone = newest.lazy.filter { $0.value("job").flatMap { JobID($0) }.map(jobs.contains) ?? false }
        return (changes, Array(ofZone.prefix(limit)))
    }

    /// A gateway that has recently published its health.
    struct Gateway: Sendable {
        var id: String
        /// When it last published its health, in milliseconds since the Unix epoch.
        var at: Int64
        /// `nil` if its last report is too old.
        var health: GatewayHealth?
    }

    /// Returns all gateways. `isComplete` is `false` if Redis is unavailable; then the list contains only this gateway.
    func gateways() async -> (gateways: [Gateway], isComplete: Bool) {
        let own: Gateway? =
            if let healthSource {
                Gateway(id: healthSource.id, at: WallClock.nowMilliseconds, health: await healthSource.health())
            } else {
                nil
            }
        let reports = try? await self.registry.reports(now: WallClock.nowMilliseconds).get()
        let others = (reports ?? []).filter { $0.id != own?.id }.map { report in
            let health = report.facts.flatMap { JSONDocument.value(GatewayHealth.self, of: $0) }
            if report.facts != nil, health == nil { self.registry.rejectReport(of: report.id) }
            return Gateway(id: report.id, at: report.at, health: health)
        }
        return (((own.map { [$0] } ?? []) + others).sorted { $0.id < $1.id }, reports != nil)
    }
}
