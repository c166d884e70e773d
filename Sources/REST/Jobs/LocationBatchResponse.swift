// The outcomes of a batch of location reports, one for each job, and the response that lists them.

internal import EnrouteWire
internal import HTTPValues
internal import Jobs
internal import Realtime
internal import Tracking

/// The outcome of a batch for one job.
enum BatchOutcome {
    /// The newest fix was published.
    case accepted
    /// A newer position is known already, or the fix is too old. The client need not send it again.
    case stale
    /// The fix is implausible and was not published. The client need not send it again; the next batch decides about it.
    case held
    case refused(Refused, reason: FixRefusal?)

    /// Stale fixes are normal after a phone was offline, so they are not reported as refused.
    init(_ reason: FixRefusal) {
        self =
            reason.code == .stalePosition
            ? .stale : .refused(Refused(code: reason.requestCode, message: reason.message), reason: reason)
    }
}

/// The jobs of a batch by their outcome, in the order of the batch.
struct BatchOutcomes {
    private(set) var accepted: [JobID] = []
    private(set) var stale: [JobID] = []
    private(set) var held: [JobID] = []
    private(set) var refuted: [JobID] = []
    private(set) var refused: [(job: JobID, refusal: Refused, reason: FixRefusal?)] = []
    /// ms; `nil` if no job's validation has just started to correct the phone's clock.
    private(set) var clockCorrection: Int64?
    /// The newest fix that followers see; `nil` if no job accepted one.
    private(set) var published: Fix?

    mutating func add(_ outcome: BatchOutcome, _ validated: ValidatedReport?, of job: JobID) {
        if validated?.refutes == true { self.refuted.append(job) }
        self.clockCorrection = validated?.clockCorrection ?? self.clockCorrection
        switch outcome {
        case .accepted:
            self.accepted.append(job)
            guard case .publish(let fix)? = validated?.verdict, fix.at > self.published?.at ?? .min else { break }
            self.published = fix
        case .stale: self.stale.append(job)
        case .held: self.held.append(job)
        case .refused(let refusal, let reason): self.refused.append((job, refusal, reason))
        }
    }
}

/// The response to a batch. Optional members are omitted if they are empty.
struct BatchResponse: Encodable {
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
    /// The interval at which the gateway wants location reports.
    var intervalSeconds: Int?
    /// ms that the gateway adds to the phone's times; present once, when it starts to correct them.
    var clockCorrectionMs: Int64?
    /// ms since the epoch, for phones that compare their clock.
    var serverTime: Int64

    init(to batch: LocationBatch, for job: JobID, _ outcomes: BatchOutcomes, _ guidance: RESTReporters.Guidance) {
        func texts(_ jobs: [JobID]) -> [String]? { jobs.isEmpty ? nil : jobs.map(\.text) }
        (self.job, self.seq) = (job.text, batch.sequence)
        (self.accepted, self.stale) = (outcomes.accepted.map(\.text), outcomes.stale.map(\.text))
        (self.held, self.refuted) = (texts(outcomes.held), texts(outcomes.refuted))
        self.refused = outcomes.refused.map {
            Refusal(job: $0.job.text, code: $0.refusal.code.rawValue, reason: $0.reason?.rawValue)
        }
        let near = guidance.proximities.map { Proximity(job: $0.job.text, state: $0.state.rawValue) }
        self.proximity = near.isEmpty ? nil : near
        // All intervals are whole seconds.
        self.intervalSeconds = guidance.rate.map { Int($0) }
        self.clockCorrectionMs = outcomes.clockCorrection
        self.serverTime = WallClock.nowMilliseconds
    }
}
