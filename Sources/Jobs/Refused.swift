// Why a rule of ours, or a failure of Redis, keeps somebody from what they asked for: one value for WebSocket and REST.

package import EnrouteWire
internal import Redis

/// A refusal with the sentence that goes with it.
package struct Refused: Error {
    package let code: ErrorCode
    package let message: String
    package var status: JobStatus?
    /// Id of the newest status event, where the caller has to know it to go on.
    package var head: StatusID?
    /// What stands in the way of a rider, or for it.
    package var tasks: [JobID] = []
    /// Why it failed on our side: for the log, and for nobody else.
    package var cause: String?

    package static let noSuchJob = Refused(code: .notFound, message: "There is no such job, or it is not yours.")

    /// What a failure of Redis means to a caller.
    package init(_ error: any Error) {
        switch error {
        case let refused as Refused: self = refused
        case let error as RedisError where error.isOutage:
            self.init(code: .unavailable, message: "The service is not available at the moment. Try again shortly.")
        default:
            self.init(code: .internal, message: "An internal error occurred. The gateway's log contains the cause.")
            self.cause = Self.cause(of: error)
        }
    }

    /// For the log: what an error says of itself may repeat what somebody sent, so of others than ours only the type is named.
    package static func cause(of error: any Error) -> String {
        (error as? RedisError)?.withoutArguments ?? "\(type(of: error))"
    }

    package init(code: ErrorCode, message: String, status: JobStatus? = nil) {
        self.code = code
        self.message = message
        self.status = status
    }

    /// The change was to be made on top of another event.
    package init(overtakenBy status: JobStatus, _ head: StatusID) {
        self.init(
            code: .preconditionFailed,
            message: "The job has changed since, it is \(status.rawValue): read it, and ask again if that is right.",
            status: status)
        self.head = head
    }
}
