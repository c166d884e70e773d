// The error codes and close codes: one for each condition that a client can handle.

/// The `code` of the message `error` and of problem documents (RFC 9457).
public enum ErrorCode: String, Error, Sendable, CaseIterable {
    case badRequest = "bad_request"
    case unauthorized
    case tokenExpired = "token_expired"
    /// The job does not exist, or this person may not see it. Both get the same code, so it does not reveal which.
    case notFound = "not_found"
    case forbidden
    case limitExceeded = "limit_exceeded"
    case rateLimited = "rate_limited"
    case illegalTransition = "illegal_transition"
    /// The rider has an active task and must stay online.
    case activeTask = "active_task"
    /// The rider is offline, unreachable or not approved, and therefore cannot get a task.
    case riderOffline = "rider_offline"
    /// The rider has as many tasks as their capacity allows.
    case riderBusy = "rider_busy"
    case travelModeOff = "travel_mode_off"
    /// Another device of this rider reports for the job.
    case otherDevice = "other_device"
    case stalePosition = "stale_position"
    case futurePosition = "future_position"
    /// The fix is implausible, or too inaccurate.
    case implausiblePosition = "implausible_position"
    /// REST: it exists already, belongs to another rider, or was revoked.
    case conflict
    /// REST: the current state is not the one that the request names.
    case preconditionFailed = "precondition_failed"
    /// REST: the body is well-formed JSON with invalid values.
    case unprocessable
    /// REST: the Idempotency-Key was used for another request.
    case idempotencyKeyReused = "idempotency_key_reused"
    /// REST: the same request with the same Idempotency-Key is being carried out.
    case requestInProgress = "request_in_progress"
    /// REST: the path does not support this method.
    case methodNotAllowed = "method_not_allowed"
    /// REST: the body is too long.
    case contentTooLarge = "content_too_large"
    /// REST: the path does not accept this media type.
    case unsupportedMediaType = "unsupported_media_type"
    /// REST: the location is not known well enough to send a rider there.
    case destinationUnresolvable = "destination_unresolvable"
    case unavailable
    case `internal`

    /// Whether the same message may succeed later.
    public var isRetryable: Bool {
        switch self {
        case .rateLimited, .unavailable, .internal, .requestInProgress: true
        default: false
        }
    }
}

/// Close codes of a WebSocket (RFC 6455 section 7.4). Clients reconnect after 4000 to 4499 and do not after 4500 to
/// 4999, without exception.
public enum CloseCode: UInt16, Sendable, CaseIterable {
    /// Ends an event stream that has nothing more to send. A gateway does not close a WebSocket with it, but some proxies
    /// do when they restart.
    case normal = 1000
    case protocolError = 1002
    case unsupportedData = 1003
    case invalidText = 1007
    case messageTooBig = 1009
    case internalError = 1011
    case goingAway = 4000
    case noPong = 4001
    case slowConsumer = 4002
    /// The credential cannot be checked at the moment.
    case insufficientState = 4003
    case overloaded = 4004
    case tokenExpired = 4005
    case rateLimited = 4006
    /// A client that signed in immediately was delayed by Redis, by the issuer of keys or by the network.
    case signInTimeout = 4008
    /// The limit may include the client's own earlier session, on a network that it has left.
    case connectionLimit = 4009
    case invalidToken = 4500
    case forbidden = 4502
    case unsupportedVersion = 4503
    case tooManyBadRequests = 4505
    /// Another device took over. If both devices reconnected, they would close each other's session forever.
    case replaced = 4506

    /// Whether a client reconnects after a close code, listed or not: 4500 to 4999 mean that it does not.
    public static func reconnects(after code: UInt16) -> Bool { !(4500...4999).contains(code) }
}
