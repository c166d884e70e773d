// Requests under an Idempotency-Key: the first is carried out, and whoever repeats it (method, path and body byte for byte, by
// the same person in the same role) gets the first answer for 24 h. Kept is what was decided: 2xx, 403, 404, 409. Not kept is
// what was never tried (400, 412, 413, 422), what may succeed later (429, 5xx), and 202, which says that a failover may lose
// what was done: the same request acts again then, and finds what is there.

internal import Access
internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import Jobs
internal import LiveState
internal import NIOCore
internal import Synchronization

/// One try at a request.
struct RequestAttempt: Sendable {
    /// The Idempotency-Key; empty where the request has none.
    var key = ""
    /// The same was asked for before, and what became of it is not known.
    var isRepeat = false
}

extension Routes {
    /// Carries a request out, once where it carries a key.
    ///
    /// - Parameters:
    ///   - grant: who asks. Whether they may is not repeated for a kept answer, so it is asked before.
    ///   - hasSecret: the answer holds one: it is kept encrypted under the key, which must be hard to guess then.
    ///   - act: does it; gets the request with its body read.
    func once(
        _ request: Request, _ context: GatewayRequestContext, by grant: Grant, hasSecret: Bool = false,
        _ act: (Request, RequestAttempt) async throws -> Response
    ) async throws -> Response {
        let text = try Self.requestID(request)
        guard !text.isEmpty else { return try await act(request, RequestAttempt()) }
        guard !hasSecret || text.utf8.count >= IdempotencyRecords.shortestSecretKey else {
            throw Self.bad(
                "Idempotency-Key must be at least \(IdempotencyRecords.shortestSecretKey) random characters for this "
                    + "request, for example a UUID. The response contains a secret and is stored encrypted under the key."
            )
        }
        var request = request
        let body = try await request.body.collect(upTo: Self.maxBodyBytes)
        request.body = RequestBody(buffer: body)
        let key = IdempotencyRecords.Key(text, of: grant.person, role: grant.role.rawValue)
        let question = Array("\(request.method.rawValue) \(request.uri.path)\n".utf8) + Array(body.readableBytesView)
        switch try await self.answer(self.requests.claim(key, for: question)) {
        case .otherRequest: throw Problem(Refused.otherRequest)
        case .inProgress: throw Problem.inProgress
        case .answered(let answer):
            guard let answer = StoredResponse(json: answer) else { throw Problem(Refused.unreadableAnswer) }
            return answer.response
        case .claimed(let claim):
            let attempt = RequestAttempt(key: text, isRepeat: claim.isRepeat)
            return try await self.carryOut(request, context, claim, key, attempt, act)
        }
    }

    private func carryOut(
        _ request: Request, _ context: GatewayRequestContext, _ claim: IdempotencyRecords.Claim,
        _ key: IdempotencyRecords.Key, _ attempt: RequestAttempt,
        _ act: (Request, RequestAttempt) async throws -> Response
    ) async throws -> Response {
        var response: Response
        var outcome: IdempotencyRecords.Outcome = .unresolved
        do {
            response = try await act(request, attempt)
        } catch let problem as Problem {
            guard problem.isDecided else {
                // Of a repeat nobody knows what the first try did.
                outcome = problem.isUntried && !attempt.isRepeat ? .unused : .unresolved
                await self.settle(claim, of: key, as: outcome)
                throw problem
            }
            response = try problem.response(from: request, context: context)
        } catch {
            await self.settle(claim, of: key, as: .unresolved)
            throw error
        }
        // What no replica is known to have is not the last word.
        if response.status != .accepted {
            let answer = try await StoredResponse(&response)
            // One that cannot be written stays open: it is asked for again, and never answered by nothing.
            if let bytes = try? JSONDocument.bytes(answer) { outcome = .answered(bytes) }
        }
        await self.settle(claim, of: key, as: outcome)
        return response
    }

    /// What was done is done, and is answered: a claim that cannot be settled runs out by itself.
    private func settle(
        _ claim: IdempotencyRecords.Claim, of key: IdempotencyRecords.Key, as outcome: IdempotencyRecords.Outcome
    ) async {
        try? await self.requests.settle(claim, of: key, as: outcome).get()
    }
}

/// An answer as it is kept: all of it but what every answer has of its own, such as its trace.
struct StoredResponse: Codable, Equatable {
    private var status: Int
    /// Names and values, in order.
    private var headers: [[String]]
    private var body: [UInt8]

    /// - Parameter response: its body is read, and is the same afterwards.
    init(_ response: inout Response) async throws {
        let collected = CollectedBody()
        try await response.body.write(collected)
        self.status = response.status.code
        self.headers = response.headers.map { [$0.name.rawName, $0.value] }
        self.body = collected.bytes
        response.body = ResponseBody(byteBuffer: ByteBuffer(bytes: self.body))
    }

    /// - Returns: `nil` if the bytes are not a stored answer.
    init?(json: [UInt8]) {
        guard let answer = JSONDocument.value(StoredResponse.self, of: json), (200...599).contains(answer.status)
        else { return nil }
        self = answer
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

    /// Answers of REST are UTF-8.
    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(self.status, forKey: .status)
        try members.encode(self.headers, forKey: .headers)
        try members.encode(String(decoding: self.body, as: UTF8.self), forKey: .body)
    }
}

/// Takes what would go to a socket.
private final class CollectedBody: ResponseBodyWriter {
    private let collected = Mutex<[UInt8]>([])

    var bytes: [UInt8] { self.collected.withLock { $0 } }

    func write(_ buffer: ByteBuffer) async throws { self.collected.withLock { $0 += buffer.readableBytesView } }
    func finish(_ trailingHeaders: HTTPFields?) async throws {}
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

    /// The same request would not be answered otherwise a moment later.
    fileprivate var isDecided: Bool { !self.isRetryable && [403, 404, 409].contains(self.statusCode) }

    /// It says that nothing was done.
    fileprivate var isUntried: Bool { [400, 412, 413, 422].contains(self.statusCode) }
}

extension Refused {
    fileprivate static let unreadableAnswer = Refused(
        code: .internal, message: Problem.internalDetail)
}
