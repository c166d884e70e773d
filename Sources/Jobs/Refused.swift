// Why a request is refused, by a rule or by a failure of Redis: one value for WebSocket and REST.

package import EnrouteWire
internal import LiveState
internal import Redis

/// A refusal with its error code and message.
package struct Refused: Error {
    package let code: ErrorCode
    package let message: String
    package var status: JobStatus?
    /// Id of the newest status event, if the caller needs it to continue.
    package var head: StatusID?
    /// The tasks that cause the refusal.
    package var tasks: [JobID] = []
    /// The internal cause of a failure: for the log only.
    package var cause: String?
    /// Redis is unavailable, so other requests would fail too.
    package private(set) var isOutage = false

    package static let noSuchJob = Refused(
        code: .notFound, message: "There is no such job, or you have no access to it.")

    package static let changedConcurrently = Refused(
        code: .unavailable, message: "The job is being changed concurrently. Try again.")
    package static let travelModeOff = Refused(
        code: .travelModeOff, message: "Travel mode is off for this job. Switch it on first.")
    package static let otherDevice = Refused(
        code: .otherDevice,
        message: "Another device of this rider reports for this job. Switch travel mode on here to take over.")

    /// Converts a failure of Redis to a refusal.
    package init(_ error: any Error) {
        switch error {
        case let refused as Refused: self = refused
        case let error as RedisError where error.isOutage:
            self.init(code: .unavailable, message: "The service is temporarily unavailable. Try again shortly.")
            self.isOutage = true
        case let error as RedisError where error.isMalformedData || error.isUnexpectedAnswer:
            self.init(
                code: .internal,
                message: "Redis holds malformed data that this request needs. The gateway's log contains the cause.")
            self.cause = Self.cause(of: error)
        case let error as AuditStreams.NotAStream:
            self.init(code: .internal, message: "\(error)")
            self.cause = "\(error)"
        default:
            self.init(code: .internal, message: "An internal error occurred. The gateway's log contains the cause.")
            self.cause = Self.cause(of: error)
        }
    }

    /// For the log. The description of an error may repeat user input, so only the type of an error that is not
    /// Enroute's is logged.
    package static func cause(of error: any Error) -> String {
        (error as? RedisError)?.withoutArguments ?? "\(type(of: error))"
    }

    package init(code: ErrorCode, message: String, status: JobStatus? = nil) {
        self.code = code
        self.message = message
        self.status = status
    }

    /// The lifecycle does not allow the change, or does not allow it to this party. The message names what is allowed
    /// instead.
    init(_ current: JobStatus, cannotBecome status: JobStatus, by party: JobParty) {
        let what = "The job is \(current.rawValue) and cannot become \(status.rawValue)"
        let message =
            if status.predecessors.contains(current) {
                "\(what) by the role \(party.rawValue), which may set it from "
                    + "\(Self.origins(of: status, by: party, like: current)). Now these roles may: "
                    + "\(Self.parties(setting: status, from: current))."
            } else if current.successors.isEmpty {
                "\(what): \(current.rawValue) is final."
            } else {
                "\(what). It can become \(current.successors.map(\.rawValue).joined(separator: ", "))."
            }
        self.init(code: .illegalTransition, message: message, status: current)
    }

    /// The statuses from which the party may set `status`, for the kind of job that has the status `current`.
    private static func origins(of status: JobStatus, by party: JobParty, like current: JobStatus) -> String {
        let ofKind = JobKind.allCases.filter { $0.statuses.contains(current) }.flatMap(\.statuses)
        return status.origins(causedBy: party).filter(ofKind.contains).map(\.rawValue).joined(separator: ", ")
    }

    private static func parties(setting status: JobStatus, from current: JobStatus) -> String {
        let parties = JobParty.allCases.filter { status.origins(causedBy: $0).contains(current) }
        return parties.map(\.rawValue).joined(separator: ", ")
    }

    /// The change was based on an event that is not the newest.
    package init(overtakenBy status: JobStatus, _ head: StatusID) {
        self.init(
            code: .preconditionFailed,
            message:
                "The job has changed and is now \(status.rawValue). Read it, then repeat the request if it still applies.",
            status: status)
        self.head = head
    }

    /// The change was based on a state that no job can have. The job may be unchanged, so reading it again does not help.
    package init(impossibleIfMatchFor status: JobStatus, _ head: StatusID) {
        self.init(
            code: .preconditionFailed,
            message:
                "If-Match is not the ETag of any job. Send the job's ETag unchanged and without W/, or the ID of its "
                + "newest status in quotes.",
            status: status)
        self.head = head
    }

    /// - Parameter expected: the event on which the change was based.
    init(expected: ExpectedHead?, butIs status: JobStatus, _ head: StatusID) {
        self =
            expected == .never
            ? Refused(impossibleIfMatchFor: status, head) : Refused(overtakenBy: status, head)
    }
}
