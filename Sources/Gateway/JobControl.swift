// What people and services do to a job, in the order that keeps the promises: a position is never visible longer than
// the ledger allows, so the live half closes as early as it can and opens last. WebSocket and REST both come here.

internal import EnrouteWire
internal import LiveState
internal import NIOCore
internal import Redis

/// A refusal with the sentence that goes with it.
struct Refused: Error {
    let code: ErrorCode
    let message: String
    var status: JobStatus?

    static let noSuchJob = Refused(code: .notFound, message: "There is no such job, or it is not yours.")

    /// What a failure of Redis means to a caller.
    init(_ error: any Error) {
        switch error {
        case let refused as Refused: self = refused
        case let error as RedisError where error.isOutage:
            self.init(code: .unavailable, message: "The service is not available at the moment. Try again shortly.")
        default: self.init(code: .internal, message: "Something went wrong on our side.")
        }
    }

    init(code: ErrorCode, message: String, status: JobStatus? = nil) {
        self.code = code
        self.message = message
        self.status = status
    }
}

/// A job as it is read for a follower.
struct JobView: Sendable {
    var record: JobRecord
    var snapshot: Snapshot
    /// Id of the position in the snapshot.
    var positionID: UInt64?
    /// What the follower saw last is not in the log any more.
    var isReset: Bool
    /// Both instances say that the rider shares its position, whether or not there is one.
    var isTracking: Bool
}

/// Reading and changing jobs. May be used from any thread.
struct JobControl: Sendable {
    let ledger: JobLedger
    let feed: JobFeed
    /// What was erased, and why: keys that held something.
    var onErased: @Sendable (JobID, Int, EndReason) -> Void = { _, _, _ in }

    /// Positions older than this are stale, ms.
    static let staleAfter: Int64 = 30_000

    /// The whole state of a job: what a subscription starts with and what REST answers.
    ///
    /// - Returns: `nil` when there is no such job.
    func view(_ job: JobID, since: ResumePoint? = nil) -> EventLoopFuture<JobView?> {
        self.ledger.recover(job, since: since).and(self.feed.read(job)).map { recovery, feed in
            recovery.map { JobView($0, feed, now: .now) }
        }
    }

    /// What followers have to agree with: the newest status, and whether and where the rider is.
    ///
    /// - Returns: `nil` when there is no such job.
    func check(_ job: JobID) -> EventLoopFuture<JobCheck?> {
        self.ledger.head(job).and(self.feed.read(job)).map { head, feed in
            head.map { JobCheck($0, feed) }
        }
    }

    /// - Parameter request: with the same id the same change may be asked for again, by who does not know whether it was
    ///   made.
    func change(_ job: JobID, to status: JobStatus, by actor: PersonID, source: String, request: String = "")
        -> EventLoopFuture<Durable<StatusEvent>>
    {
        self.ledger.publishDurably(status, of: job, by: actor, source: source, request: request).flatMap { answer in
            let loop = self.loop
            switch answer.value {
            case .published(let event):
                let event = Durable(value: event, replicas: answer.replicas)
                guard let end = status.endOfTravel else { return loop.makeSucceededFuture(event) }
                return self.close(job, because: end).map { _ in event }
            case .notAllowed(let current):
                return loop.makeFailedFuture(
                    Refused(
                        code: .illegalTransition,
                        message: "The job is \(current.rawValue); it can not become \(status.rawValue) from there.",
                        status: current))
            case .noSuchJob: return loop.makeFailedFuture(Refused.noSuchJob)
            }
        }
    }

    /// - Returns: until when travel mode is on, ms since the epoch.
    func startTravel(_ job: JobID, by rider: PersonID) -> EventLoopFuture<Int64> {
        self.ledger.startTravel(for: job, by: rider).flatMap { travel in
            let loop = self.loop
            switch travel {
            case .on(let deadline):
                return self.feed.open(job, for: rider, until: deadline).flatMapThrowing { isOpen in
                    guard isOpen else { throw Self.timeLimit }
                    return deadline
                }
            case .noSuchJob, .otherRider: return loop.makeFailedFuture(Refused.noSuchJob)
            case .notInStatus(let status):
                let allowed = JobStatus.travelling.map(\.rawValue).joined(separator: " or ")
                return loop.makeFailedFuture(
                    Refused(
                        code: .illegalTransition,
                        message: "Travel mode can be on while the job is \(allowed); it is \(status.rawValue).",
                        status: status))
            case .timeLimit: return loop.makeFailedFuture(Self.timeLimit)
            }
        }
    }

