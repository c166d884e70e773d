// What a peer is told when something is not right: one code for each thing it can act on.

/// `code` of the message `error` and of a problem document (RFC 9457).
public enum ErrorCode: String, Error, Sendable, CaseIterable {
    case badRequest = "bad_request"
    case unauthorized
    case tokenExpired = "token_expired"
    /// The job does not exist, or it is not this person's: the answer is the same.
    case notFound = "not_found"
    case forbidden
    case limitExceeded = "limit_exceeded"
    case rateLimited = "rate_limited"
    case illegalTransition = "illegal_transition"
    /// The rider has a task, and stays online until it is done.
    case activeTask = "active_task"
    /// The rider gets no task: it is offline, silent, or not approved.
    case riderOffline = "rider_offline"
    /// The rider has as many tasks as it may have.
    case riderBusy = "rider_busy"
    case travelModeOff = "travel_mode_off"
    case stalePosition = "stale_position"
    case futurePosition = "future_position"
    /// Nobody can be there, or the reading says too little to be shown.
    case implausiblePosition = "implausible_position"
    /// REST: it exists, or somebody else has it.
    case conflict
    /// REST: the state is another than the one the change was asked for on top of.
    case preconditionFailed = "precondition_failed"
    /// REST: the body is JSON, and says what can not be.
    case unprocessable
    /// REST: the Idempotency-Key was used for something else before.
    case idempotencyKeyReused = "idempotency_key_reused"
    /// REST: the same request, under the same Idempotency-Key, is being carried out.
    case requestInProgress = "request_in_progress"
    /// REST: the path exists, and not for this method.
    case methodNotAllowed = "method_not_allowed"
    /// REST: the body is longer than it may be.
    case contentTooLarge = "content_too_large"
    /// REST: the body is of a kind that this path does not take.
    case unsupportedMediaType = "unsupported_media_type"
    /// REST: where the job begins or ends is not known well enough to send anybody there.
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

/// Close codes of a WebSocket (RFC 6455 section 7.4). Of those of ours 4000 to 4499 reconnect and 4500 to 4999 do not, without
/// exception.
public enum CloseCode: UInt16, Sendable, CaseIterable {
    case normal = 1000
    case protocolError = 1002
    case unsupportedData = 1003
    case invalidText = 1007
    case messageTooBig = 1009
    case internalError = 1011
    case goingAway = 4000
    case noPong = 4001
    case slowConsumer = 4002
    /// Who signs in cannot be looked up at the moment.
    case insufficientState = 4003
    case overloaded = 4004
    case tokenExpired = 4005
    case rateLimited = 4006
    /// Whoever signs in at once was held up: by Redis, by the issuer of keys, by the network.
    case signInTimeout = 4008
    /// The session too many may be the client's own, of a network that it has left.
    case connectionLimit = 4009
    case invalidToken = 4500
    case forbidden = 4502
    case unsupportedVersion = 4503
    case tooManyBadRequests = 4505
    /// Another device took over: two that both came back would throw each other out for ever.
    case replaced = 4506

    /// Whether a client comes back by itself.
    public var reconnects: Bool {
        switch self.rawValue {
        case Self.internalError.rawValue, 4000...4499: true
        default: false
        }
    }
}
