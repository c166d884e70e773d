// Requests over REST: typed ones for the most frequent needs of apps and order systems, and any other request by its
// path.

public import Foundation

/// A client of the REST API. Get it from `EnrouteClient.rest`.
public struct RESTClient: Sendable {
    let configuration: EnrouteClient.Configuration
    let timebase: Timebase

    /// A job to create.
    public struct NewJob: Encodable, Hashable, Sendable {
        struct Coordinates: Encodable, Hashable, Sendable {
            let lat: Double
            let lon: Double
        }

        let job: JobID
        let kind: JobKind
        let customer: String
        let rider: String?
        let zone: String?
        let destination: Coordinates?
        let address: String?

        public init(
            _ job: JobID, kind: JobKind, customer: String, rider: String? = nil, zone: String? = nil,
            destination: Place? = nil, address: String? = nil
        ) {
            (self.job, self.kind, self.customer) = (job, kind, customer)
            (self.rider, self.zone, self.address) = (rider, zone, address)
            self.destination = destination.map { Coordinates(lat: $0.latitude, lon: $0.longitude) }
        }
    }

    /// A tracking link. `url` contains the secret after `#`. Only this response contains the secret.
    public struct TrackingLink: Decodable, Hashable, Sendable {
        /// The secret, for `Credential.trackingLink`.
        public let link: String
        /// Identifies the link for revocation; it gives no access.
        public let id: String
        /// The path of the page, to append to the address of the gateway.
        public let url: String?
    }

    /// A response with a status of 2xx or 304.
    public struct Answer: Sendable {
        public let status: Int
        /// With names in lower case.
        public let headers: [String: String]
        public let body: Data
    }

    /// Creates a job. For services.
    ///
    /// - Parameters:
    ///   - job: the job.
    ///   - idempotencyKey: 1 to 128 printable characters. Requests with the same key and the same job create it once:
    ///     if you repeat a request within 24 h because its response was lost, it returns the job instead of throwing
    ///     `conflict`.
    /// - Returns: the job as a follower sees it.
    /// - Throws: `conflict` if the job exists.
    @discardableResult
    public func createJob(_ job: NewJob, idempotencyKey: String? = nil) async throws(EnrouteError) -> JobView {
        try await self.view(
            of: job.job, "POST", "/jobs", body: Self.encoded(job), headers: Self.headers(idempotencyKey))
    }

    /// Reads a job.
    public func job(_ job: JobID) async throws(EnrouteError) -> JobView {
        try await self.view(of: job, "GET", "/jobs/\(job.rawValue)", body: nil)
    }

    /// Changes the status of a job.
    ///
    /// - Parameters:
    ///   - job: the job.
    ///   - status: the new status.
    ///   - cursor: the change is made only if this is still the newest event.
    ///   - idempotencyKey: the same key with the same request changes the status once.
    /// - Throws: `illegalTransition` and `preconditionFailed` with the current `jobStatus`, `forbidden`, `notFound`.
    @discardableResult
    public func changeStatus(
        of job: JobID, to status: JobStatus, ifUnchangedSince cursor: StatusCursor? = nil,
        idempotencyKey: String? = nil
    ) async throws(EnrouteError) -> StatusEvent {
        var headers = Self.headers(idempotencyKey)
        headers["If-Match"] = cursor.map { "\"\($0.id)\"" }
        let event: WireStatus = try await self.decoded(
            "POST", "/jobs/\(job.rawValue)/status", body: Self.encoded(["status": status.rawValue]), headers: headers)
        return StatusEvent(
            cursor: StatusCursor(epoch: event.epoch, id: event.id), status: event.status, at: Date(ms: event.at))
    }

    /// Creates a link by which customers follow the job without an account.
    ///
    /// - Parameters:
    ///   - job: the job.
    ///   - viewers: how many people may use the link at the same time, 1 to 100.
    ///   - lifetime: when it expires, up to four hours.
    ///   - idempotencyKey: 20 to 128 printable characters that nobody can guess, such as a UUID. Requests with the same key
    ///     and the same content create one link; a repetition within 24 h returns that link.
    public func createTrackingLink(
        for job: JobID, viewers: Int = 5, lifetime: Duration = .seconds(14_400), idempotencyKey: String? = nil
    ) async throws(EnrouteError) -> TrackingLink {
        let body = ["viewers": viewers, "expiresInSeconds": Int(clamping: lifetime.components.seconds)]
        return try await self.decoded(
            "POST", "/jobs/\(job.rawValue)/links", body: Self.encoded(body), headers: Self.headers(idempotencyKey))
    }

