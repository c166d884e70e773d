// In front of the HTTP decoder: gives it one request at a time. While an answer is under way nothing is read from the
// connection, and what was read already waits here: TLS hands over up to 16 KiB at once, and the kernel all it has when the
// peer closes its side. So a peer that sends requests and takes no answers costs what one request and one answer cost.

internal import EnrouteWire
internal import HTTPValues
internal import NIOCore
internal import NIOHTTP1

/// Reads for `HTTPExchange`. Confined to the channel's loop.
final class RequestFeed: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Mode {
        case requests
        /// What comes is read and thrown away: the answer that ends the connection is on its way.
        case discarding
        /// The connection is a session, which is the next handler.
        case handedOver
    }

    /// Bytes that wait for their turn, at most; with more the connection is closed.
    static let maxBufferedBytes = 262_144

    weak var exchange: HTTPExchange?
    private var context: ChannelHandlerContext?
    private var mode = Mode.requests
    private var framing = RequestFraming()
    private var held = ByteBuffer()
    /// Heads and ends that the decoder has found.
    private var (heads, ends) = (0, 0)
    private var isFeeding = false
    private var isReplacingDecoder = false
    /// The decoder reads no further after a request that could have been an upgrade.
    private var isDecoderDone = false
    /// Somebody asked for bytes while none may be read.
    private var isReadHeld = false
    /// The peer sends no more.
    private(set) var isInputOver = false

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        self.held = ByteBuffer()
    }

    // MARK: from the peer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        switch self.mode {
        case .discarding: return
        case .handedOver: context.fireChannelRead(data)
        case .requests:
            if self.held.readableBytes == 0 { self.held = bytes } else { self.held.writeBuffer(&bytes) }
            guard self.held.readableBytes <= Self.maxBufferedBytes else { return context.close(promise: nil) }
            self.feed(context)
        }
    }

    func read(context: ChannelHandlerContext) {
        guard self.mayRead else {
            self.isReadHeld = true
            return
        }
        context.read()
    }

    private var mayRead: Bool {
        switch self.mode {
        case .requests: !self.framing.isComplete && !self.isReplacingDecoder
        case .discarding, .handedOver: true
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The decoder would take this for the end of what it is given, and more of that may wait here.
        guard case ChannelEvent.inputClosed? = event as? ChannelEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        self.isInputOver = true
        guard !self.isFeeding else { return }
        self.afterFeeding(context)
    }

    // MARK: to the decoder

    private func feed(_ context: ChannelHandlerContext) {
        guard !self.isFeeding else { return }
        self.isFeeding = true
        while case .requests = self.mode, !self.isReplacingDecoder, self.held.readableBytes > 0, self.feedOnce(context)
        {
        }
        self.isFeeding = false
        if self.held.readableBytes == 0 { self.held = ByteBuffer() }
        if case .requests = self.mode, self.framing.hasBegun, !self.framing.isComplete { self.exchange?.waitForRest() }
        self.afterFeeding(context)
    }

    /// - Returns: whether there may be more to do.
    private func feedOnce(_ context: ChannelHandlerContext) -> Bool {
        let count: Int
        do throws(RequestFraming.Violation) {
            count = try self.held.withUnsafeReadableBytes { bytes throws(RequestFraming.Violation) in
                try self.framing.take(bytes)
            }
        } catch {
            self.exchange?.refuse(.init(status: .badRequest, problem: Problem(error)))
            return false
        }
        guard count > 0, let piece = self.held.readSlice(length: count) else { return false }
        let (heads, ends, isHead, isWhole) = (self.heads, self.ends, self.framing.isHeadEnded, self.framing.isComplete)
        context.fireChannelRead(self.wrapInboundOut(piece))
        guard case .requests = self.mode else { return false }
        // What ends for us and not for the decoder, two readers understand differently.
        if isHead && self.heads == heads || isWhole && self.ends == ends { self.exchange?.refuseAsMalformed() }
        return true
    }

    private func afterFeeding(_ context: ChannelHandlerContext) {
        if case .handedOver = self.mode { return self.leave(context) }
        if self.isInputOver, case .discarding = self.mode { self.exchange?.inputEnded(isInRequest: false) }
        if self.isInputOver, case .requests = self.mode, !self.framing.isComplete, !self.isReplacingDecoder {
            self.exchange?.inputEnded(isInRequest: self.framing.hasBegun)
        }
        guard self.isReadHeld, self.mayRead else { return }
        self.isReadHeld = false
        context.read()
    }

    // MARK: for the exchange

    /// The decoder has found a head.
    ///
    /// - Parameter isDecoderDone: after this request the decoder reads no further.
    /// - Returns: whether it ends where we see its end.
    func headEnded(_ body: RequestFraming.Body, isDecoderDone: Bool) -> Bool {
        self.heads += 1
        guard self.framing.isHeadEnded else { return false }
        self.framing.expect(body)
        self.isDecoderDone = isDecoderDone
        return true
    }

    /// The decoder has found the end of a request.
    ///
    /// - Returns: whether it is where we see it.
    func requestEnded() -> Bool {
        self.ends += 1
        return self.framing.isComplete
    }

    /// The answer is taken: on with the next request.
    func next() {
        guard case .requests = self.mode, let context = self.context else { return }
        self.framing = RequestFraming()
        guard self.isDecoderDone else { return self.feed(context) }
        self.isDecoderDone = false
        self.replaceDecoder(context)
    }

    func discard() {
        self.mode = .discarding
        self.held = ByteBuffer()
        guard self.isReadHeld, let context = self.context else { return }
        self.isReadHeld = false
        context.read()
    }

    /// The next handler is a session now: it gets what came after the request that made it, and all that follows.
    func handOver() {
        self.mode = .handedOver
        guard !self.isFeeding, let context = self.context else { return }
        self.leave(context)
    }

    private func leave(_ context: ChannelHandlerContext) {
        let rest = self.held
        self.held = ByteBuffer()
        if rest.readableBytes > 0 {
            context.fireChannelRead(self.wrapInboundOut(rest))
            context.fireChannelReadComplete()
        }
        if self.isInputOver { context.close(promise: nil) }
        if self.isReadHeld { context.read() }
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

    /// With the bounds of a head.
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
