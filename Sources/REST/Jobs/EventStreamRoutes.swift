// Following a job by GET: who may, from where, and then a session on the connection the request came by, until that ends.

internal import Access
internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
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

    /// What is to be streamed, and to whom.
    private struct StreamRequest: Sendable {
        let job: JobID
        let since: ResumePoint?
        let admitted: AuthenticatedClient
        let session: String
        let address: ClientAddress?
    }

    /// The events of one job from its snapshot on, or from after `Last-Event-ID`.
    @Sendable private func follow(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let job: JobID = try Self.identifier(context.parameters.require("job"), "job")
        // Nobody is told what is wrong with a request before who asks.
        if request.headers[.authorization] == nil { _ = try self.grant(request, context, .followJob) }
        let since = try Self.resumePoint(request)
        let address = self.settings.trustedProxies.client(
            of: context.peer, forwardedFor: request.headers[values: .xForwardedFor])
        let session = Session.newID
        let admitted = try await self.admitted(request, context, address, session)
        let view: JobView
        do { view = try await self.view(job, admitted.grant) } catch {
            await self.giveUp(admitted, session)
            throw error
        }
        // Who has seen the end is not to come back (section 9.2.3).
        if view.record.status.end != nil, let since, since.epoch == view.record.epoch, since.id == view.record.head {
            await self.giveUp(admitted, session)
            return Response(status: .noContent, headers: [.cacheControl: "no-store"])
        }
        guard self.quotas.hasSessionCapacity(for: admitted.owner, address) else {
            await self.giveUp(admitted, session)
            throw Problem(
                .limitExceeded, status: 429,
                detail: "This user or address has too many connections. Close one and try again.")
        }
        // Its body, the stream, is never begun.
        if request.method == .head {
            await self.giveUp(admitted, session)
            return Response(
                status: .ok, headers: Self.streamHeaders, body: ResponseBody { try await $0.finish(nil) })
        }
        let stream = StreamRequest(job: job, since: since, admitted: admitted, session: session, address: address)
        return self.stream(stream, context)
    }

    private static let streamHeaders: HTTPFields = [
        .contentType: EventStream.mediaType, .cacheControl: "no-store", .connection: "close",
        // What buffers answers on the way is asked not to.
        .xAccelBuffering: "no",
    ]

    private func stream(_ stream: StreamRequest, _ context: GatewayRequestContext) -> Response {
        let (loops, channel, logger) = (self.loops, context.channel, context.logger)
        let becomeStream = self.shared.becomeStream
        self.giveUpWhenGone(stream, channel)
        let body = ResponseBody { writer in
            let retry = Int64.random(in: EventStream.retryMilliseconds)
            try await writer.write(ByteBuffer(string: "retry: \(retry)\n\n"))
            try await channel.eventLoop.submit {
                // Its end was told already, and a session would never hear of it.
                guard channel.isActive else { throw ChannelError.ioOnClosedChannel }
                let sync = channel.pipeline.syncOperations
                let socket = try sync.handler(type: SecureSocketHandler.self)
                let session = Session(
                    loop: loops[channel.eventLoop], socket: socket, address: stream.address, framing: .events,
                    id: stream.session, admitted: stream.admitted, logger: logger)
                session.isChunked = try becomeStream(channel)
                // Before HTTP, which keeps the end of the client's side to itself until an answer is whole.
                try sync.addHandler(session, position: .after(socket))
                guard let grant = session.grant else { return }
                session.follower.subscribe(stream.job, since: stream.since, grant)
            }.get()
            try await channel.closeFuture.get()
        }
        return Response(status: .ok, headers: Self.streamHeaders, body: body)
    }

    /// Whether the body is ever asked for is not ours to say: the client may be gone by now, or go before. A session gives
    /// its place back itself, and what it gave back is given back again to no effect.
    private func giveUpWhenGone(_ stream: StreamRequest, _ channel: any Channel) {
        guard let link = stream.admitted.grant.link else { return }
        let links = self.links
        channel.closeFuture.whenComplete { _ in _ = links.leave(link, as: stream.session) }
    }

    /// By a token, or by a tracking link: `Authorization: Link <secret>`.
    private func admitted(
        _ request: Request, _ context: GatewayRequestContext, _ address: ClientAddress?, _ session: String
    ) async throws -> AuthenticatedClient {
        let words = request.headers[.authorization]?.split(separator: " ") ?? []
        guard words.count == 2, words[0].lowercased() == "link" else {
            return AuthenticatedClient(try self.grant(request, context, .followJob))
        }
        let (loops, loop, secret) = (self.loops, context.channel.eventLoop, String(words[1]))
        do {
            return try await loop.flatSubmit {
                loops[loop].signIn(.link(secret), from: address, as: session)
            }.get()
        } catch {
            throw Problem(error as? SignInRefusal ?? .unavailable)
        }
    }

    /// What was taken with signing in is free again.
    private func giveUp(_ admitted: AuthenticatedClient, _ session: String) async {
        guard let link = admitted.grant.link else { return }
        _ = try? await self.links.leave(link, as: session).get()
    }

    private static func resumePoint(_ request: Request) throws -> ResumePoint? {
        guard let id = request.headers[.lastEventID], !id.isEmpty else { return nil }
        guard let point = ResumePoint(lastEventID: id) else {
            throw Self.bad("Last-Event-ID must be absent or the ID of an event of this stream: <epoch>.<id>.")
        }
        return point
    }
}

extension Problem {
    /// Why somebody may not come in, as REST says it.
    package init(_ refusal: SignInRefusal) {
        switch refusal.code {
        case .tokenExpired: self.init(.tokenExpired, status: 401, detail: "Sign-in failed: \(refusal.reason).")
        case .connectionLimit: self.init(.limitExceeded, status: 429, detail: "Sign-in failed: \(refusal.reason).")
        case .rateLimited: self.init(.rateLimited, status: 429, detail: "Sign-in failed: \(refusal.reason).")
        case .insufficientState:
            self.init(Refused(code: .unavailable, message: "Sign-in failed: \(refusal.reason)."))
        default: self.init(.unauthorized, status: 401, detail: "Sign-in failed: \(refusal.reason).")
        }
    }
}

extension HTTPField.Name {
    static let lastEventID = HTTPField.Name("Last-Event-ID")!
    static let xAccelBuffering = HTTPField.Name("X-Accel-Buffering")!
}