    /// Sends any request to the REST API.
    ///
    /// - Parameters:
    ///   - method: the HTTP method.
    ///   - path: below `/api/v1`, beginning with a slash.
    ///   - body: JSON.
    ///   - headers: besides the credential and the type of the body.
    /// - Throws: `EnrouteError` with the code of the problem document, `network`, or `cancelled` if the task is
    ///   cancelled. A response that does not come from a gateway is `network` too: a redirect, or the page of a network
    ///   that requires a sign-in.
    public func send(
        _ method: String, _ path: String, body: Data? = nil, headers: [String: String] = [:]
    ) async throws(EnrouteError) -> Answer {
        let end = self.timebase.moment().now + ClientMachine.answerWithin
        var request = TransportRequest(
            method: method, url: self.configuration.restURL(path), headers: headers, body: body)
        if let authorization = try await self.authorization() { request.headers["Authorization"] = authorization }
        if body != nil { request.headers["Content-Type"] = "application/json" }
        let response = try await self.exchange(request, until: end)
        switch response.status {
        case 200..<300 where Self.isJSON(response.body), 304:
            return Answer(status: response.status, headers: response.headers, body: response.body)
        case 200..<400:
            throw .unreachable(
                "\(method) \(path) was not answered by a gateway (HTTP \(response.status)). The network may require a sign-in."
            )
        default: throw Self.problem(response)
        }
    }

    // MARK: parts

    private func authorization() async throws(EnrouteError) -> String? {
        do {
            switch try await self.configuration.fetchCredential(self.timebase) {
            case .token(let token): return "Bearer \(token)"
            case .trackingLink(let link): return "Link \(link)"
            case nil: return nil
            }
        } catch {
            let reason = "\(error)"
            let isLate = reason == ConnectionMachine.credentialLate
            throw Self.failure(isLate ? reason : "No credential is available: \(reason)")
        }
    }

    /// Sends a request and gives it up at `end`, which is `ClientMachine.answerWithin` after the call. The credential
    /// and the response share this time.
    private func exchange(
        _ request: TransportRequest, until end: Double
    ) async throws(EnrouteError) -> TransportResponse {
        let transport = self.configuration.transport
        do {
            return try await self.timebase.wait(
                atMost: max(0, end - self.timebase.moment().now), late: TransportError("no answer in time")
            ) { try await transport.send(request) }
        } catch {
            throw Self.failure("\(request.method) \(request.url.path) got no answer: \(error)")
        }
    }

    private static func failure(_ message: String) -> EnrouteError {
        Task.isCancelled ? .cancelled : .unreachable(message)
    }

    func decoded<Body: Decodable>(
        _ method: String, _ path: String, body: Data?, headers: [String: String] = [:]
    ) async throws(EnrouteError) -> Body {
        let answer = try await self.send(method, path, body: body, headers: headers)
        do {
            return try JSONDecoder().decode(Body.self, from: answer.body)
        } catch {
            throw EnrouteError(
                .internal, "The response to \(method) \(path) is invalid.", httpStatus: answer.status)
        }
    }

    /// Whether a body is empty or JSON, like every body of the REST API.
    private static func isJSON(_ body: Data) -> Bool {
        body.isEmpty || (try? JSONSerialization.jsonObject(with: body, options: .fragmentsAllowed)) != nil
    }

    private static func headers(_ idempotencyKey: String?) -> [String: String] {
        idempotencyKey.map { ["Idempotency-Key": $0] } ?? [:]
    }

    private func view(
        of job: JobID, _ method: String, _ path: String, body: Data?, headers: [String: String] = [:]
    ) async throws(EnrouteError) -> JobView {
        let snapshot: WireSnapshot = try await self.decoded(method, path, body: body, headers: headers)
        var followed = FollowedView(job: job)
        let now = Date().timeIntervalSince1970 * 1000
        _ = followed.apply(.subscribed(job, snapshot), at: Moment(now: now, wall: now))
        guard let view = followed.view else { throw EnrouteError(.internal, "The response has no snapshot.") }
        return view
    }

    /// Encodes with sorted members, because a request that is repeated with its key must have the same bytes.
    private static func encoded(_ value: some Encodable) -> Data? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return try? encoder.encode(value)
    }

    private struct Problem: Decodable {
        let code: String?
        let title: String?
        let detail: String?
        let retryable: Bool?
        let tasks: [JobID]?
        let reason: String?
        let jobStatus: JobStatus?
        let serverTime: Double?
    }

    /// Refusals of a proxy, without a problem document, after which the same request may succeed: 408 request timeout,
    /// 425 too early, 429 too many requests.
    private static let temporary = [408, 425, 429]

    private static func problem(_ response: TransportResponse) -> EnrouteError {
        let problem = try? JSONDecoder().decode(Problem.self, from: response.body)
        let after = response.headers["retry-after"].flatMap(Double.init).map { Duration(ms: $0 * 1000) }
        let isTemporary = response.status >= 500 || Self.temporary.contains(response.status)
        let code: EnrouteError.Code = response.status == 429 ? .rateLimited : .internal
        var error = EnrouteError(
            problem?.code.map(EnrouteError.Code.init(rawValue:)) ?? code,
            problem?.detail ?? problem?.title ?? "HTTP \(response.status)",
            isRetryable: problem?.retryable ?? isTemporary, retryAfter: after, tasks: problem?.tasks ?? [],
            reason: problem?.reason, jobStatus: problem?.jobStatus, httpStatus: response.status)
        error.serverTime = problem?.serverTime
        return error
    }
}
