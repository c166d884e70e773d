// The error responses of the REST interface: problem documents (RFC 9457).

package import Access
package import EnrouteWire
internal import FoundationEssentials
package import HTTPTypes
package import Hummingbird
package import Logging
internal import NIOCore
internal import Telemetry

/// A problem document. A route that throws one responds with it.
package struct Problem: Error, HTTPResponseError {
    package static let mediaType = "application/problem+json"

    /// The maximum length of a request body in bytes.
    package static let maxBodyBytes = 65_536

    package let code: ErrorCode
    package var statusCode: Int
    package let detail: String
    /// The job's current status, if the request conflicts with it.
    package var jobStatus: JobStatus?
    /// The ID of the job's newest status event, if the request expected another one.
    package var jobStatusID: StatusID?
    /// The active tasks that prevent the change.
    package var tasks: [JobID] = []
    /// The time in milliseconds after which the same request may succeed.
    package var retryIn: Int64?
    /// ms since the Unix epoch by the gateway's clock, if the request was refused because of a time in it.
    package var serverTime: Int64?
    /// Headers of the response that belong to the problem. A 401 always has a challenge.
    package var headers: HTTPFields = [:]
    /// The cause of an internal error. It goes to the log and never to the client.
    package var cause: String?
    /// Redis is unavailable, so other requests would fail too.
    package var isOutage = false

    package init(_ code: ErrorCode, status: Int, detail: String) {
        self.code = code
        self.statusCode = status
        self.detail = detail
        if status == 401 { self.headers[.wwwAuthenticate] = Self.invalidTokenChallenge }
    }

    /// The challenge to a request without a token, which names no error (RFC 6750 section 3.1).
    package static let challenge = "Bearer"
    private static let invalidTokenChallenge = #"Bearer error="invalid_token""#

    /// The request has no token: it has no Authorization header, or one with another scheme.
    package init(noTokenIn authorization: String?) {
        let reason =
            if let authorization {
                authorization.presentableScheme.map { "The Authorization scheme \($0) is not accepted here." }
                    ?? "Authorization does not start with Bearer."
            } else {
                "The token is missing."
            }
        self.init(
            .unauthorized, status: 401, detail: "\(reason) Send a token in the header Authorization: Bearer <JWT>.")
        self.headers[.wwwAuthenticate] = Self.challenge
    }

    /// The body has a Content-Encoding (RFC 9110 section 15.5.16).
    package static var compressedBody: Problem {
        var problem = Problem(
            .unsupportedMediaType, status: 415,
            detail:
                "The body has a Content-Encoding, which is not supported. Send it uncompressed, without this header.")
        problem.headers[.acceptEncoding] = "identity"
        return problem
    }

    /// The client sent too many invalid tokens.
    package init(tooManyInvalidTokens wait: Int64) {
        self.init(.rateLimited, status: 429, detail: "Too many invalid tokens from this address. Try again later.")
        self.retryIn = wait
    }

    /// The client sent more requests than its rate limit allows.
    package init(tooManyRequests wait: Int64) {
        self.init(.rateLimited, status: 429, detail: "Too many requests. Try again later.")
        self.retryIn = wait
    }

    package init(_ refusal: TokenRefusal) {
        self.init(
            refusal == .expired ? .tokenExpired : .unauthorized, status: 401,
            detail: "The token was rejected. \(refusal.sentence)")
    }

    package static let revoked = Problem(
        .unauthorized, status: 401, detail: "The token was rejected. It has been revoked.")

    /// A refusal by the router.
    package init(_ status: HTTPResponse.Status) {
        switch status {
        case .notFound: self.init(.notFound, status: 404, detail: "No resource exists at this path. Check the URL.")
        case .contentTooLarge:
            self.init(
                .contentTooLarge, status: 413,
                detail: "The request body is too large. The limit is \(Self.maxBodyBytes) bytes.")
        case _ where status.kind == .serverError:
            self.init(.internal, status: status.code, detail: Self.internalDetail)
        default: self.init(.badRequest, status: status.code, detail: "The request is malformed.")
        }
    }

    /// The detail of every 500. The cause goes to the log only; both name the trace ID.
    package static let internalDetail = "An internal error occurred. The gateway's log contains the cause."

    /// The code as a sentence-case phrase: `rate_limited` is "Rate limited".
    private var title: String {
        let words = self.code.rawValue.split(separator: "_").joined(separator: " ")
        return words.prefix(1).uppercased() + words.dropFirst()
    }

    /// Whether the same request may succeed later. It may if the problem says when.
    package var isRetryable: Bool { self.code.isRetryable || self.retryIn != nil }

    /// - Parameter trace: the trace of the request.
    package func json(_ trace: RequestTrace?) -> [UInt8] {
        struct Document: Encodable {
            var type: String
            var title: String
            var status: Int
            var code: String
            var detail: String
            var instance: String?
            var traceId: String?
            var retryable: Bool
            var jobStatus: String?
            var jobStatusId: String?
            var tasks: [String]?
            var retryInMs: Int64?
            var serverTime: Int64?
        }
        let document = Document(
            type: "urn:enroute:problem:\(self.code.rawValue)",
            title: self.title, status: self.statusCode,
            code: self.code.rawValue, detail: self.detail,
            instance: trace.map { "urn:enroute:trace:\($0.traceID)" }, traceId: trace?.traceID,
            retryable: self.isRetryable, jobStatus: self.jobStatus?.rawValue,
            jobStatusId: self.jobStatusID?.description, tasks: self.tasks.isEmpty ? nil : self.tasks.map(\.text),
            retryInMs: self.retryIn, serverTime: self.serverTime)
        // Encoding cannot fail: the document consists of strings, integers and booleans.
        return (try? JSONDocument.bytes(document)) ?? Array(#"{"code":"internal","retryable":false,"status":500}"#.utf8)
    }

    /// Logs an internal error with its cause. Other problems are the client's and are not logged.
    ///
    /// - Parameters:
    ///   - message: a constant text.
    ///   - logger: the logger of the request; it adds the trace ID that the response contains too.
    package func log(_ message: Logger.Message, _ logger: Logger, route: String? = nil) {
        guard self.code == .internal else { return }
        var metadata: Logger.Metadata = [
            LogKey.status: "\(self.statusCode)", LogKey.reason: "\(self.cause ?? "unknown")",
        ]
        if let route { metadata[LogKey.route] = "\(route)" }
        logger.error(message, metadata: metadata)
    }

    // MARK: HTTPResponseError

    package var status: HTTPResponse.Status { HTTPResponse.Status(code: self.statusCode) }

    package func response(from request: Request, context: some RequestContext) throws -> Response {
        self.log("request failed with an internal error", context.logger, route: context.endpointPath)
        var headers = self.headers
        headers[.contentType] = Self.mediaType
        if let retryIn { headers[.retryAfter] = String((retryIn + 999) / 1000) }
        return Response(
            status: self.status, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: self.json((context as? GatewayRequestContext)?.trace))))
    }
}

extension ErrorCode {
    package var httpStatus: Int {
        switch self {
        case .badRequest: 400
        case .unauthorized, .tokenExpired: 401
        case .forbidden, .travelModeOff: 403
        case .notFound: 404
        case .methodNotAllowed: 405
        case .illegalTransition, .conflict, .activeTask, .riderOffline, .riderBusy, .requestInProgress,
            .otherDevice:
            409
        case .preconditionFailed: 412
        case .contentTooLarge: 413
        case .unsupportedMediaType: 415
        case .stalePosition, .futurePosition, .implausiblePosition, .unprocessable, .destinationUnresolvable,
            .idempotencyKeyReused:
            422
        case .rateLimited, .limitExceeded: 429
        case .internal: 500
        case .unavailable: 503
        }
    }
}
