// Positions by REST, for phones in the background, where no WebSocket lives long: a batch of fixes, of which the newest
// goes the way that a session's goes. Nothing is held back for later, since nobody is there who would send it: what
// comes too fast is refused, and the next batch holds it.

internal import Access
internal import EnrouteWire
internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import LiveState
internal import NIOCore
internal import Redis

/// What became of a batch for one job.
private enum Intake {
    /// Followers are shown it.
    case accepted
    /// As new a position is known already, or it was captured too long ago: it need not be sent again.
    case stale
    case refused(Refused)
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
        guard let fix = batch.newest, jobs.count <= LocationReport.mostJobs else {
            throw Self.impossible("jobs and the job of the path are at most \(LocationReport.mostJobs) jobs.")
        }
        if let wait = self.quotas.positions(of: grant.person, at: NIODeadline.now().uptimeNanoseconds) {
            throw Problem(positionsFor: wait)
        }
        var accepted: [JobID] = []
        var stale: [JobID] = []
        var refused: [(job: JobID, refusal: Refused)] = []
        for job in jobs {
            switch try await self.take(fix, for: job, grant) {
            case .accepted: accepted.append(job)
            case .stale: stale.append(job)
            case .refused(let refusal): refused.append((job, refusal))
            }
        }
        if refused.count == jobs.count, let first = refused.first { throw Problem(first.refusal) }
        // The rider is there, as far as its zone is concerned; what is wrong with that does not concern the batch.
        if !accepted.isEmpty { _ = try? await self.riders.heard(from: grant.person, at: fix.place, device: nil).get() }
        let refusals = refused.map { #"{"job":"\#($0.job)","code":"\#($0.refusal.code.rawValue)"}"# }
        let json =
            #"{"job":"\#(job)",\#(batch.sequence.map { #""seq":\#($0),"# } ?? "")"#
            + #""accepted":\#(Self.list(accepted)),"stale":\#(Self.list(stale)),"#
            + #""refused":[\#(refusals.joined(separator: ","))]}"#
        return Self.json(Array(json.utf8))
    }

    private static func list(_ jobs: [JobID]) -> String { "[\(jobs.map { "\"\($0)\"" }.joined(separator: ","))]" }

    private static func batch(_ request: Request) async throws -> LocationBatch {
        let body = try await request.body.collect(upTo: Self.longestBody)
        return try body.withUnsafeReadableBytes { bytes in
            guard bytes.isUTF8, Self.isJSON(bytes) else { throw Self.bad("The body must be a JSON object.") }
            do throws(BadMessage) {
                return try LocationBatch(bytes)
            } catch {
                throw Self.impossible("The batch can not be used: \(error.reason).")
            }
        }
    }

    /// Whether these bytes are JSON, also where a batch needs to be stricter: nested deeper, or a name with an escape.
    private static func isJSON(_ bytes: UnsafeRawBufferPointer) -> Bool {
        struct Anything: Decodable { init(from decoder: any Decoder) {} }
        return LocationBatch.isJSON(bytes) || (try? JSONDecoder().decode(Anything.self, from: Data(bytes))) != nil
    }

    /// - Parameter isRepeat: the feed was opened again for it.
    /// - Throws: a `Problem` when Redis is away: then what became of it is not known, and it may be sent again.
    private func take(_ fix: Fix, for job: JobID, _ grant: Grant, isRepeat: Bool = false) async throws -> Intake {
        guard grant.covers(job), !self.revocations.hides(job, from: grant.role) else { return .refused(.noSuchJob) }
        guard fix.at >= .now - RiderSession.oldestMilliseconds else { return .stale }
        let verdict = try await self.answer(
            self.publisher.publish(fix, for: job, by: grant.person, receivedAt: .now))
        switch verdict {
        case .accepted: return .accepted
        case .stale: return .stale
        case .future:
            return .refused(
                Refused(
                    code: .futurePosition,
                    message: "The position's time is in the future: check the phone's clock."))
        case .timeLimit(let deadline):
            _ = try await self.answer(self.jobs.close(job, atLimit: deadline))
            return .refused(
                Refused(
                    code: .travelModeOff,
                    message: "The time in which a position may be shared for this job is over."))
        case .unknown where !isRepeat:
            guard try await self.answer(self.jobs.reopen(job, for: grant.person)) else { return .refused(.travelOff) }
            return try await self.take(fix, for: job, grant, isRepeat: true)
        case .unknown, .travelModeOff, .otherRider: return .refused(.travelOff)
        }
    }
}

extension Refused {
    fileprivate static let travelOff = Refused(
        code: .travelModeOff, message: "Travel mode is off for this job: switch it on first.")
}

extension Problem {
    /// More batches than may be published.
    init(positionsFor wait: Int64) {
        self.init(
            .rateLimited, status: 429, detail: "More positions than may be published: gather them, and send a batch.")
        self.retryIn = wait
    }
}
