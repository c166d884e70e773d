// Follows a job by GET, as server-sent events: checks access and limits, then starts a session on the request's
// connection. The session lasts until the connection closes.

internal import Access
internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
package import Hummingbird
internal import Jobs
internal import LiveState
internal import NIOCore
package import Realtime
internal import SecureSocket
internal import TrafficControl

extension Routes {
    func addEventStreams(to api: RouterGroup<GatewayRequestContext>) {
        api.get("jobs/{job}/events", use: self.follow)
    }

    /// A request for an event stream that has passed all checks.
    private struct StreamRequest: Sendable {
        let job: JobID
        let since: ResumePoint?
        let admitted: AuthenticatedClient
        let session: String
        let address: ClientAddress?
    }

    /// Streams the events of a job, starting with its snapshot or after `Last-Event-ID`.
    @Sendable private func follow(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let job: JobID = try Self.identifier(context.parameters.require("job"), "job")
        // Authentication comes first: a client without valid credentials receives no details about its request.
        if request.headers[.authorization] == nil { _ = try self.grant(request, context, .followJob) }
        let since = try Self.resumePoint(request)
        let address = self.clientAddress(of: request, context)
        let session = Session.newID
        let admitted = try await self.admitted(request, context, address, session)
        let view: JobView
        do { view = try await self.view(job, admitted.grant) } catch {
            await self.releaseLease(admitted, session)
            throw error
        }
        // The client has received the final status. 204 tells it not to reconnect (HTML, section 9.2.3).
        if view.record.status.end != nil, let since, since.epoch == view.record.epoch, since.id == view.record.head {
            await self.releaseLease(admitted, session)
            return Response(status: .noContent, headers: [.cacheControl: "no-store"])
        }
        guard self.quotas.hasSessionCapacity(for: admitted.owner, address) else {
            await self.releaseLease(admitted, session)
            throw Problem(tooManySessions: "This user or address has too many connections. Close one and try again.")
        }
        // A response to HEAD has no body, so no stream starts.
        if request.method == .head {
            await self.releaseLease(admitted, session)
            return Response(
                status: .ok, headers: Self.streamHeaders, body: ResponseBody { try await $0.finish(nil) })
        }
        let stream = StreamRequest(job: job, since: since, admitted: admitted, session: session, address: address)
        return self.stream(stream, context)
    }

    private static let streamHeaders: HTTPFields = [
        .contentType: EventStream.mediaType, .connection: "close",
        // Asks proxies not to compress the response: HAProxy would retain the end of each event until the next one.
        .cacheControl: "no-store, no-transform",
        // Asks proxies such as nginx not to buffer the response.
        .xAccelBuffering: "no",
    ]

    private func stream(_ stream: StreamRequest, _ context: GatewayRequestContext) -> Response {
        let (loops, channel, logger) = (self.loops, context.channel, context.logger)
        let becomeStream = self.shared.becomeStream
        self.releaseLeaseOnClose(stream, channel)
        let body = ResponseBody { writer in
            let retry = Int64.random(in: EventStream.retryMilliseconds)
            try await writer.write(ByteBuffer(string: "retry: \(retry)\n\n"))
            try await channel.eventLoop.submit {
                // The connection is already closed. A session that is added now would not be notified of that.
                guard channel.isActive else { throw ChannelError.ioOnClosedChannel }
                let sync = channel.pipeline.syncOperations
                let socket = try sync.handler(type: SecureSocketHandler.self)
                // May throw, so it comes first: a session that is not added would never release its share of the limits.
                let isChunked = try becomeStream(channel)
                let session = Session(
                    loop: loops[channel.eventLoop], socket: socket, address: stream.address, framing: .events,
                    id: stream.session, admitted: stream.admitted, logger: logger)
                session.isChunked = isChunked
                // Before the HTTP handlers, which buffer the end of the client's side until a response is complete.
                try sync.addHandler(session, position: .after(socket))
                guard let grant = session.grant else { return }
                session.follower.subscribe(stream.job, since: stream.since, grant)
            }.get()
            try await channel.closeFuture.get()
        }
        return Response(status: .ok, headers: Self.streamHeaders, body: body)
    }

