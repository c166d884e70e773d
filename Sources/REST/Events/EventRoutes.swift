// Receives events from other systems (POST events): CloudEvents in binary, structured or batched mode, sent by a service with a
// token. The response to a single event is like that of any request. The response to a batch is 200 with the outcome of each
// event, in order; a refused event does not stop the batch. EventApplication applies an event to its job.

package import Access
internal import EnrouteWire
package import Events
internal import FoundationEssentials
internal import HTTPTypes
package import HTTPValues
internal import Hummingbird
internal import Jobs
internal import LiveState
internal import Logging
internal import NIOCore
internal import Synchronization
internal import Telemetry

extension Routes {
    @Sendable func receiveEvents(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        if request.headers[Self.topicMessageType] != nil { return try await self.receiveSNSMessage(request, context) }
        let grant = try self.grant(request, context, .sendEvents)
        let body = try await Self.bodyBytes(of: request)
        let mediaType = request.headers[.contentType]
        switch mediaType?.prefix(while: { $0 != ";" }).lowercased().filter({ $0 != " " }) {
        case CloudEvent.batchMediaType:
            let events: [Result<CloudEvent, EventFault>]
            do throws(EventFault) { events = try CloudEvent.batch(body.readableBytesView) } catch {
                throw self.problem(error)
            }
            return try await self.respond(toBatch: events, grant, context.logger)
        case CloudEvent.structuredMediaType:
            return try await self.respond(grant) { () throws(EventFault) in
                try CloudEvent.structured(body.readableBytesView)
            }
        case _ where request.headers[Self.header("specversion")] != nil:
            return try await self.respond(grant) { () throws(EventFault) in
                try CloudEvent.binary(body.readableBytesView, mediaType: mediaType) { request.headers[Self.header($0)] }
            }
        default:
            self.eventCounts.add(.eventsMalformed)
            throw Problem(
                .unsupportedMediaType, status: 415,
                detail: "Send a CloudEvent: Content-Type \(CloudEvent.structuredMediaType), "
                    + "\(CloudEvent.batchMediaType), or the headers ce-specversion, ce-id, ce-source and ce-type.")
        }
    }

    /// - Parameter attribute: the name of a CloudEvents attribute, which consists of letters and digits.
    private static func header(_ attribute: String) -> HTTPField.Name { HTTPField.Name("ce-\(attribute)")! }

    private func respond(_ grant: Grant, _ read: () throws(EventFault) -> CloudEvent) async throws -> Response {
        let event: CloudEvent
        do throws(EventFault) { event = try read() } catch { throw self.problem(error) }
        let result = try await self.process(event, grant)
        return try Self.json(result, isReplicationUnconfirmed: result.isReplicationUnconfirmed)
    }

    private func respond(
        toBatch events: [Result<CloudEvent, EventFault>], _ grant: Grant, _ logger: Logger
    ) async throws -> Response {
        var results: [EventResult] = []
        var outage: Problem?
        for event in events {
            do {
                let event = try event.mapError { self.problem($0) }.get()
                if let outage {
                    // Otherwise each remaining event would wait for its own timeout.
                    self.eventCounts.add(.eventsFailed)
                    throw outage
                }
                results.append(try await self.process(event, grant))
            } catch let problem as Problem {
                if problem.isOutage { outage = problem }
                problem.log("event of a batch failed with an internal error", logger)
                results.append(EventResult(problem, try? event.get()))
            }
        }
        return try Self.json(results)
    }

    /// Applies an event.
    ///
    /// - Throws: only `Problem`.
    package func process(_ event: CloudEvent, _ grant: Grant) async throws -> EventResult {
        let meaning: JobEvent
        do throws(EventFault) {
            meaning = try JobEvent(event)
            try event.checkTime(now: WallClock.nowMilliseconds)
        } catch {
            throw self.problem(error)
        }
        guard grant.covers(meaning.job) else {
            self.eventCounts.add(.eventsUnprocessable)
            throw Problem(.forbidden, status: 403, detail: "The token is restricted to another job.")
        }
        if case .created(let created) = meaning {
            do {
                try await self.checkPlaces(of: created, by: event)
            } catch let problem as Problem {
                self.eventCounts.add(problem.isRetryable ? .eventsFailed : .eventsUnprocessable)
                throw problem
            }
        }
        let outcome: EventOutcome
        do {
            let geocoded = try await self.geocoded(meaning, event.requestID)
            outcome = try await self.result(of: self.jobs.apply(geocoded, of: event, by: grant.person))
            if case (.notYet, .created(let created)) = (outcome, geocoded) {
                self.deferredEvents.store(created, of: event.requestID, now: .now())
            }
            if case (.applied, .created(let created)) = (outcome, geocoded) {
                self.retryLookups(
                    of: created.job, destination: (created.address, created.geocoded), vendor: created.vendor)
            }
        } catch {
            self.eventCounts.add(.eventsFailed)
            throw error
        }
        self.eventCounts.add(outcome.metric)
        switch outcome {
        case .applied(let statusID, let isReplicationUnconfirmed, _):
            return EventResult(
                event, "applied", meaning.job, statusID: statusID, isReplicationUnconfirmed: isReplicationUnconfirmed)
        case .superseded(let status): return EventResult(event, "superseded", meaning.job, jobStatus: status)
        case .notYet(let reason, let status):
            var problem = Problem(.illegalTransition, status: 409, detail: "\(reason) Send it again.")
            problem.jobStatus = status
            problem.retryIn = .random(in: 1000...5000)
            throw problem
        case .rejected(let reason, let status):
            var problem = Problem(.illegalTransition, status: 422, detail: reason)
            problem.jobStatus = status
            throw problem
        }
    }

