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

    enum State {
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
    enum Phase {
        case handshake, firstHead, head, body, idle, close
    }

    let loop: LoopState
    let socket: SecureSocketHandler
    let logger: Logger
    let feed: RequestFeed
    let peer: ConnectionPeer
    let connections: Connections
    let onFirstRequest: (HTTPConnection) -> Void
    var limits: Limits { self.loop.settings.limits }
    var context: ChannelHandlerContext?
    var state = State.awaitingFirstRequest
    var body = ByteBuffer()
    /// The HTTP version of the current request.
    var version = HTTPVersion.http1_1
    var isHEADRequest = false
    var closesAfterResponse = false
    /// The gateway is shutting down: the connection closes after the current request.
    var isQuiescing = false
    var tasks: AsyncStream<PendingRequest>.Continuation?
    private var deadline: Deadline?
    var phase: Phase?
    let stallHandler: ResponseStallHandler
    var setup = SetupStages()

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

    func end() {
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

    func startDeadline(_ seconds: Int, _ phase: Phase) {
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
}
