// The routes of the operations page: zones, the open jobs and riders of a zone, validation verdicts, audit entries, and the
// health of all gateways. They are for the roles `ops` and `service`, and contain no positions. A client that shows the jobs of
// a zone requests all of them once, and then the changes since its version.

internal import Access
internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import Jobs
internal import LiveState
internal import NIOCore

extension Routes {
    func addOperations(to api: RouterGroup<GatewayRequestContext>) {
        api.get("zones", use: self.readZones)
        api.get("zones/{zone}/jobs", use: self.readZoneJobs)
        api.get("zones/{zone}/riders", use: self.readZoneRiders)
        api.get("zones/{zone}/verdicts", use: self.readZoneVerdicts)
        api.get("zones/{zone}/audit", use: self.readZoneAudit)
        api.get("gateways", use: self.readGateways)
    }

    /// The allowed values of `limit` for jobs.
    static let jobLimits = 1...ZoneJobs.maxListedJobs
    /// The allowed values of `limit` for audit entries, and the default.
    static let auditEntryLimits = 1...1_000
    static let defaultAuditEntries = 100
    /// The maximum number of jobs listed with their refused fixes.
    static let maxRefusedJobs = 50

    private struct ZonesDocument: Encodable {
        struct Zone: Encodable {
            var zone: String
            var jobs: Int
            /// The number of riders available for tasks, and of all riders online.
            var available: Int
            var online: Int
        }
        var zones: [Zone]
    }

    @Sendable private func readZones(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        _ = try self.grant(request, context, .lookAtZones)
        let zones = try await self.query { try await self.operations.zones() }
        return try Self.json(
            ZonesDocument(
                zones: zones.map {
                    .init(
                        zone: $0.zone.text, jobs: $0.sizes.jobs, available: $0.sizes.available,
                        online: $0.sizes.online)
                }))
    }

    /// Checks access and returns the zone in the path.
    private func zone(_ request: Request, _ context: GatewayRequestContext) throws -> ZoneID {
        _ = try self.grant(request, context, .lookAtZones)
        return try Self.identifier(context.parameters.require("zone"), "zone")
    }

    private func query<Value: Sendable>(_ question: () async throws -> Value) async throws -> Value {
        do { return try await question() } catch { throw Problem(Refused(error)) }
    }

