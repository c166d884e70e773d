// Receives one request: its head, which decides how the rest is handled, then its body.

internal import EnrouteWire
internal import HTTPValues
internal import NIOCore
internal import NIOHTTP1
internal import Realtime
internal import REST
internal import Telemetry
internal import TrafficControl

extension HTTPExchange {
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let head): self.received(head, context)
        case .body(let bytes): self.received(bytes)
        case .end: self.receivedEnd(context)
        }
    }

    private func received(_ raw: HTTPRequestHead, _ context: ChannelHandlerContext) {
        switch self.state {
        case .awaitingFirstRequest, .idle, .head: break
        case .body, .upgrading, .responding, .lingering, .closed: return
        }
        self.version = raw.version
        self.isHEADRequest = raw.method == .HEAD
        self.closesAfterResponse = self.isQuiescing || !raw.isKeepAlive || raw.version == .http1_0
        self.phase = nil
        let (head, body, expectsContinue): (HTTPRequestHead, RequestFraming.Body, Bool)
        do throws(RequestRules.Violation) {
            (head, body, expectsContinue) = try RequestRules.validate(raw)
        } catch {
            self.loop.counts.add(.requestsMalformed)
            let problem = Problem(.badRequest, status: error.status, detail: error.detail)
            return self.refuse(.init(status: .init(statusCode: error.status), problem: problem), of: raw)
        }
        guard self.feed.headEnded(body, mustReplaceDecoder: head.headers.contains(name: "upgrade")) else {
            return self.refuseAsMalformed()
        }
        guard !head.uri.hasTokenInQuery else { return self.refuse(.init(bad: RejectTokensInURLs.refusal), of: head) }
        self.state = .body(head)
        if self.isHandshake(head) {
            let address = self.address(of: head, context)
            let admission = Admission(head, from: address, origins: self.connections.settings.origins, self.loop)
            if case .refused(let refusal) = admission { return self.refuse(refusal, of: head) }
            self.state = .upgrading(head, admission)
        } else if case .length(let length) = body, length > Routes.maxBodyBytes {
            self.respond(head, body: nil)
        } else if expectsContinue, body != .none {
            context.writeAndFlush(
                self.wrapOutboundOut(.head(.init(version: .http1_1, status: .continue))), promise: nil)
        }
    }

    /// Whether this is a GET of a path for WebSockets. If it is not a valid handshake, the response says why.
    private func isHandshake(_ head: HTTPRequestHead) -> Bool {
        !self.connections.isManagement && Admission.isWebSocketPath(head.uri, self.connections.settings)
            && (head.method == .GET || Admission.isUpgrade(head))
    }

    func address(of head: HTTPRequestHead, _ context: ChannelHandlerContext) -> ClientAddress? {
        self.loop.settings.trustedProxies.client(
            of: self.peer.address, forwardedFor: head.headers["x-forwarded-for"])
    }

    private func received(_ bytes: ByteBuffer) {
        guard case .body(let head) = self.state else { return }
        var bytes = bytes
        self.body.writeBuffer(&bytes)
        if self.body.readableBytes > Routes.maxBodyBytes { self.respond(head, body: nil) }
    }

    private func receivedEnd(_ context: ChannelHandlerContext) {
        switch self.state {
        case .body(let head):
            guard self.feed.requestEnded() else { return self.refuseAsMalformed() }
            self.respond(head, body: self.body)
        case .upgrading(let head, let admission):
            guard self.feed.requestEnded() else { return self.refuseAsMalformed() }
            self.upgrade(head, admission, context)
        case .awaitingFirstRequest, .idle, .head, .responding, .lingering, .closed: break
        }
    }
}