    /// Checks the places of a job that the event will create. The event changes no job that exists or was erased, so its
    /// places do not matter then.
    ///
    /// - Throws: 422 if they are too far from each other or from the zone.
    private func checkPlaces(of created: CreatedJob, by event: CloudEvent) async throws {
        let earlier = try await self.result(
            of: self.jobs.ledger.earlierCreation(of: created.job, epoch: event.epoch))
        guard earlier == nil else { return }
        try self.checkDistance(from: created.vendor?.place, to: created.destination)
        try await self.checkZone(
            created.zone, of: nil, vendor: created.vendor?.place, destination: created.destination)
    }

    /// Geocodes the addresses of a new job that has no coordinates.
    private func geocoded(_ event: JobEvent, _ request: String) async throws -> JobEvent {
        guard case .created(var created) = event else { return event }
        let address = created.destination == nil ? created.address : nil
        let vendorAddress = created.vendor?.addressToFind
        guard address != nil || vendorAddress != nil,
            // The event does not change an existing job, so geocoding it would be pointless.
            try await self.result(of: self.jobs.ledger.recover(created.job)) == nil
        else { return event }
        if let known = self.deferredEvents.job(of: request, now: .now()) { return .created(known) }
        if let address { (created.destination, created.geocoded) = await self.place(of: address, in: created.zone) }
        if let vendorAddress {
            let (place, geocoded) = await self.place(of: vendorAddress, in: created.zone)
            created.vendor?.found(place, geocoded)
        }
        return .created(created)
    }

    /// Counts an event that is malformed or cannot be applied, and returns its problem.
    package func problem(_ fault: EventFault) -> Problem {
        self.eventCounts.add(fault.kind == .malformed ? .eventsMalformed : .eventsUnprocessable)
        return fault.kind == .malformed
            ? Problem(.badRequest, status: 400, detail: fault.reason)
            : Problem(.unprocessable, status: 422, detail: fault.reason)
    }
}

extension EventOutcome {
    fileprivate var metric: Metric {
        switch self {
        case .applied(_, _, let isRepeat): isRepeat ? .eventsRepeated : .eventsApplied
        case .superseded: .eventsSuperseded
        case .notYet: .eventsNotYet
        case .rejected: .eventsUnprocessable
        }
    }
}

/// The outcome of one event, as reported to its sender.
package struct EventResult: Encodable {
    /// `nil` if the event has no ID.
    private var id: String?
    private var source: String?
    /// `applied`, `superseded` or `refused`.
    private var outcome: String
    /// The HTTP status that the event would have had on its own.
    private var status: Int
    private var job: String?
    private var statusID: String?
    private var jobStatus: String?
    private var durability: String?
    private var code: String?
    private var detail: String?
    private var retryable: Bool?

    private enum CodingKeys: String, CodingKey {
        case id, source, outcome, status, job, statusID = "statusId", jobStatus, durability, code, detail, retryable
    }

    package var isReplicationUnconfirmed: Bool { self.durability != nil }

    init(
        _ event: CloudEvent, _ outcome: String, _ job: JobID, statusID: StatusID? = nil, jobStatus: JobStatus? = nil,
        isReplicationUnconfirmed: Bool = false
    ) {
        (self.id, self.source, self.outcome) = (event.id, event.source, outcome)
        self.status = isReplicationUnconfirmed ? 202 : 200
        (self.job, self.statusID, self.jobStatus) = (job.text, statusID?.description, jobStatus?.rawValue)
        self.durability = isReplicationUnconfirmed ? "unknown" : nil
    }

    init(_ problem: Problem, _ event: CloudEvent?) {
        (self.id, self.source, self.outcome) = (event?.id, event?.source, "refused")
        self.status = problem.statusCode
        self.jobStatus = problem.jobStatus?.rawValue
        (self.code, self.detail, self.retryable) = (problem.code.rawValue, problem.detail, problem.isRetryable)
    }
}
