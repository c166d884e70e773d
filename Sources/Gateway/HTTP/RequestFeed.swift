// The handler in front of the HTTP decoder. It passes one request at a time to the decoder. While a response is being
// written, nothing is read from the connection. Bytes that were read already are buffered here: TLS delivers up to 16 KiB at a
// time, and the kernel delivers everything it has when the client closes its side. So a client that sends requests without
// reading the responses uses no more memory than one request and one response.

internal import EnrouteWire
internal import HTTPValues
internal import NIOCore
internal import NIOHTTP1

/// Reads requests for `HTTPExchange`. Confined to the channel's event loop.
final class RequestFeed: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Mode {
        case requests
        /// Received bytes are discarded, because the connection closes after the current response.
        case discarding
        /// The connection has become a session, which is the next handler.
        case handedOver
    }

    /// The maximum number of buffered bytes. If a client sends more, the connection is closed.
    static let maxBufferedBytes = 262_144

    weak var exchange: HTTPExchange?
    private var context: ChannelHandlerContext?
    private var mode = Mode.requests
    private var framing = RequestFraming()
    private var buffered = ByteBuffer()
    /// The numbers of heads and ends of requests that the decoder has found.
    private var (heads, ends) = (0, 0)
    private var isFeeding = false
    private var isReplacingDecoder = false
    /// The decoder stops parsing after a request with an `Upgrade` header and must be replaced.
    private var mustReplaceDecoder = false
    /// A read was requested while reading was paused.
    private var hasPendingRead = false
    /// The client has closed its side of the connection.
    private(set) var isInputClosed = false

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        self.buffered = ByteBuffer()
    }

    // MARK: from the peer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        switch self.mode {
        case .discarding: return
        case .handedOver: context.fireChannelRead(data)
        case .requests:
            if self.buffered.readableBytes == 0 { self.buffered = bytes } else { self.buffered.writeBuffer(&bytes) }
            guard self.buffered.readableBytes <= Self.maxBufferedBytes else { return context.close(promise: nil) }
            self.feed(context)
        }
    }

    func read(context: ChannelHandlerContext) {
        guard self.canRead else {
            self.hasPendingRead = true
            return
        }
        context.read()
    }

    private var canRead: Bool {
        switch self.mode {
        case .requests: !self.framing.isComplete && !self.isReplacingDecoder
        case .discarding, .handedOver: true
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // Not forwarded: the decoder would treat it as the end of its input, but more requests may still be buffered here.
        guard case ChannelEvent.inputClosed? = event as? ChannelEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        self.isInputClosed = true
        guard !self.isFeeding else { return }
        self.afterFeeding(context)
    }

    // MARK: to the decoder

    private func feed(_ context: ChannelHandlerContext) {
        guard !self.isFeeding else { return }
        self.isFeeding = true
        while case .requests = self.mode, !self.isReplacingDecoder, self.buffered.readableBytes > 0,
            self.feedOnce(context)
        {
        }
        self.isFeeding = false
        if self.buffered.readableBytes == 0 { self.buffered = ByteBuffer() }
        if case .requests = self.mode, self.framing.hasStarted, !self.framing.isComplete {
            self.exchange?.waitForRest()
        }
        self.afterFeeding(context)
    }

    /// Passes bytes of one request to the decoder.
    ///
    /// - Returns: whether to call this method again.
    private func feedOnce(_ context: ChannelHandlerContext) -> Bool {
        let count: Int
        do throws(RequestFraming.Violation) {
            count = try self.buffered.withUnsafeReadableBytes { bytes throws(RequestFraming.Violation) in
                try self.framing.consume(bytes)
            }
        } catch {
            self.exchange?.refuse(.init(status: .badRequest, problem: Problem(error)))
            return false
        }
        guard count > 0, let piece = self.buffered.readSlice(length: count) else { return false }
        let (heads, ends, isHead, isWhole) = (self.heads, self.ends, self.framing.isHeadEnded, self.framing.isComplete)
        context.fireChannelRead(self.wrapInboundOut(piece))
        guard case .requests = self.mode else { return false }
        // The framing found an end that the decoder did not: the request is ambiguous.
        if isHead && self.heads == heads || isWhole && self.ends == ends { self.exchange?.refuseAsMalformed() }
        return true
    }

    private func afterFeeding(_ context: ChannelHandlerContext) {
        if case .handedOver = self.mode { return self.removeSelf(context) }
        if self.isInputClosed, case .discarding = self.mode { self.exchange?.inputClosed(isInRequest: false) }
        if self.isInputClosed, case .requests = self.mode, !self.framing.isComplete, !self.isReplacingDecoder {
            self.exchange?.inputClosed(isInRequest: self.framing.hasStarted)
        }
        guard self.hasPendingRead, self.canRead else { return }
        self.hasPendingRead = false
        context.read()
    }

    // MARK: for the exchange

    /// The decoder has found the end of a head.
    ///
    /// - Parameter mustReplaceDecoder: whether the decoder stops parsing after this request.
    /// - Returns: whether `RequestFraming` sees the end at the same position.
    func headEnded(_ body: RequestFraming.Body, mustReplaceDecoder: Bool) -> Bool {
        self.heads += 1
        guard self.framing.isHeadEnded else { return false }
        self.framing.expect(body)
        self.mustReplaceDecoder = mustReplaceDecoder
        return true
    }

    /// The decoder has found the end of a request.
    ///
    /// - Returns: whether `RequestFraming` sees the end at the same position.
    func requestEnded() -> Bool {
        self.ends += 1
        return self.framing.isComplete
    }

    /// The response is written: continue with the next request.
    func next() {
        guard case .requests = self.mode, let context = self.context else { return }
        self.framing = RequestFraming()
        guard self.mustReplaceDecoder else { return self.feed(context) }
        self.mustReplaceDecoder = false
        self.replaceDecoder(context)
    }

    func discard() {
        self.mode = .discarding
        self.buffered = ByteBuffer()
        guard self.hasPendingRead, let context = self.context else { return }
        self.hasPendingRead = false
        context.read()
    }

    /// The next handler is now a session. It receives the bytes that followed the upgrade request, and all later ones.
    func handOver() {
        self.mode = .handedOver
        guard !self.isFeeding, let context = self.context else { return }
        self.removeSelf(context)
    }

    private func removeSelf(_ context: ChannelHandlerContext) {
        let remaining = self.buffered
        self.buffered = ByteBuffer()
        if remaining.readableBytes > 0 {
            context.fireChannelRead(self.wrapInboundOut(remaining))
            context.fireChannelReadComplete()
        }
        if self.isInputClosed { context.close(promise: nil) }
        if self.hasPendingRead { context.read() }
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    private func replaceDecoder(_ context: ChannelHandlerContext) {
        let sync = context.pipeline.syncOperations
        guard let old = try? sync.context(handlerType: Decoder.self), let exchange = self.exchange else {
            return context.close(promise: nil)
        }
        self.isReplacingDecoder = true
        let removed = context.eventLoop.makePromise(of: Void.self)
        removed.futureResult.assumeIsolated().whenComplete { _ in
            guard let context = self.context, context.channel.isActive else { return }
            do { try sync.addHandler(Self.decoder(), position: .before(exchange)) } catch {
                return context.close(promise: nil)
            }
            self.isReplacingDecoder = false
            self.feed(context)
        }
        sync.removeHandler(context: old, promise: removed)
    }

    typealias Decoder = ByteToMessageHandler<HTTPRequestDecoder>

    /// Returns a decoder with limits for the size and number of headers.
    static func decoder() -> Decoder {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderListSize = Connections.maxHeaderBytes
        limits.maxHeaderFieldSize = Connections.maxHeaderBytes
        limits.maxHeaderFieldCount = Connections.maxHeaders
        return ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: limits))
    }
}

extension Problem {
    fileprivate init(_ violation: RequestFraming.Violation) {
        let what =
            switch violation {
            case .head: "The request line and headers are longer than \(RequestFraming.maxHeadBytes) bytes."
            case .chunkSize: "The size of a chunk has too many digits."
            case .chunkExtensions:
                "The chunk extensions of the body are longer than \(RequestFraming.maxChunkExtensionBytes) bytes."
            case .trailers: "The trailers of the request are longer than \(RequestFraming.maxHeadBytes) bytes."
            }
        self.init(.badRequest, status: 400, detail: what)
    }
}
