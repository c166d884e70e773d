// Helpers that all routes share: authentication and authorization, decoding of bodies and parameters, conversion of Redis
// errors, and encoding of responses.

package import Access
package import EnrouteWire
internal import FoundationEssentials
package import HTTPTypes
package import HTTPValues
package import Hummingbird
internal import Jobs
internal import LiveState
package import NIOCore
internal import Realtime
internal import Redis
internal import TrafficControl

extension Routes {
    func view(_ job: JobID, _ grant: Grant) async throws -> JobView {
        try await self.shown(self.jobs.view(job), job, grant)
    }

    /// Returns the state of a job that the request has changed, even while the live instance is unavailable.
    func viewAfterChange(of job: JobID, _ grant: Grant) async throws -> JobView {
        try await self.shown(self.jobs.viewAfterChange(of: job), job, grant)
    }

    private func shown(_ view: EventLoopFuture<JobView?>, _ job: JobID, _ grant: Grant) async throws -> JobView {
        guard let view = try await self.result(of: view),
            grant.reaches(job, customer: view.record.customer, rider: view.record.rider),
            !self.revocations.hides(job, from: grant.role)
        else { throw Problem(Refused.noSuchJob) }
        var shown = try await self.isRevocationStateStale() ? view.withoutPosition : view
        shown.snapshot = shown.snapshot(for: grant.role)
        return shown
    }

    /// Returns the job in the path. If the token is restricted to another job, or the job is revoked, the response is
    /// the same as for a job that does not exist.
    func job(_ context: GatewayRequestContext, _ grant: Grant) throws -> JobID {
        let job: JobID = try Self.identifier(context.parameters.require("job"), "job")
        guard grant.covers(job), !self.revocations.hides(job, from: grant.role) else {
            throw Problem(Refused.noSuchJob)
        }
        return job
    }

    /// Authenticates the caller and checks its rate limit and permission.
    package func grant(_ request: Request, _ context: GatewayRequestContext, _ verb: Verb) throws -> Grant {
        let authorization = request.headers[.authorization]
        guard let header = authorization, header.hasScheme("bearer") else {
            throw Problem(noTokenIn: authorization)
        }
        // A token is signed, so it is verified even during a lockout.
        let attempt = try self.attempt(request, context) { self.settings.tokens.knows(bearer: header) }
        let grant: Grant
        do throws(TokenRefusal) {
            grant = try self.settings.tokens.verify(bearer: header, now: WallClock.nowMilliseconds / 1000)
        } catch {
            // An expired token is not a guess, and its owner has to learn that a new one is needed.
            if error != .expired {
                if let problem = self.problem(ofFailed: attempt) { throw problem }
                let (loops, loop) = (self.loops, context.channel.eventLoop)
                loop.execute { loops[loop].log(error) }
            }
            throw Problem(error)
        }
        guard !self.revocations.isRevoked(grant) else { throw Problem.revoked }
        // Services have no rate limit, because they act on behalf of all users.
        if grant.role != .service {
            let now = NIODeadline.now().uptimeNanoseconds
            let wait = self.quotas.requestDelay(of: SessionOwner(grant), at: now)
            context.allowance.current = self.quotas.requestAllowance(of: SessionOwner(grant), at: now)
            if let wait { throw Problem(tooManyRequests: wait) }
        }
        guard grant.allows(verb) else {
            throw Problem(.forbidden, status: 403, detail: Self.reason(whyNot: verb, for: grant))
        }
        return grant
    }

    /// Whether the role itself or only the limit of the token forbids it.
    private static func reason(whyNot verb: Verb, for grant: Grant) -> String {
        var unlimited = grant
        (unlimited.job, unlimited.rider) = (nil, nil)
        guard unlimited.allows(verb) else { return "The role \(grant.role.rawValue) is not allowed to do this." }
        let limits = [grant.job.map { "the job \($0)" }, grant.rider.map { "the rider \($0)" }].compactMap(\.self)
        return "The token is limited to \(limits.joined(separator: " and ")). This needs a token without that limit."
    }

    /// Reads the body.
    ///
    /// - Throws: 415 if it has a content coding, and 413 if it is too long.
    static func bodyBytes(of request: Request) async throws -> ByteBuffer {
        let codings = request.headers[values: .contentEncoding].flatMap { $0.split(separator: ",") }
        guard codings.allSatisfy({ $0.trimmed.lowercased() == "identity" }) else { throw Problem.compressedBody }
        return try await request.body.collect(upTo: Self.maxBodyBytes)
    }

    /// Decodes the body.
    ///
    /// - Throws: 400 for malformed JSON (also if it is not UTF-8 or has duplicate members) or a number that does not fit into
    ///   64 bits, and 422 for well-formed JSON with missing or invalid members.
    package func body<Body: Decodable>(
        _ type: Body.Type, _ request: Request, _ context: GatewayRequestContext
    ) async throws -> Body {
        try Self.decode(type, try await Self.bodyBytes(of: request))
    }

    /// Decodes a body that may be missing.
    ///
    /// - Throws: as `body`.
    /// - Returns: `nil` for a request without a body.
    func optionalBody<Body: Decodable>(
        _ type: Body.Type, _ request: Request, _ context: GatewayRequestContext
    ) async throws -> Body? {
        let bytes = try await Self.bodyBytes(of: request)
        return bytes.readableBytes == 0 ? nil : try Self.decode(type, bytes)
    }

