// The first bytes of a connection behind a layer-4 balancer: a PROXY protocol header, before TLS. Without a valid header the
// connection is closed, because its real client is unknown and no limit could apply to it.

internal import EnrouteWire
internal import NIOCore
internal import Realtime
internal import Telemetry
internal import TrafficControl

/// The client of a connection: the peer of the socket, or the client that a balancer names. Confined to the connection's loop.
final class ConnectionPeer {
    /// `nil` for a Unix socket, and for the balancer itself, for example when it checks the gateway's health. No limit per
    /// address applies to either.
    var address: SocketAddress?

    init(_ address: SocketAddress?) { self.address = address }
}

/// Removes the PROXY protocol header from the start of a connection, then itself. Must come before TLS. Confined to the
/// channel's loop.
final class ProxyHeaderHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let loop: LoopState
    private let mismatches: ProxyMismatchLog
    private let received: (ProxyHeader) throws -> Void
    private var bytes = ByteBuffer()
    private var deadline: Deadline?

    /// - Parameter received: called once, with the header. When it throws, the connection is closed.
    init(loop: LoopState, mismatches: ProxyMismatchLog, received: @escaping (ProxyHeader) throws -> Void) {
        self.loop = loop
        self.mismatches = mismatches
        self.received = received
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = NIOLoopBound(context.channel, eventLoop: context.eventLoop)
        let end = NIODeadline.now() + .seconds(Int64(self.loop.settings.limits.proxyHeaderSeconds))
        self.deadline = self.loop.deadlines.at(end) { [weak self] in
            guard let self, self.deadline != nil else { return }
            self.deadline = nil
            self.loop.counts.add(.proxyHeadersTimedOut)
            self.mismatches.record(.timedOut, from: channel.value.remoteAddress)
            channel.value.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.stopWaiting() }

    func channelInactive(context: ChannelHandlerContext) {
        // Balancers check a port by connecting and closing again: a connection without any byte is not a fault.
        if self.deadline != nil, self.bytes.readableBytes > 0 {
            self.loop.counts.add(.proxyHeadersMalformed)
            self.mismatches.record(.malformed, from: context.remoteAddress)
        }
        self.stopWaiting()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // The connection is closed already; later bytes are dropped.
        guard self.deadline != nil else { return }
        var read = self.unwrapInboundIn(data)
        self.bytes.writeBuffer(&read)
        switch self.bytes.withUnsafeReadableBytes(ProxyHeader.parse) {
        case .needsMoreBytes: break
        case .complete(let header, let length): self.complete(header, length, context)
        case .invalid(let fault):
            self.loop.counts.add(Metric(fault))
            self.mismatches.record(fault == .missing ? .missing : .malformed, from: context.remoteAddress)
            self.close(context)
        }
    }

    private func complete(_ header: ProxyHeader, _ length: Int, _ context: ChannelHandlerContext) {
        self.stopWaiting()
        do {
            try self.received(header)
        } catch {
            return self.close(context)
        }
        self.bytes.moveReaderIndex(forwardBy: length)
        let rest = self.bytes
        self.bytes = ByteBuffer()
        if rest.readableBytes > 0 { context.fireChannelRead(self.wrapInboundOut(rest)) }
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    private func close(_ context: ChannelHandlerContext) {
        self.stopWaiting()
        self.bytes = ByteBuffer()
        context.close(promise: nil)
    }

    private func stopWaiting() {
        self.deadline?.cancel()
        self.deadline = nil
    }
}

extension Metric {
    fileprivate init(_ fault: ProxyHeader.Fault) {
        switch fault {
        case .missing: self = .proxyHeadersMissing
        case .malformed, .tooLong: self = .proxyHeadersMalformed
        }
    }
}
