// Positions by REST, for phones in the background, where no WebSocket lives long: a batch of fixes, of which the newest
// goes the way that a session's goes. Nothing is held back for later, since nobody is there who would send it: what
// comes too fast is refused, and the next batch holds it.

internal import Access
internal import EnrouteWire
internal import FoundationEssentials
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import Jobs
internal import LiveState
internal import NIOCore
internal import Realtime
internal import Redis
internal import Tracking
internal import TrafficControl

/// What became of a batch for one job.
private enum BatchOutcome {
    /// Followers are shown it.
    case accepted
    /// As new a position is known already, or it was captured too long ago: it need not be sent again.
    case stale
    /// Implausible by itself: nobody is shown it, and it need not be sent again. The next batch decides.
    case held
    case refused(Refused, reason: FixRefusal?)

    /// What was refused for this reason: the stale ones are no mistake of a phone that was without a network.
    init(_ reason: FixRefusal) {
        self =
            reason.code == .stalePosition
            ? .stale : .refused(Refused(code: reason.requestCode, message: reason.sentence), reason: reason)
    }
}

/// The answer to a batch of positions. Optional members are left out when they are empty.
private struct BatchAnswer: Encodable {
    struct Refusal: Encodable {
        var job: String
        var code: String
        var reason: String?
    }
    struct Proximity: Encodable {
        var job: String
        var state: String
    }

    var job: String
    var seq: Int64?
    var accepted: [String]
    var stale: [String]
    var held: [String]?
    var refuted: [String]?
    var refused: [Refusal]
    var proximity: [Proximity]?
    /// From one position to the next.
    var intervalSeconds: Int?
}

extension Routes {
    func addLocations(to api: RouterGroup<GatewayRequestContext>) {
        api.post("jobs/{job}/locations", use: self.reportLocations)
    }

    @Sendable private func reportLocations(
        _ request: Request, _ context: GatewayRequestContext
    ) async throws -> Response {
        let grant = try self.grant(request, context, .reportLocation)
        let job = try self.job(context, grant)
        let batch = try await Self.batch(request)
        let jobs = batch.jobs(with: job)
        guard jobs.count <= LocationReport.mostJobs else {
            throw Self.impossible(
                "A batch can be for at most \(LocationReport.mostJobs) jobs, including the job in the path.")
        }
        if let wait = self.quotas.locationReportDelay(of: grant.person, at: NIODeadline.now().uptimeNanoseconds) {
            throw Problem(positionsFor: wait)
        }
        var accepted: [JobID] = []
        var stale: [JobID] = []
        var held: [JobID] = []
        var refuted: [JobID] = []
        var refused: [(job: JobID, refusal: Refused, reason: FixRefusal?)] = []
        for job in jobs {
            let (outcome, refutes) = try await self.take(batch, for: job, grant)
            if refutes { refuted.append(job) }
            switch outcome {
            case .accepted: accepted.append(job)
            case .stale: stale.append(job)
            case .held: held.append(job)
            case .refused(let refusal, let reason): refused.append((job, refusal, reason))
            }
        }
        let (all, shown) = (jobs, accepted)
        let guidance = try await self.loops.onHomeLoop(of: grant.person) { loop in
            loop.eventLoop.makeSucceededFuture(
                loop.restReporters.batchValidated(all, accepted: shown, of: grant.person))
        }.get()
        if refused.count == jobs.count, let first = refused.first { throw Problem(first.refusal) }
        // The rider is there, as far as its zone is concerned; what is wrong with that does not concern the batch.
        let place = batch.newest?.place
        if !accepted.isEmpty, grant.allows(.beAvailable) {
            _ = try? await self.riders.heard(from: grant.person, at: place, device: nil).get()
        }
        return try Self.json(
            BatchAnswer(
                job: job.text, seq: batch.sequence, accepted: accepted.map(\.text), stale: stale.map(\.text),
                held: held.isEmpty ? nil : held.map(\.text), refuted: refuted.isEmpty ? nil : refuted.map(\.text),
                refused: refused.map {
                    .init(job: $0.job.text, code: $0.refusal.code.rawValue, reason: $0.reason?.rawValue)
                },
                proximity: guidance.proximities.isEmpty
                    ? nil : guidance.proximities.map { .init(job: $0.job.text, state: $0.state.rawValue) },
                // Whole seconds, all of them.
                intervalSeconds: guidance.rate.map { Int($0) }))
    }

