// What a ReportQueue receives and returns: reports, the results of publishing them, and the decisions.

internal import EnrouteWire
internal import LiveState
internal import Tracking

extension ReportQueue {
    /// The data for the answer to a report.
    struct Answer: Hashable, Sendable {
        var job: JobID
        var sequence: Int64
        var ref: MessageRef?
    }

    /// One position to publish.
    struct Report: Hashable, Sendable {
        var answer: Answer
        var fix: Fix
        /// ms since the epoch.
        var receivedAt: Int64
        /// The report was published before, and it is unknown whether Redis accepted it.
        var isRepeat = false

        var job: JobID { self.answer.job }
    }

    /// What to do with a report that has been validated.
    enum Decision: Hashable, Sendable {
        /// - Parameter replaces: an older report was queued and will not be published.
        case publish(Report, replaces: Bool)
        /// - Parameters:
        ///   - timer: set a timer for this many ns; `nil` if one is set already.
        ///   - replaces: an older report was queued and will not be published.
        case wait(timer: UInt64?, replaces: Bool)
        /// Answer `ok`.
        case accept(Answer)
        case refuse(Answer, FixRefusal)
        /// The reports of too many other jobs are queued.
        case refuseTooMany(Answer)
        /// The answer to the queued report covers this one.
        case covered
    }

    /// The result of publishing a report.
    enum Outcome: Hashable, Sendable {
        case accepted(listeners: Int)
        /// Redis has a position with the same or a later time.
        case notNewer
        case future
        /// Travel mode is off, or another rider is sharing its position.
        case notShared
        /// Another device of this rider reports.
        case otherDevice
        /// Redis does not know the job.
        case unknown
        /// After `unknown`: whether travel mode could be opened again.
        case reopened(Bool)
        /// ms since the epoch.
        case timeLimitReached(since: Int64)
        /// Redis did not answer.
        case noAnswer
    }

    /// What to do with a report after it was published, or could not be.
    enum Settlement: Hashable, Sendable {
        /// Answer `ok`.
        ///
        /// - Parameter listeners: the number of connections that received the position; `nil` if Redis had already accepted it
        ///   before.
        case accept(listeners: Int?)
        /// Redis has newer information than this gateway: refuse the report, and correct the validator.
        case overrule(FixRefusal)
        /// - Parameter notifiesRider: the rider has not been notified yet.
        case endTravel(since: Int64, notifiesRider: Bool)
        /// Open travel mode again in the live instance.
        case reopen
        case publish(Report)
        /// - Parameter timer: as in `Decision.wait`.
        case buffer(timer: UInt64?)
        case refuseTooMany
        /// A newer report is queued, and its answer covers this one.
        case covered
    }
}

extension ReportQueue.Outcome {
    init(_ verdict: LocationPublisher.Verdict) {
        self =
            switch verdict {
            case .accepted(_, let listeners): .accepted(listeners: listeners)
            case .stale: .notNewer
            case .future: .future
            case .travelModeOff, .otherRider: .notShared
            case .otherDevice: .otherDevice
            case .unknown: .unknown
            case .timeLimit(let deadline): .timeLimitReached(since: deadline)
            }
    }
}
