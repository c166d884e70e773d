// Why a request failed: one type for the socket and REST.

/// Why the gateway refused a request, or why it could not be reached.
public struct EnrouteError: Error, Hashable, Sendable {
    /// An error code of the protocol, or one of this client. The type is open, so that it can represent codes of newer
    /// gateways.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        public static let badRequest = Code(rawValue: "bad_request")
        public static let unauthorized = Code(rawValue: "unauthorized")
        public static let tokenExpired = Code(rawValue: "token_expired")
        /// The job does not exist, or this person has no access to it. Both have the same code.
        public static let notFound = Code(rawValue: "not_found")
        public static let forbidden = Code(rawValue: "forbidden")
        public static let conflict = Code(rawValue: "conflict")
        public static let limitExceeded = Code(rawValue: "limit_exceeded")
        public static let rateLimited = Code(rawValue: "rate_limited")
        public static let illegalTransition = Code(rawValue: "illegal_transition")
        public static let travelModeOff = Code(rawValue: "travel_mode_off")
        /// Another device of the rider reports for the job.
        public static let otherDevice = Code(rawValue: "other_device")
        public static let stalePosition = Code(rawValue: "stale_position")
        public static let futurePosition = Code(rawValue: "future_position")
        public static let implausiblePosition = Code(rawValue: "implausible_position")
        /// The rider has a task that must be finished or returned first; see `tasks`.
        public static let activeTask = Code(rawValue: "active_task")
        public static let preconditionFailed = Code(rawValue: "precondition_failed")
        public static let unprocessable = Code(rawValue: "unprocessable")
        public static let revoked = Code(rawValue: "revoked")
        public static let unsupportedVersion = Code(rawValue: "unsupported_version")
        /// The gateway cannot reach Redis.
        public static let unavailable = Code(rawValue: "unavailable")
        public static let `internal` = Code(rawValue: "internal")
        /// The gateway could not be reached, or did not answer in time.
        public static let network = Code(rawValue: "network")
        /// The task that waited for the answer was cancelled. The request may or may not have been executed.
        public static let cancelled = Code(rawValue: "cancelled")
        /// The app read status events too slowly, so they no longer fitted into the buffer.
        public static let slowConsumer = Code(rawValue: "slow_consumer")
    }

    public let code: Code
    /// A sentence for developers.
    public let message: String
    /// Whether the same request may succeed later.
    public let isRetryable: Bool
    /// When it may succeed, if the gateway specified it.
    public let retryAfter: Duration?
    /// With `activeTask`: the rider's active tasks.
    public let tasks: [JobID]
    /// The validation result of a rejected location.
    public let reason: String?
    /// With `illegalTransition` and `preconditionFailed`: the current status.
    public let jobStatus: JobStatus?
    /// The status of an HTTP response.
    public let httpStatus: Int?
    /// The gateway's time in ms since the epoch, if the time in the request caused the error.
    var serverTime: Double?

    public init(
        _ code: Code, _ message: String, isRetryable: Bool = false, retryAfter: Duration? = nil, tasks: [JobID] = [],
        reason: String? = nil, jobStatus: JobStatus? = nil, httpStatus: Int? = nil
    ) {
        (self.code, self.message, self.isRetryable, self.retryAfter) = (code, message, isRetryable, retryAfter)
        (self.tasks, self.reason, self.jobStatus, self.httpStatus) = (tasks, reason, jobStatus, httpStatus)
    }

    static func invalidZone(_ zone: String) -> EnrouteError {
        EnrouteError(.badRequest, "\(zone.debugDescription) is not a zone. Use 1 to 64 letters, digits, _ and -.")
    }

    static let invalidCursor = EnrouteError(
        .badRequest, "This cursor does not come from a gateway. Pass one that an event contained, unchanged.")

    static let cancelled = EnrouteError(
        .cancelled, "The task was cancelled before the answer. The request may have been executed or not.")

    static func unreachable(_ message: String) -> EnrouteError { EnrouteError(.network, message, isRetryable: true) }
}

extension EnrouteError: CustomStringConvertible {
    public var description: String { "\(self.message) (\(self.code.rawValue))" }
}