    static func number(_ request: Request, _ name: Substring, _ range: ClosedRange<Int>, else usual: Int) throws
        -> Int
    {
        guard let number = request.uri.queryParameters[name].map({ Int($0) }) ?? usual, range.contains(number) else {
            throw Self.badRequest("\(name) must be \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    /// Parses a query parameter with a comma-separated list of values, such as `status=accepted,preparing`.
    static func cases<Case: RawRepresentable & CaseIterable & Hashable>(
        _ request: Request, _ name: Substring, _ type: Case.Type
    ) throws -> Set<Case>? where Case.RawValue == String {
        guard let text = request.uri.queryParameters[name] else { return nil }
        return Set(
            try text.split(separator: ",", omittingEmptySubsequences: false).map { word in
                guard let known = Case(rawValue: String(word)) else {
                    let all = Case.allCases.map(\.rawValue).joined(separator: ", ")
                    throw Self.badRequest("\(name) must be a comma-separated list of: \(all).")
                }
                return known
            })
    }

    @Sendable private func readZoneJobs(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let zone = try self.zone(request, context)
        let query = request.uri.queryParameters
        let limit = try Self.number(request, "limit", Self.jobLimits, else: Self.jobLimits.upperBound)
        let statuses = try Self.cases(request, "status", JobStatus.self)
        let trackings = try Self.cases(request, "tracking", JobTracking.self)
        let after: JobID? = try query["after"].map { try Self.identifier(String($0), "after") }
        // Changes since a version are available only for all jobs. A request with filters gets its current page
        // (`reset`).
        let isWhole = after == nil && statuses == nil && trackings == nil && query["limit"] == nil
        let since = isWhole ? query["since"].map { String($0) } : nil
        let history = try await self.query { try await self.operations.zoneJobs.snapshot(of: zone).history }
        guard since == nil else { return Self.json(history.rows(of: zone, since: since).json) }
        let page = history.page(of: zone, after: after, limit: limit) { row in
            statuses?.contains(row.status) != false && trackings?.contains(row.tracking) != false
        }
        return Self.json(page.json)
    }

    private struct RidersDocument: Encodable {
        struct Rider: Encodable {
            var rider: String
            var reachable: Bool
            var approved: Bool
            var available: Bool
            var draining: Bool
            var capacity: Int
            /// The IDs of the rider's jobs, sorted.
            var tasks: [String]
            /// Milliseconds since the Unix epoch.
            var heartbeat: Int64?
            var statusAt: Int64?
        }
        var zone: String
        var riders: [Rider]
        /// The number of riders online in the zone. The list above is limited and may be shorter.
        var count: Int
        /// How many of all riders online may get a task and have none.
        var free: Int
        /// How many of all riders online are reachable and have a task.
        var busy: Int
    }

    @Sendable private func readZoneRiders(
        _ request: Request, _ context: GatewayRequestContext
    ) async throws -> Response {
        let zone = try self.zone(request, context)
        let (online, sizes) = try await self.query {
            (
                try await self.operations.riders.online(in: zone).get(),
                try await self.operations.listing.sizes(of: zone).get()
            )
        }
        let riders = online.shown.map { shown in
            let record = shown.record
            return RidersDocument.Rider(
                rider: shown.rider.text, reachable: record.isReachable, approved: record.isApproved,
                available: record.isAvailable, draining: record.isDraining, capacity: record.capacity,
                tasks: record.tasks.keys.map(\.text).sorted(), heartbeat: record.heartbeat, statusAt: record.statusAt)
        }.sorted { $0.rider < $1.rider }
        return try Self.json(
            RidersDocument(
                zone: zone.text, riders: riders, count: max(sizes.online, riders.count),
                free: online.roster.free.count, busy: online.roster.busy.count))
    }

    private struct VerdictsDocument: Encodable {
        struct Count: Encodable {
            var verdict: String
            var count: Int
        }
        struct Job: Encodable {
            var job: String
            var counts: [Count]
            /// The number of fixes that were neither accepted nor held.
            var refused: Int
        }
        var zone: String
        /// The sums over all open jobs of the zone.
        var counts: [Count]
        /// The jobs with the most refused fixes first.
        var jobs: [Job]
    }

    @Sendable private func readZoneVerdicts(
        _ request: Request, _ context: GatewayRequestContext
    ) async throws -> Response {
        let zone = try self.zone(request, context)
        let verdicts = try await self.query { try await self.operations.zoneJobs.snapshot(of: zone).verdicts }
        var sums: [String: Int] = [:]
        for summary in verdicts.values { sums.merge(summary.counts) { $0 + $1 } }
        func counts(_ counts: [String: Int]) -> [VerdictsDocument.Count] {
            counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { .init(verdict: $0.key, count: $0.value) }
        }
        let jobs = verdicts.map { job, summary in
            VerdictsDocument.Job(job: job.text, counts: counts(summary.counts), refused: summary.refused)
        }.filter { $0.refused > 0 }.sorted { ($1.refused, $0.job) < ($0.refused, $1.job) }
        return try Self.json(
            VerdictsDocument(zone: zone.text, counts: counts(sums), jobs: Array(jobs.prefix(Self.maxRefusedJobs))))
    }

    private struct AuditDocument: Encodable {
        var zone: String
        /// Changes of riders: change, rider, actor, reason, job, status.
        var changes: [[String: String]]
        /// Accesses of followers: type, job, person, role, via.
        var accesses: [[String: String]]
    }

    /// The members of audit entries that are returned. Devices, sessions and request IDs are left out.
    private static let changeMembers = ["change", "rider", "actor", "reason", "job", "status", "tasks", "capacity"]
    private static let accessMembers = ["type", "job", "person", "role", "via", "gateway"]

    @Sendable private func readZoneAudit(_ request: Request, _ context: GatewayRequestContext) async throws -> Response
    {
        let zone = try self.zone(request, context)
        let limit = try Self.number(request, "limit", Self.auditEntryLimits, else: Self.defaultAuditEntries)
        let (changes, accesses) = try await self.query { try await self.operations.audit(of: zone, limit: limit) }
        func members(_ entries: [AuditStreams.StoredEntry], _ names: [String]) -> [[String: String]] {
            entries.map { entry in
                var row = ["id": entry.id]
                for name in names { row[name] = entry.value(name).flatMap { $0.isEmpty ? nil : $0 } }
                return row
            }
        }
        return try Self.json(
            AuditDocument(
                zone: zone.text, changes: members(changes, Self.changeMembers),
                accesses: members(accesses, Self.accessMembers)))
    }

    private struct GatewaysDocument: Encodable {
        struct Gateway: Encodable {
            var id: String
            /// When it last published its health, in milliseconds since the Unix epoch.
            var at: Int64
            /// `nil` if the gateway has stopped publishing.
            var health: GatewayHealth?
        }
        var gateways: [Gateway]
        /// The ID of the gateway that responds.
        var answeredBy: String
        /// Whether Redis was available, so that the list contains all gateways.
        var complete: Bool
    }

    /// Returns the health of all gateways, or only of this one if Redis is unavailable.
    @Sendable private func readGateways(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        _ = try self.grant(request, context, .lookAtZones)
        let (gateways, isComplete) = await self.operations.gateways()
        return try Self.json(
            GatewaysDocument(
                gateways: gateways.map { .init(id: $0.id, at: $0.at, health: $0.health) },
                answeredBy: self.operations.healthSource?.id ?? "", complete: isComplete))
    }
}

extension ValidationSummary {
    /// The number of fixes that were neither accepted nor held.
    fileprivate var refused: Int {
        self.counts.reduce(0) { $0 + (["accepted", "held"].contains($1.key) ? 0 : $1.value) }
    }
}
