// Lists of jobs by REST: riders and customers list their own; services and operations staff list those of anybody or of
// a zone. The records decide what a list contains and what the caller may see; LiveState/Operations/PersonJobs.swift
// has the lists.

internal import Access
internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import Jobs
internal import LiveState
internal import NIOCore

extension Routes {
    func addJobLists(to api: RouterGroup<GatewayRequestContext>) {
        api.get("jobs", use: self.listJobs)
    }

    /// The allowed values of `limit`, and the default.
    static let jobListLimits = 1...100
    static let defaultJobListLimit = 50

    @Sendable private func listJobs(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let grant = try self.grant(request, context, .readJob)
        let list = try self.list(request, grant)
        let limit = try Self.number(request, "limit", Self.jobListLimits, else: Self.defaultJobListLimit)
        let statuses = try Self.cases(request, "status", JobStatus.self)
        let place = try request.uri.queryParameters["cursor"].map { text in
            guard let place = JobListPlace(cursor: String(text)) else {
                throw Self.badRequest("cursor must be the value of next in an earlier response.")
            }
            return place
        }
        let (now, revocations) = (WallClock.nowMilliseconds, self.revocations)
        let page = try await self.result(
            of: self.jobs.ledger.page(of: list, after: place, limit: limit, now: now) { job, record in
                statuses?.contains(record.status) != false
                    && grant.reaches(job, customer: record.customer, rider: record.rider)
                    && !revocations.hides(job, from: grant.role)
            })
        let summaries = JobSummaries(
            jobs: page.jobs.map { JobSummary($0.job, $0.record, for: grant.role) }, next: page.next?.cursor)
        return Self.json(summaries.json)
    }

    /// The list that a request selects, if the caller may read it.
    private func list(_ request: Request, _ grant: Grant) throws -> JobList {
        let query = request.uri.queryParameters
        let named = ["rider", "customer", "zone"].filter { query[Substring($0)] != nil }
        guard named.count == 1, let kind = named.first, let text = query[Substring(kind)].map({ String($0) }) else {
            throw Self.badRequest("The query must contain one of rider, customer and zone.")
        }
        let isOfAll = grant.role == .ops || grant.role == .service
        if kind == "zone" {
            guard grant.allows(.lookAtZones) else { throw Self.notAllowed(grant.role) }
            return .zone(try Self.identifier(text, "zone"))
        }
        let isMe = text == "me"
        guard !isMe || !isOfAll else {
            throw Self.badRequest("Only riders and customers can use me. Use the ID of the \(kind).")
        }
        let person: PersonID = isMe ? grant.person : try Self.identifier(text, kind)
        guard isOfAll || grant.role.rawValue == kind && person == grant.person else {
            throw Self.notAllowed(grant.role)
        }
        return kind == "rider" ? .rider(person) : .customer(person)
    }

    private static func notAllowed(_ role: Role) -> Problem {
        Problem(.forbidden, status: 403, detail: "The role \(role.rawValue) is not allowed to read this list.")
    }
}

extension JobSummary {
    fileprivate init(_ job: JobID, _ record: JobRecord, for role: Role) {
        self.init(
            job: job, kind: record.kind, status: record.status, statusAt: record.statusAt, epoch: record.epoch,
            id: record.head, vendor: record.vendor?.name, display: record.display)
        guard role == .ops || role == .service else { return }
        (self.customer, self.rider, self.zone) = (record.customer, record.rider, record.zone)
        self.metadata = record.metadata
    }
}

extension JobListPlace {
    /// Opaque to clients, so that it can change.
    var cursor: String { Base64URL.text(Array("\(self.score) \(self.job.text)".utf8)) }

    /// - Returns: `nil` unless the text is a value of `cursor`.
    init?(cursor: String) {
        guard cursor.utf8.count <= 200, let bytes = [UInt8](base64URL: Array(cursor.utf8)[...]),
            case let parts = String(decoding: bytes, as: UTF8.self).split(separator: " "), parts.count == 2,
            let score = Int64(parts[0]), (0...9_999_999_999_999).contains(score), let job = JobID(String(parts[1]))
        else { return nil }
        self.init(score: score, job: job)
    }
}