    /// After the live instance lost its memory: travel mode is on again, until the same time, when the ledger says that it
    /// is on for this rider.
    ///
    /// - Returns: whether positions may be published.
    func reopen(_ job: JobID, for rider: PersonID) -> EventLoopFuture<Bool> {
        self.ledger.recover(job).flatMap { recovery in
            guard let record = recovery?.record, record.isTravelling, record.rider == rider,
                record.status.endOfTravel == nil, let deadline = record.travelDeadline
            else { return self.loop.makeSucceededFuture(false) }
            return self.feed.open(job, for: rider, until: deadline, again: true)
        }
    }

    func stopTravel(_ job: JobID, by rider: PersonID) -> EventLoopFuture<Void> {
        self.close(job, of: rider, because: .deactivated).flatMap { closing in
            guard closing != .otherRider else { return self.loop.makeFailedFuture(Refused.noSuchJob) }
            return self.ledger.stopTravel(for: job, by: rider).flatMapThrowing { isTheirs in
                guard isTheirs else { throw Refused.noSuchJob }
            }
        }
    }

    /// Ends a job's positions, and says what that erased.
    func close(
        _ job: JobID, of rider: PersonID? = nil, because reason: EndReason
    ) -> EventLoopFuture<JobFeed.Closing> {
        let onErased = self.onErased
        return self.feed.close(job, of: rider, because: reason).map { closing in
            if case .closed(let erased) = closing, erased > 0 { onErased(job, erased, reason) }
            return closing
        }
    }

    private static let timeLimit = Refused(
        code: .forbidden, message: "The time for which this job's rider may share its position is used up.")

    private var loop: any EventLoop { self.ledger.eventLoop }
}

/// What a follower should have seen by now.
struct JobCheck: Sendable {
    var head: JobLedger.Head
    /// Both instances say that the rider shares its position.
    var isTracking: Bool
    /// The live instance lets positions through that the ledger does not allow: a word to it was lost.
    var isOpenInVain: Bool
    /// The last position as it was published, and its id.
    var position: (id: UInt64, message: [UInt8])?

    init(_ head: JobLedger.Head, _ feed: JobFeed.State) {
        self.head = head
        self.isTracking = feed.isOpen && head.isTravelling
        self.isOpenInVain = feed.isOpen && !head.isTravelling
        guard self.isTracking, let message = feed.position,
            let id = message.withUnsafeBytes({ PublishedLocation.id(of: $0) })
        else { return }
        self.position = (id, message)
    }
}

extension JobView {
    /// - Parameter now: ms since the epoch.
    init(_ recovery: JobLedger.Recovery, _ feed: JobFeed.State, now: Int64) {
        let record = recovery.record
        let id = feed.position.flatMap { $0.withUnsafeBytes { PublishedLocation.id(of: $0) } }
        // A position's id is the time of Redis when it came in, µs.
        let age = id.map { max(0, now - Int64($0 / 1000)) }
        let tracking: TrackingState =
            switch age {
            case _ where record.status.endOfTravel != nil: .ended
            case let age? where feed.isOpen && record.isTravelling: age > JobControl.staleAfter ? .stale : .live
            default: .waiting
            }
        let shows = tracking == .live || tracking == .stale
        self.record = record
        self.isTracking = feed.isOpen && record.isTravelling
        self.isReset = recovery.isReset
        self.positionID = shows ? id : nil
        self.snapshot = Snapshot(
            kind: record.kind, status: record.status, statusAt: record.statusAt, epoch: record.epoch, id: record.head,
            destination: record.destination, tracking: tracking, travelDeadline: record.travelDeadline,
            position: shows ? feed.position : nil, positionAgeMilliseconds: shows ? age : nil, missed: recovery.missed)
    }
}