    /// Releases the viewer lease when the connection closes. The response body, and with it the session, may never start if
    /// the client disconnects early. A session releases its lease itself; releasing a lease twice has no effect.
    private func releaseLeaseOnClose(_ stream: StreamRequest, _ channel: any Channel) {
        guard let link = stream.admitted.grant.link else { return }
        let links = self.links
        channel.closeFuture.whenComplete { _ in _ = links.leave(link, as: stream.session) }
    }

    /// Authenticates the client by a token or by a tracking link (`Authorization: Link <secret>`).
    private func admitted(
        _ request: Request, _ context: GatewayRequestContext, _ address: ClientAddress?, _ session: String
    ) async throws -> AuthenticatedClient {
        guard let secret = Self.link(of: request) else {
            return AuthenticatedClient(try self.grant(request, context, .followJob))
        }
        let (loops, loop) = (self.loops, context.channel.eventLoop)
        do {
            return try await loop.flatSubmit {
                loops[loop].signIn(.link(secret), from: address, as: session)
            }.get()
        } catch {
            throw Problem(error as? SignInRefusal ?? .unavailable)
        }
    }

    /// Releases the viewer lease that signing in has acquired.
    private func releaseLease(_ admitted: AuthenticatedClient, _ session: String) async {
        guard let link = admitted.grant.link else { return }
        _ = try? await self.links.leave(link, as: session).get()
    }

    private static func resumePoint(_ request: Request) throws -> ResumePoint? {
        guard let id = request.headers[.lastEventID], !id.isEmpty else { return nil }
        guard let point = ResumePoint(lastEventID: id) else {
            throw Self.badRequest("Last-Event-ID must be absent or the ID of an event of this stream: <epoch>.<id>.")
        }
        return point
    }
}

extension Response {
    /// The router gives the response to HEAD the length of an empty body. A stream has no length (RFC 9110 section
    /// 8.6).
    package mutating func removeLengthOfEventStream() {
        if self.headers[.contentType] == EventStream.mediaType { self.headers[.contentLength] = nil }
    }
}

extension Problem {
    /// One of the sessions may be the client's own earlier one, until that fails to answer a ping. The same as for
    /// close code 4009.
    private static let sessionLimitRetryMilliseconds: Int64 = 40_000
    /// An address may send about two rejected tokens a second.
    private static let signInRetryMilliseconds: ClosedRange<Int64> = 1_000...5_000

    fileprivate init(tooManySessions detail: String) {
        self.init(.limitExceeded, status: 429, detail: detail)
        self.retryIn = Self.sessionLimitRetryMilliseconds
    }

    /// The problem for a failed sign-in.
    package init(_ refusal: SignInRefusal) {
        switch refusal.code {
        case .tokenExpired: self.init(.tokenExpired, status: 401, detail: "Sign-in failed: \(refusal.reason).")
        case .connectionLimit: self.init(tooManySessions: "Sign-in failed: \(refusal.reason).")
        case .rateLimited:
            self.init(.rateLimited, status: 429, detail: "Sign-in failed: \(refusal.reason).")
            self.retryIn = .random(in: Self.signInRetryMilliseconds)
        case .insufficientState:
            self.init(Refused(code: .unavailable, message: "Sign-in failed: \(refusal.reason)."))
        default:
            self.init(.unauthorized, status: 401, detail: "Sign-in failed: \(refusal.reason).")
            // A link was refused, not a token.
            self.headers[.wwwAuthenticate] = Self.challenge
        }
    }
}

extension HTTPField.Name {
    static let lastEventID = HTTPField.Name("Last-Event-ID")!
    static let xAccelBuffering = HTTPField.Name("X-Accel-Buffering")!
}
