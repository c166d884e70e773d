// HTTP on an accepted connection: one request, its response, and only then the next request. Any request may be the upgrade
// to a WebSocket, because proxies reuse connections for several clients. Each state has a deadline:
//
//     first request ──▶ body ──▶ responding ──▶ idle ──▶ head ──▶ body …       lingering ──▶ closed
//                        └─────▶ a session       └── or, if the response says close ──▶ ┘
//
// A request is read completely before the router receives it; bodies are short (`Routes.maxBodyBytes`). The routes run in a
// task of the connection (`HTTPConnection`), which starts with its first request. They respond through a `ResponseWriter`.

internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import Logging
internal import NIOCore
package import NIOHTTP1
internal import NIOHTTPTypesHTTP1
internal import Realtime
internal import REST
internal import SecureSocket
internal import Telemetry
internal import TrafficControl

/// The last handler of a connection that is not a session. Confined to the channel's event loop.
package final class HTTPExchange: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private enum State {
        /// No request yet: waiting for the TLS handshake, then for the head of the first request.
        case awaitingFirstRequest
        /// Waiting for the next request.
        case idle
        /// A part of a head has been received.
        case head
        /// The head has been received, and the body is being received.
        case body(HTTPRequestHead)
        case upgrading(HTTPRequestHead, Admission)
        case responding
        /// The last response is written. The client has a moment to read it and to close the connection.
        case lingering
        /// Closed, or turned into a session.
        case closed
    }

    /// The phase that the current deadline limits.
    private enum Phase {
        case handshake, firstHead, head, body, idle, close
    }

    let loop: LoopState
    let socket: SecureSocketHandler
    let logger: Logger
    let feed: RequestFeed
    private let peer: ConnectionPeer
    private let connections: Connections
    private let onFirstRequest: (HTTPConnection) -> Void
    private var limits: Limits { self.loop.settings.limits }
    private var context: ChannelHandlerContext?
    private var state = State.awaitingFirstRequest
    private var body = ByteBuffer()
    /// The HTTP version of the current request.
    private(set) var version = HTTPVersion.http1_1
    private var isHEADRequest = false
    private var closesAfterResponse = false
    /// The gateway is shutting down: the connection closes after the current request.
    private var isQuiescing = false
    private var tasks: AsyncStream<PendingRequest>.Continuation?
    private var deadline: Deadline?
    private var phase: Phase?
    let stallHandler: ResponseStallHandler
    private var setup = SetupStages()

    /// - Parameter onFirstRequest: called once, with the first request for the router. Must call `HTTPConnection.serve`.
    init(
        loop: LoopState, socket: SecureSocketHandler, feed: RequestFeed, peer: ConnectionPeer, connections: Connections,
        logger: Logger, onFirstRequest: @escaping (HTTPConnection) -> Void
    ) {
        self.loop = loop
        self.socket = socket
        (self.feed, self.peer) = (feed, peer)
        self.connections = connections
        self.logger = logger
        self.onFirstRequest = onFirstRequest
        self.stallHandler = ResponseStallHandler(loop: loop, socket: socket)
    }

    // MARK: lifecycle

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if self.socket.isHandshakeComplete {
            self.startDeadline(self.limits.requestHeadSeconds, .firstHead)
        } else {
            self.startDeadline(self.limits.tlsHandshakeSeconds, .handshake)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.end() }

    func channelInactive(context: ChannelHandlerContext) {
        self.end()
        context.fireChannelInactive()
    }

    private func end() {
        self.state = .closed
        self.context = nil
        self.tasks?.finish()
        self.deadline?.cancel()
        self.stallHandler.stop()
        self.body = ByteBuffer()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case SecureSocketEvent.handshakeCompleted:
            self.setup.ended(self.loop.counts.durations.tls)
            self.startDeadline(self.limits.requestHeadSeconds, .firstHead)
        case is ChannelShouldQuiesceEvent: self.quiesce(context)
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func quiesce(_ context: ChannelHandlerContext) {
        self.isQuiescing = true
        switch self.state {
        case .awaitingFirstRequest, .idle, .head: context.close(promise: nil)
        case .body, .upgrading, .responding: self.closesAfterResponse = true
        case .lingering, .closed: break
        }
    }

    /// The client has closed its side of the connection, perhaps in the middle of a request (`isInRequest`).
    func inputClosed(isInRequest: Bool) {
        guard let context = self.context else { return }
        switch self.state {
        case .awaitingFirstRequest, .idle, .head, .body, .upgrading:
            guard isInRequest, self.socket.isHandshakeComplete else { return context.close(promise: nil) }
            self.refuse(.init(bad: "The connection was closed before the request was complete."))
        case .lingering: context.close(promise: nil)
        case .responding, .closed: break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard context.channel.isActive else { return }
        switch (error, self.state) {
        case (is HTTPParserError, .awaitingFirstRequest), (is HTTPParserError, .idle), (is HTTPParserError, .head),
            (is HTTPParserError, .body), (is HTTPParserError, .upgrading):
            self.refuseAsMalformed(error as? HTTPParserError)
        case (is HTTPParserError, _): break
        default: context.close(promise: nil)
        }
    }

    // MARK: deadlines

    private func startDeadline(_ seconds: Int, _ phase: Phase) {
        self.phase = phase
        let end = NIODeadline.now() + .seconds(Int64(seconds))
        if let deadline { return self.loop.deadlines.move(deadline, to: end) }
        self.deadline = self.loop.deadlines.at(end) { [weak self] in self?.expired() }
    }

    private func expired() {
        self.deadline = nil
        guard let context = self.context, let phase = self.phase else { return }
        switch phase {
        case .handshake: self.loop.counts.add(.handshakesTimedOut)
        case .firstHead, .head: self.loop.counts.add(.requestsTimedOut)
        case .body:
            self.loop.counts.add(.bodiesTimedOut)
            let detail = "The request body did not arrive within \(self.limits.requestBodySeconds) s."
            return self.refuse(
                .init(status: .requestTimeout, problem: Problem(.badRequest, status: 408, detail: detail)))
        case .idle, .close: break
        }
        context.close(promise: nil)
    }

    /// A part of a request has been received: sets the deadline for the rest. More bytes do not extend the deadline, so a
    /// client cannot occupy the connection by sending slowly.
    func waitForRest() {
        switch self.state {
        case .idle:
            self.state = .head
            self.startDeadline(self.limits.requestHeadSeconds, .head)
        case .body, .upgrading: if self.phase != .body { self.startDeadline(self.limits.requestBodySeconds, .body) }
        case .awaitingFirstRequest, .head, .responding, .lingering, .closed: break
        }
    }

    // MARK: the request

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let head): self.received(head, context)
        case .body(let bytes): self.received(bytes)
        case .end: self.receivedEnd(context)
        }
    }

    private func received(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        switch self.state {
        case .awaitingFirstRequest, .idle, .head: break
        case .body, .upgrading, .responding, .lingering, .closed: return
        }
        self.version = head.version
        self.isHEADRequest = head.method == .HEAD
        self.closesAfterResponse = self.isQuiescing || !head.isKeepAlive || head.version == .http1_0
        self.phase = nil
        let (body, expectsContinue): (RequestFraming.Body, Bool)
        do throws(RequestRules.Violation) {
            (body, expectsContinue) = (try RequestRules.body(of: head), try RequestRules.expectsContinue(head))
        } catch {
            self.loop.counts.add(.requestsMalformed)
            let problem = Problem(.badRequest, status: error.status, detail: error.detail)
            return self.refuse(.init(status: .init(statusCode: error.status), problem: problem), of: head)
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

    /// Any GET of a path for WebSockets: one that is not a handshake gets an error that says so.
    private func isHandshake(_ head: HTTPRequestHead) -> Bool {
        !self.connections.isManagement && Admission.isWebSocketPath(head.uri, self.connections.settings)
            && (head.method == .GET || Admission.isUpgrade(head))
    }

    private func address(of head: HTTPRequestHead, _ context: ChannelHandlerContext) -> ClientAddress? {
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

    // MARK: the response

    /// Passes the request to the router.
    ///
    /// - Parameter body: `nil` if the body is too long. A route that reads it receives an error.
    private func respond(_ head: HTTPRequestHead, body: ByteBuffer?) {
        self.state = .responding
        self.phase = nil
        self.body = ByteBuffer()
        if body == nil {
            self.closesAfterResponse = true
            self.feed.discard()
        }
        guard let context = self.context, let request = try? HTTPRequest(head, secure: true, splitCookie: false) else {
            return self.refuseAsMalformed()
        }
        let complete = Request(
            head: request, body: body.map { RequestBody(buffer: $0) } ?? RequestBody(asyncSequence: BodyTooLong()))
        let writer = ResponseWriter(
            exchange: NIOLoopBound(self, eventLoop: context.eventLoop), eventLoop: context.eventLoop,
            pieceBytes: max(1, self.limits.queueBytes / 2))
        if self.tasks == nil {
            let (requests, tasks) = AsyncStream.makeStream(of: PendingRequest.self)
            self.tasks = tasks
            self.onFirstRequest(HTTPConnection(channel: context.channel, requests: requests, server: self.connections))
        }
        self.tasks?.yield(PendingRequest(request: complete, response: writer, peer: self.peer.address))
    }

    func refuseAsMalformed(_ error: HTTPParserError? = nil) {
        self.loop.counts.add(.requestsMalformed)
        self.refuse(.init(malformed: error))
    }

    /// Responds with a problem, without the router, and closes the connection.
    ///
    /// - Parameter request: the request whose trace the response continues; `nil` if it could not be parsed.
    func refuse(_ refusal: Admission.Refusal, of request: HTTPRequestHead? = nil) {
        guard self.context != nil else { return }
        self.state = .responding
        self.phase = nil
        self.closesAfterResponse = true
        self.feed.discard()
        let trace = RequestTrace(request?.headers["traceparent"] ?? [])
        self.logger.trace(
            "answered", metadata: [LogKey.trace: "\(trace.traceID)", LogKey.status: "\(refusal.status.code)"])
        let body = ByteBuffer(bytes: refusal.problem.json(trace))
        var headers = refusal.headers
        for field in refusal.problem.headers { headers.add(name: field.name.rawName, value: field.value) }
        headers.add(name: "traceresponse", value: trace.traceresponse)
        headers.add(name: "content-type", value: Problem.mediaType)
        headers.add(name: "content-length", value: String(body.readableBytes))
        _ = self.send(
            HTTPResponseHead(version: self.version, status: refusal.status, headers: headers), body, isLast: true)
    }

    /// Writes a part of the response.
    ///
    /// - Returns: a future that succeeds when the kernel has accepted the bytes, and fails if the connection is closed.
    func send(_ head: HTTPResponseHead?, _ piece: ByteBuffer?, isLast: Bool) -> EventLoopFuture<Void> {
        guard case .responding = self.state, let context = self.context else {
            return self.loop.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel)
        }
        var parts: [HTTPServerResponsePart] = []
        if var head {
            head.version = self.version
            if self.closesAfterResponse { head.headers.replaceOrAdd(name: "connection", value: "close") }
            // Clients compare their clock with it.
            if !head.headers.contains(name: "date") {
                head.headers.add(name: "date", value: HTTPDate.text(WallClock.nowMilliseconds))
            }
            if !head.isKeepAlive { self.closesAfterResponse = true }
            if [204, 304].contains(head.status.code) { self.isHEADRequest = true }
            parts.append(.head(head))
        }
        // A response to HEAD has no body (RFC 9110 section 9.3.2).
        if !self.isHEADRequest {
            if let piece, piece.readableBytes > 0 { parts.append(.body(.byteBuffer(piece))) }
            if isLast { parts.append(.end(nil)) }
        }
        let written = context.eventLoop.makePromise(of: Void.self)
        for part in parts.dropLast() { context.write(self.wrapOutboundOut(part), promise: nil) }
        if let last = parts.last {
            context.writeAndFlush(self.wrapOutboundOut(last), promise: written)
        } else {
            written.succeed()
        }
        self.stallHandler.wrote(piece?.readableBytes ?? 0, to: context.channel)
        written.futureResult.assumeIsolated().whenSuccess { if isLast { self.responseWritten() } }
        return written.futureResult
    }

    private func responseWritten() {
        guard case .responding = self.state, let context = self.context else { return }
        self.stallHandler.stop()
        self.isHEADRequest = false
        self.setup.answered()
        guard !self.closesAfterResponse else { return self.linger(context) }
        self.state = .idle
        self.startDeadline(Connections.idleSeconds, .idle)
        self.feed.next()
    }

    /// Closes the connection in a way that lets the client read the response first. Closing a socket with unread input makes
    /// the kernel send a reset, and a reset discards data that the client has not read yet (RFC 9112 section 9.6).
    private func linger(_ context: ChannelHandlerContext) {
        self.state = .lingering
        self.tasks?.finish()
        self.feed.discard()
        guard !self.feed.isInputClosed else { return context.close(promise: nil) }
        self.startDeadline(self.limits.closeSeconds, .close)
        context.close(mode: .output, promise: nil)
    }

    // MARK: upgrading to a session

    private func upgrade(_ head: HTTPRequestHead, _ admission: Admission, _ context: ChannelHandlerContext) {
        WebSocketUpgrade.response(to: head).withUnsafeBytes { self.socket.writeNow($0) }
        guard context.channel.isActive else { return }
        self.setup.ended(self.loop.counts.durations.upgrade)
        let address = self.address(of: head, context)
        do {
            try self.connections.startSession(context.channel, head, admission, address, after: self.feed, self)
        } catch {
            return context.close(promise: nil)
        }
        self.end()
        self.feed.handOver()
    }
}
