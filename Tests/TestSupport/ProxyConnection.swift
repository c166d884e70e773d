// One connection through LossyProxy: two directions, each a queue of delayed parcels. The end of a connection is a parcel too,
// so that it stays behind what was sent before it.

internal import NIOCore

/// A client and its own connection to Redis. Confined to the event loop of its exchange.
final class ProxyConnection {
    private let exchange: ProxyExchange
    private var framing = PushFraming()
    let toServer: ProxyLine
    private let toClient: ProxyLine
    private var isClosed = false

    init(exchange: ProxyExchange, client: any Channel) {
        self.exchange = exchange
        self.toServer = ProxyLine(exchange)
        self.toClient = ProxyLine(exchange)
        self.toClient.destination = client
        for line in [self.toServer, self.toClient] { line.onEnd = { [weak self] in self?.close() } }
    }

    /// Whether the connection to Redis is established.
    func stands(_ server: any Channel) {
        guard !self.isClosed else { return server.close(promise: nil) }
        self.toServer.destination = server
        self.toServer.pump()
    }

    /// Data from Redis.
    func hear(_ parcel: ProxyLine.Parcel) {
        guard case .bytes(let bytes) = parcel else { return self.toClient.put(parcel) }
        for frame in self.framing.frames(adding: bytes) {
            if case .push(let channel, _) = frame, self.exchange.losses.takes(pushOf: channel) { continue }
            self.toClient.put(.bytes(frame.bytes))
        }
    }

    func pump() {
        self.toServer.pump()
        self.toClient.pump()
    }

    /// Closes both sides, without waiting for bytes in flight.
    func close() {
        self.isClosed = true
        self.exchange.forget(self)
        for line in [self.toServer, self.toClient] {
            line.destination?.close(promise: nil)
            line.destination = nil
        }
    }
}

/// One direction of a connection.
final class ProxyLine {
    enum Parcel {
        case bytes(ByteBuffer)
        case end
    }

    private let exchange: ProxyExchange
    private var waiting = CircularBuffer<(due: NIODeadline, parcel: Parcel)>()
    private var alarm: Scheduled<Void>?
    /// The destination; `nil` until it is connected, and after its end.
    var destination: (any Channel)?
    var onEnd: (() -> Void)?

    init(_ exchange: ProxyExchange) { self.exchange = exchange }

    func put(_ parcel: Parcel) {
        self.waiting.append((.now() + self.exchange.delay, parcel))
        self.pump()
    }

    /// Delivers what is due, unless held back.
    func pump() {
        while let destination = self.destination, !self.exchange.isHolding, let first = self.waiting.first {
            guard first.due <= .now() else { return self.pump(at: first.due) }
            switch self.waiting.removeFirst().parcel {
            case .bytes(let bytes): destination.writeAndFlush(bytes, promise: nil)
            case .end:
                let bound = NIOLoopBound(self, eventLoop: self.exchange.eventLoop)
                // After what was written before it.
                destination.writeAndFlush(ByteBuffer()).whenComplete { _ in bound.value.onEnd?() }
            }
        }
    }

    private func pump(at due: NIODeadline) {
        guard self.alarm == nil else { return }
        let bound = NIOLoopBound(self, eventLoop: self.exchange.eventLoop)
        self.alarm = self.exchange.eventLoop.scheduleTask(deadline: due) {
            bound.value.alarm = nil
            bound.value.pump()
        }
    }
}

/// Receives the input of one side of a connection.
final class ProxyInput: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let hear: (ProxyLine.Parcel) -> Void

    init(_ hear: @escaping (ProxyLine.Parcel) -> Void) { self.hear = hear }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { self.hear(.bytes(self.unwrapInboundIn(data))) }
    func channelInactive(context: ChannelHandlerContext) { self.hear(.end) }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
