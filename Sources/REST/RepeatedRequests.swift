// Requests with an Idempotency-Key. The first request is executed. If the same user in the same role repeats it within
// 24 h, with the same method, path and body, it gets the stored response to the first request. A token or a link that
// is limited to other jobs has its own keys: it never gets a secret that was issued to a token with more permissions.
//
// A refusal (4xx), a ticket and a sign-in code are stored for ten minutes only. A refused request has changed nothing,
// and anyone with a token can cause refusals and codes as often as the rate limit allows.
//
// A success that changed nothing is stored for 24 h like any other. If it were executed again, it could change
// something by then, and its caller would get a response about another state than the first time.
//
// Only final responses are stored: 2xx, 403, 404 and 409. Not stored are refusals before the request was executed (400,
// 412, 413, 422), temporary errors (429, 5xx), and 202. A 202 means that a failover may lose the change, so a repeat is
// executed again and finds the change if it still exists.

internal import Access
internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import Jobs
internal import LiveState
internal import NIOCore
internal import Synchronization

/// One attempt to execute a request.
struct RequestAttempt: Sendable {
    /// The Idempotency-Key; empty if the request has none.
    var key = ""
    /// Whether the request was attempted before with unknown outcome.
    var isRepeat = false
}

extension Routes {
    /// Executes a request; only once if it has an Idempotency-Key.
    ///
    /// - Parameters:
    ///   - grant: the caller. Access must be checked before, because a stored response is returned without further checks.
    ///   - hasSecret: whether the response contains a secret. It is stored encrypted under the key, so the key must be hard to
    ///     guess.
    ///   - isShortLived: whether the response is useless after `IdempotencyRecords.briefRetention`.
    ///   - execution: executes the request, whose body has been read.
    func executeOnce(
        _ request: Request, _ context: GatewayRequestContext, by grant: Grant, hasSecret: Bool = false,
        isShortLived: Bool = false,
        _ execution: (Request, RequestAttempt) async throws -> Response
    ) async throws -> Response {
        let text = try Self.requestID(request)
        guard !text.isEmpty else { return try await execution(request, RequestAttempt()) }
        guard !hasSecret || text.utf8.count >= IdempotencyRecords.minSecretKeyLength else {
            throw Self.badRequest(
                "Idempotency-Key must be at least \(IdempotencyRecords.minSecretKeyLength) random characters for this "
                    + "request, for example a UUID. The response contains a secret and is stored encrypted under the key."
            )
        }
        var request = request
        let body = try await Self.bodyBytes(of: request)
        request.body = RequestBody(buffer: body)
        let key = IdempotencyRecords.Key(
            text, of: grant.person, role: grant.role.rawValue, limits: grant.limitsOfKeys)
        let fingerprint = Array("\(request.method.rawValue) \(request.uri.path)\n".utf8) + Array(body.readableBytesView)
        switch try await self.result(of: self.requests.claim(key, for: fingerprint)) {
        case .otherRequest: throw Problem(Refused.otherRequest)
        case .inProgress: throw Problem.inProgress
        case .answered(let bytes):
            guard let stored = StoredResponse(json: bytes) else { throw Problem(Refused.unreadableResponse) }
            return stored.response
        case .claimed(let claim):
            let attempt = RequestAttempt(key: text, isRepeat: claim.isRepeat)
            return try await self.execute(request, context, claim, key, isShortLived, attempt, execution)
        }
    }

    private func execute(
        _ request: Request, _ context: GatewayRequestContext, _ claim: IdempotencyRecords.Claim,
        _ key: IdempotencyRecords.Key, _ isShortLived: Bool, _ attempt: RequestAttempt,
        _ execution: (Request, RequestAttempt) async throws -> Response
    ) async throws -> Response {
        var response: Response
        var outcome: IdempotencyRecords.Outcome = .unresolved
        do {
            response = try await execution(request, attempt)
        } catch let problem as Problem {
            guard problem.isFinal else {
                // After a repeat, the key stays open, because the first attempt may have made the change.
                outcome = problem.isNotExecuted && !attempt.isRepeat ? .unused : .unresolved
                await self.settle(claim, of: key, as: outcome)
                throw problem
            }
            response = try problem.response(from: request, context: context)
        } catch {
            await self.settle(claim, of: key, as: .unresolved)
            throw error
        }
        // A 202 is not final, because no replica has confirmed the change.
        if response.status != .accepted {
            let stored = try await StoredResponse(&response)
            // If the response cannot be encoded, the key stays open and a repeat is executed again.
            if let bytes = try? JSONDocument.bytes(stored) {
                outcome = .answered(bytes, isBrief: isShortLived || response.status.kind != .successful)
            }
        }
        await self.settle(claim, of: key, as: outcome)
        return response
    }

