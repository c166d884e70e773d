// Location reports by REST, for phones in the background, where WebSockets do not survive. A report is a batch of fixes, the
// newest of which is published like a fix from a session. Reports that exceed the rate limit are refused and not buffered,
// because no session exists that could publish them later; the phone sends the fixes again with its next batch.

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
        guard jobs.count <= LocationReport.maxJobs else {
            throw Self.unprocessable(
                "A batch can be for at most \(LocationReport.maxJobs) jobs, including the job in the path.")
        }
        if let wait = self.quotas.locationReportDelay(of: SessionOwner(grant), at: NIODeadline.now().uptimeNanoseconds)
        {
            throw Problem(tooManyLocationReports: wait)
        }
        var outcomes = BatchOutcomes()
        for job in jobs {
            let (outcome, validated) = try await self.process(batch, for: job, grant)
            outcomes.add(outcome, validated, of: job)
        }
        let (shown, reporter) = (outcomes.accepted, batch.reporter)
        let guidance = try await self.loops.onHomeLoop(of: grant.person) { loop in
            loop.eventLoop.makeSucceededFuture(
                loop.restReporters.batchValidated(jobs, accepted: shown, of: grant.person, on: reporter))
        }.get()
        if outcomes.refused.count == jobs.count, let first = outcomes.refused.first {
            var problem = Problem(first.refusal)
            if first.reason?.isOfClock == true { problem.serverTime = WallClock.nowMilliseconds }
            throw problem
        }
        // A batch also counts as a heartbeat of the rider. If recording that fails, the batch is still accepted.
        // A refused or held fix never becomes the rider's place.
        if let published = outcomes.published, grant.allows(.beAvailable) {
            _ = try? await self.riders.recordHeartbeat(of: grant.person, at: published.place, device: nil).get()
        }
        return try Self.json(BatchResponse(to: batch, for: job, outcomes, guidance))
    }

    private static func batch(_ request: Request) async throws -> LocationBatch {
        let body = try await Self.bodyBytes(of: request)
        return try body.withUnsafeReadableBytes { bytes in
            guard !bytes.isEmpty else { throw Self.badRequest("The request has no body. It needs a JSON object.") }
            guard bytes.isUTF8, Self.isJSON(bytes) else {
                throw Self.badRequest(StrictJSON.Fault.syntax.reason("The body"))
            }
            do throws(BadMessage) {
                return try LocationBatch(bytes)
            } catch {
                throw Self.unprocessable("The batch is invalid: \(error.reason).")
            }
        }
    }

    /// Returns whether the bytes are JSON. `LocationBatch` rejects some valid JSON, such as deep nesting and escapes in names,
    /// so Foundation's decoder is tried too.
    private static func isJSON(_ bytes: UnsafeRawBufferPointer) -> Bool {
        struct Anything: Decodable { init(from decoder: any Decoder) {} }
        return LocationBatch.isJSON(bytes) || (try? JSONDecoder().decode(Anything.self, from: Data(bytes))) != nil
    }

    /// Validates and publishes a batch for one job.
    ///
    /// - Returns: the outcome, and what the batch shows about earlier fixes; `nil` for a job that the rider may not report for.
    /// - Throws: `Problem` if Redis is unavailable. The outcome is unknown then, and the client may send the batch again.
    private func process(_ batch: LocationBatch, for job: JobID, _ grant: Grant) async throws -> (
        BatchOutcome, ValidatedReport?
    ) {
        guard grant.covers(job), !self.revocations.hides(job, from: grant.role) else {
            return (.refused(.noSuchJob, reason: nil), nil)
        }
        let trip = TripValidators.Key(rider: grant.person, job: job, reporter: batch.reporter)
        let validated = try await self.loops.onHomeLoop(of: grant.person) { loop in
            let bound = NIOLoopBound(loop, eventLoop: loop.eventLoop)
            // Read from Redis each time, because another gateway may have received the previous batch.
            return loop.restTrips.read(trip, again: true).map {
                bound.value.restTrips.validate(
                    batch.fixes, invalidFixes: batch.invalidFixes, battery: batch.battery, trip)
                    ?? ValidatedReport(verdict: .held)
            }
        }.get()
        switch validated.verdict {
        case .held: return (.held, validated)
        case .refused(let reason): return (BatchOutcome(reason), validated)
        case .publish(let fix): return (try await self.publish(fix, trip, on: batch.reporter), validated)
        }
    }

    /// - Parameter isRepeat: whether this is the second attempt, after the job's feed was opened again.
    private func publish(
        _ fix: Fix, _ trip: TripValidators.Key, on reporter: Reporter, isRepeat: Bool = false
    ) async throws -> BatchOutcome {
        let receivedAt = WallClock.nowMilliseconds
        let verdict = try await self.result(
            of: self.publisher.publish(fix, for: trip.job, by: trip.rider, on: reporter, receivedAt: receivedAt))
        switch verdict {
        case .accepted(_, let listeners):
            try await self.onHomeLoop(of: trip.rider) { loop in
                _ = loop.restTrips.published(fix, trip, listeners: listeners)
                loop.restReporters.published(
                    fix, of: trip.job, by: trip.rider, on: reporter, receivedAt: receivedAt)
            }
            return .accepted
        case .stale: return try await self.overrule(.outOfOrder, trip)
        case .future: return try await self.overrule(.future, trip)
        case .otherDevice: return try await self.overrule(.otherDevice, trip)
        case .timeLimit(let deadline):
            _ = try await self.result(of: self.jobs.close(trip.job, atLimit: deadline))
            _ = try await self.overrule(.travelModeOff, trip)
            return .refused(
                Refused(
                    code: .travelModeOff,
                    message: "The sharing time limit of this job has been reached."), reason: nil)
        case .unknown where !isRepeat:
            guard try await self.result(of: self.jobs.reopen(trip.job, for: trip.rider)) else {
                return try await self.overrule(.travelModeOff, trip)
            }
            return try await self.publish(fix, trip, on: reporter, isRepeat: true)
        case .unknown, .travelModeOff, .otherRider: return try await self.overrule(.travelModeOff, trip)
        }
    }

    /// Redis has refused the fix, because it has newer data than this gateway.
    private func overrule(_ reason: FixRefusal, _ trip: TripValidators.Key) async throws -> BatchOutcome {
        try await self.onHomeLoop(of: trip.rider) { $0.restTrips.overrule(reason, trip) }
        return BatchOutcome(reason)
    }

    /// Runs an action on the rider's home loop.
    func onHomeLoop(of rider: PersonID, _ action: @escaping @Sendable (LoopState) -> Void) async throws {
        try await self.loops.onHomeLoop(of: rider) { loop in
            action(loop)
            return loop.eventLoop.makeSucceededVoidFuture()
        }.get()
    }
}

extension Problem {
    /// The client sent more location reports than its rate limit allows.
    package init(tooManyLocationReports wait: Int64) {
        self.init(
            .rateLimited, status: 429, detail: "Too many location reports. Collect fixes and send them in one batch.")
        self.retryIn = wait
    }
}

extension LocationBatch {
    /// The device that sent the batch.
    fileprivate var reporter: Reporter { self.device.map { Reporter($0) } ?? .requests }
}
