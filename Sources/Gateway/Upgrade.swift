// From HTTP to a WebSocket. NIO's typed upgrader loses the request when it refuses an upgrade, so only requests that
// shall be upgraded reach it, and a refusal is written here.

internal import Crypto
internal import EnrouteWire
internal import FoundationEssentials
internal import NIOCore
internal import NIOHTTP1

/// Sits before NIO's upgrader for a connection's first request. Every other request than one for a WebSocket goes on
/// without its `Upgrade` header, to the router.
final class UpgradeGate: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let loop: LoopState
    private let allowsUpgrade: Bool
    private var isOver = false
    /// What is admitted by the request that is being upgraded, and whom it counts for.
    private(set) var admission: Admission?
    private(set) var address: ClientAddress?

    init(loop: LoopState, allowsUpgrade: Bool) {
        self.loop = loop
        self.allowsUpgrade = allowsUpgrade
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.isOver else { return }
        // Bytes may follow the request for an upgrade in the same packet: once NIO has taken the decoder away they come as
        // they are, and are no part of a request.
        guard self.admission == nil else { return context.fireChannelRead(data) }
        guard case .head(var head) = self.unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        if head.uri.namesToken { return self.refuse(context, head, .init(bad: TokenFreeURLs.refusal)) }
        guard head.headers.contains(name: "upgrade") else { return context.fireChannelRead(data) }
        let isWebSocket = head.headers[canonicalForm: "upgrade"].contains { $0.lowercased() == "websocket" }
        guard self.allowsUpgrade, isWebSocket, Admission.isWebSocketPath(head.uri, self.loop.settings) else {
            head.headers.remove(name: "upgrade")
            return context.fireChannelRead(self.wrapInboundOut(.head(head)))
        }
        self.address = self.loop.settings.trustedProxies.client(
            of: context.channel.remoteAddress, forwardedFor: head.headers["x-forwarded-for"])
        let admission = Admission(head, from: self.address, self.loop)
        if case .refused(let refusal) = admission { return self.refuse(context, head, refusal) }
        self.admission = admission
        context.fireChannelRead(data)
    }

    /// What came is no HTTP. NIO's decoder, when it is removed afterwards, hands on the bytes it has left as if there had been
    /// an upgrade, and whoever takes them for a request ends the process.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.isOver = true
        context.fireErrorCaught(error)
    }

    private func refuse(_ context: ChannelHandlerContext, _ request: HTTPRequestHead, _ refusal: Admission.Refusal) {
        self.isOver = true
        let trace = RequestTrace(request.headers["traceparent"])
        let body = ByteBuffer(bytes: refusal.problem.json(trace))
        var headers = refusal.headers
        headers.add(name: "traceresponse", value: trace.traceresponse)
        headers.add(name: "content-type", value: Problem.mediaType)
        headers.add(name: "content-length", value: String(body.readableBytes))
        headers.add(name: "connection", value: "close")
        let head = HTTPResponseHead(version: request.version, status: refusal.status, headers: headers)
        context.write(self.wrapOutboundOut(.head(head)), promise: nil)
        context.write(self.wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        let channel = context.channel
        context.writeAndFlush(self.wrapOutboundOut(.end(nil))).whenComplete { _ in channel.close(promise: nil) }
    }
}

/// Performs an upgrade that `UpgradeGate` has admitted. Frames are ours (`WebSocketReader`), so nothing of NIO's stays.
struct WebSocketUpgrader: NIOTypedHTTPServerProtocolUpgrader {
    let supportedProtocol = "websocket"
    let requiredUpgradeHeaders: [String] = []
    /// Makes the session out of the connection.
    let upgraded: @Sendable (any Channel) -> EventLoopFuture<HTTPConnection?>

    func buildUpgradeResponse(
        channel: any Channel, upgradeRequest: HTTPRequestHead, initialResponseHeaders: HTTPHeaders
    ) -> EventLoopFuture<HTTPHeaders> {
        var headers = initialResponseHeaders
        let key = upgradeRequest.headers["sec-websocket-key"].first ?? ""
        headers.replaceOrAdd(name: "upgrade", value: "websocket")
        headers.replaceOrAdd(name: "connection", value: "upgrade")
        headers.add(name: "sec-websocket-accept", value: Self.accept(key))
        if upgradeRequest.headers[canonicalForm: "sec-websocket-protocol"].contains(where: { $0 == Limits.subprotocol })
        {
            headers.add(name: "sec-websocket-protocol", value: Limits.subprotocol)
        }
        return channel.eventLoop.makeSucceededFuture(headers)
    }

    func upgrade(channel: any Channel, upgradeRequest: HTTPRequestHead) -> EventLoopFuture<HTTPConnection?> {
        self.upgraded(channel)
    }

    /// RFC 6455 section 4.2.2, item 5.4.
    static func accept(_ key: String) -> String {
        Data(Insecure.SHA1.hash(data: Data((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))).base64EncodedString()
    }
}