    /// Settles the claim of a key. Errors are ignored, because the request has been executed and needs its response.
    /// After an outage, the claim is settled in the background.
    private func settle(
        _ claim: IdempotencyRecords.Claim, of key: IdempotencyRecords.Key, as outcome: IdempotencyRecords.Outcome
    ) async {
        try? await self.requests.settle(claim, of: key, as: outcome).get()
    }
}

/// A stored response. It excludes headers that are added to each response, such as the trace.
struct StoredResponse: Codable, Equatable {
    private var status: Int
    /// Pairs of name and value, in order.
    private var headers: [[String]]
    private var body: [UInt8]

    /// - Parameter response: the response to store. Its body is read and replaced by an equal one.
    init(_ response: inout Response) async throws {
        let collected = CollectedBody()
        try await response.body.write(collected)
        self.status = response.status.code
        self.headers = response.headers.map { [$0.name.rawName, $0.value] }
        self.body = collected.bytes
        response.body = ResponseBody(byteBuffer: ByteBuffer(bytes: self.body))
    }

    /// - Returns: `nil` if the bytes are not a stored response.
    init?(json: [UInt8]) {
        guard let stored = JSONDocument.value(StoredResponse.self, of: json), (200...599).contains(stored.status)
        else { return nil }
        self = stored
    }

    var response: Response {
        var headers = HTTPFields()
        for pair in self.headers where pair.count == 2 {
            guard let name = HTTPField.Name(pair[0]) else { continue }
            headers.append(HTTPField(name: name, value: pair[1]))
        }
        return Response(
            status: HTTPResponse.Status(code: self.status), headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: self.body)))
    }

    private enum CodingKeys: String, CodingKey { case status, headers, body }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self.status = try members.decode(Int.self, forKey: .status)
        self.headers = try members.decode([[String]].self, forKey: .headers)
        self.body = Array(try members.decode(String.self, forKey: .body).utf8)
    }

    /// Encodes the body as a string, because all responses of the REST interface are UTF-8.
    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(self.status, forKey: .status)
        try members.encode(self.headers, forKey: .headers)
        try members.encode(String(decoding: self.body, as: UTF8.self), forKey: .body)
    }
}

/// Collects a response body in memory.
private final class CollectedBody: ResponseBodyWriter {
    private let collected = Mutex<[UInt8]>([])

    var bytes: [UInt8] { self.collected.withLock { $0 } }

    func write(_ buffer: ByteBuffer) async throws { self.collected.withLock { $0 += buffer.readableBytesView } }
    func finish(_ trailingHeaders: HTTPFields?) async throws {}
}

extension Grant {
    /// The limits of the grant, which are part of the identity of an idempotency key. A new token with the same limits
    /// has the same keys.
    fileprivate var limitsOfKeys: [String] {
        [("job", self.job?.text), ("rider", self.rider?.text), ("link", self.link)].compactMap { name, value in
            value.map { "\(name)=\($0)" }
        }
    }
}

extension Problem {
    fileprivate static let progressRetryMilliseconds: Int64 = 1000

    fileprivate static var inProgress: Problem {
        var problem = Problem(
            .requestInProgress, status: 409,
            detail: "The same request is still being processed. Send it again to get its response.")
        problem.retryIn = Self.progressRetryMilliseconds
        return problem
    }

    /// Whether the problem is final, so that the same request would get the same response later.
    fileprivate var isFinal: Bool { !self.isRetryable && [403, 404, 409].contains(self.statusCode) }

    /// Whether the request was refused before it was executed.
    fileprivate var isNotExecuted: Bool { [400, 412, 413, 422].contains(self.statusCode) }
}

extension Refused {
    fileprivate static let unreadableResponse = Refused(
        code: .internal, message: Problem.internalDetail)
}