    private static func batch(_ request: Request) async throws -> LocationBatch {
        let body = try await request.body.collect(upTo: Self.maxBodyBytes)
        return try body.withUnsafeReadableBytes { bytes in
            guard bytes.isUTF8, Self.isJSON(bytes) else { throw Self.bad("The body must be a JSON object.") }
            do throws(BadMessage) {
                return try LocationBatch(bytes)
            } catch {
                throw Self.impossible("The batch is invalid: \(error.reason).")
            }
        }
    }

    /// Whether these bytes are JSON, also where a batch needs to be stricter: nested deeper, or a name with an escape.
    private static func isJSON(_ bytes: UnsafeRawBufferPointer) -> Bool {
        struct Anything: Decodable { init(from decoder: any Decoder) {} }
        return LocationBatch.isJSON(bytes) || (try? JSONDecoder().decode(Anything.self, from: Data(bytes))) != nil
    }

    /// - Returns: what becomes of it, and whether it refutes what was held.
    /// - Throws: a `Problem` when Redis is away: then what became of it is not known, and it may be sent again.
    private func take(_ batch: LocationBatch, for job: JobID, _ grant: Grant) async throws -> (
        BatchOutcome, refutes: Bool
    ) {
        guard grant.covers(job), !self.revocations.hides(job, from: grant.role) else {
            return (.refused(.noSuchJob, reason: nil), false)
        }
        let trip = TripValidators.Key(rider: grant.person, job: job)
        let validated = try await self.loops.onHomeLoop(of: grant.person) { loop in
            let bound = NIOLoopBound(loop, eventLoop: loop.eventLoop)
            // Each time: the batch before this one may have gone to another gateway.
            return loop.restTrips.read(trip, again: true).map {
                bound.value.restTrips.validate(
                    batch.fixes, invalidFixes: batch.invalidFixes, battery: batch.battery, trip)
                    ?? ValidatedReport(verdict: .held)
            }
        }.get()
        switch validated.verdict {
        case .held: return (.held, validated.refutes)
        case .refused(let reason): return (BatchOutcome(reason), validated.refutes)
        case .publish(let fix): return (try await self.publish(fix, trip), validated.refutes)
        }
    }

    /// - Parameter isRepeat: the feed was opened again for it.
    private func publish(_ fix: Fix, _ trip: TripValidators.Key, isRepeat: Bool = false) async throws -> BatchOutcome {
        let receivedAt = Int64.now
        let verdict = try await self.answer(
            self.publisher.publish(fix, for: trip.job, by: trip.rider, receivedAt: receivedAt))
        switch verdict {
        case .accepted(_, let listeners):
            try await self.onHomeLoop(of: trip.rider) { loop in
                _ = loop.restTrips.published(fix, trip, listeners: listeners)
                loop.restReporters.published(fix, of: trip.job, by: trip.rider, receivedAt: receivedAt)
            }
            return .accepted
        case .stale: return try await self.overrule(.outOfOrder, trip)
        case .future: return try await self.overrule(.future, trip)
        case .timeLimit(let deadline):
            _ = try await self.answer(self.jobs.close(trip.job, atLimit: deadline))
            _ = try await self.overrule(.travelModeOff, trip)
            return .refused(
                Refused(
                    code: .travelModeOff,
                    message: "The sharing time limit of this job has been reached."), reason: nil)
        case .unknown where !isRepeat:
            guard try await self.answer(self.jobs.reopen(trip.job, for: trip.rider)) else {
                return try await self.overrule(.travelModeOff, trip)
            }
            return try await self.publish(fix, trip, isRepeat: true)
        case .unknown, .travelModeOff, .otherRider: return try await self.overrule(.travelModeOff, trip)
        }
    }

    /// Redis knows more than this gateway.
    private func overrule(_ reason: FixRefusal, _ trip: TripValidators.Key) async throws -> BatchOutcome {
        try await self.onHomeLoop(of: trip.rider) { $0.restTrips.overrule(reason, trip) }
        return BatchOutcome(reason)
    }

    /// Does something on the loop that knows the rider's trips.
    func onHomeLoop(of rider: PersonID, _ action: @escaping @Sendable (LoopState) -> Void) async throws {
        try await self.loops.onHomeLoop(of: rider) { loop in
            action(loop)
            return loop.eventLoop.makeSucceededVoidFuture()
        }.get()
    }
}

extension Problem {
    /// More batches than may be published.
    package init(positionsFor wait: Int64) {
        self.init(
            .rateLimited, status: 429, detail: "Too many location reports. Collect fixes and send them in one batch.")
        self.retryIn = wait
    }
}