    private static func decode<Body: Decodable>(_ type: Body.Type, _ bytes: ByteBuffer) throws -> Body {
        guard bytes.readableBytes > 0 else { throw Self.badRequest("The request has no body. It needs a JSON object.") }
        do throws(StrictJSON.Fault) { try StrictJSON.check(bytes.readableBytesView) } catch {
            throw Self.badRequest(error.reason("The body"))
        }
        do {
            return try JSONDecoder().decode(type, from: Data(bytes.readableBytesView))
        } catch let DecodingError.keyNotFound(key, place) {
            throw Self.unprocessable("The body must contain \((place.codingPath + [key]).memberPath).")
        } catch let DecodingError.typeMismatch(_, place) where !place.codingPath.isEmpty {
            throw Self.unprocessable("\(place.codingPath.memberPath) has the wrong type.")
        } catch let DecodingError.valueNotFound(_, place) where !place.codingPath.isEmpty {
            throw Self.unprocessable("\(place.codingPath.memberPath) has the wrong type.")
        } catch let DecodingError.dataCorrupted(place) where !place.codingPath.isEmpty {
            throw Self.unprocessable("\(place.codingPath.memberPath) \(place.debugDescription).")
        } catch DecodingError.typeMismatch, DecodingError.valueNotFound {
            throw Self.unprocessable("The body must be a JSON object.")
        } catch DecodingError.dataCorrupted {
            // The decoder reports only that something is wrong.
            switch JSONDocument.fault(of: Array(bytes.readableBytesView)) {
            case .malformed: throw Self.badRequest(StrictJSON.Fault.syntax.reason("The body"))
            case .number(let path):
                throw Self.badRequest("\(path) is not a number, or is out of range: numbers must fit into 64 bits.")
            case .integer:
                throw Self.unprocessable("A number in the body is out of range, or must be an integer.")
            }
        } catch {
            throw Self.badRequest(StrictJSON.Fault.syntax.reason("The body"))
        }
    }

    package func result<Value: Sendable>(of future: EventLoopFuture<Value>) async throws -> Value {
        do {
            return try await future.get()
        } catch {
            throw Problem(Refused(error))
        }
    }

    static func identifier<Kind>(_ text: String, _ what: String) throws -> Identifier<Kind> {
        guard let identifier = Identifier<Kind>(text) else {
            throw Self.badRequest("\(what) must be 1 to \(Identifier<Kind>.longest) characters of [A-Za-z0-9_-].")
        }
        return identifier
    }

    /// Parses an identifier in a body. Unlike one in a path, an invalid one is 422.
    package static func name<Kind>(_ text: String, _ what: String) throws -> Identifier<Kind> {
        guard let identifier = Identifier<Kind>(text) else {
            throw Self.unprocessable("\(what) must be 1 to \(Identifier<Kind>.longest) characters of [A-Za-z0-9_-].")
        }
        return identifier
    }

    package static func place(_ latitude: Double, _ longitude: Double) throws -> Coordinate {
        guard let place = Coordinate(latitude: latitude, longitude: longitude) else {
            throw Self.unprocessable("lat must be -90 to 90 and lon -180 to 180 degrees, and not both 0.")
        }
        return place
    }

    package static func badRequest(_ detail: String) -> Problem { Problem(.badRequest, status: 400, detail: detail) }

    /// Returns the problem for a well-formed body with invalid values.
    static func unprocessable(_ detail: String) -> Problem { Problem(.unprocessable, status: 422, detail: detail) }

    /// Returns the Idempotency-Key; empty if the request has none.
    static func requestID(_ request: Request) throws -> String {
        guard let id = request.headers[.idempotencyKey] else { return "" }
        guard (1...128).contains(id.utf8.count), id.utf8.allSatisfy({ (33...126).contains($0) }) else {
            throw Self.badRequest("Idempotency-Key must be 1 to 128 printable ASCII characters without spaces.")
        }
        return id
    }

    /// Encodes a document as a JSON response.
    static func json(
        _ document: some Encodable, status: HTTPResponse.Status = .ok, isReplicationUnconfirmed: Bool = false
    ) throws -> Response {
        Self.json(try JSONDocument.bytes(document), status: status, isReplicationUnconfirmed: isReplicationUnconfirmed)
    }

    /// Returns a JSON response.
    ///
    /// - Parameter isReplicationUnconfirmed: whether no replica has confirmed the change, so that a failover may lose
    ///   it. The response is then 202, with a header that states it.
    package static func json(
        _ bytes: [UInt8], status: HTTPResponse.Status = .ok, isReplicationUnconfirmed: Bool = false
    ) -> Response {
        var headers: HTTPFields = [.contentType: "application/json", .cacheControl: "no-store"]
        if isReplicationUnconfirmed { headers[.durability] = "unknown" }
        return Response(
            status: isReplicationUnconfirmed ? .accepted : status, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

extension HTTPField.Name {
    static let idempotencyKey = HTTPField.Name("Idempotency-Key")!
    static let durability = HTTPField.Name("Enroute-Durability")!
    static let xForwardedFor = HTTPField.Name("X-Forwarded-For")!
}
