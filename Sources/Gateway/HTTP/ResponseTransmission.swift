// Responds to a request: through the router, with a problem, or by upgrading the connection to a session. Then the
// connection waits for the next request, or closes.

internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypesHTTP1
internal import Realtime
internal import REST
internal import SecureSocket
internal import Telemetry
internal import TrafficControl

extension HTTPExchange {
    /// Passes the request to the router.
    ///
    /// - Parameter body: `nil` if the body is too long. A route that reads it receives an error.
    func respond(_ head: HTTPRequestHead, body: ByteBuffer?) {
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
            // Clients compare their clock with this header.
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

    func upgrade(_ head: HTTPRequestHead, _ admission: Admission, _ context: ChannelHandlerContext) {
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
