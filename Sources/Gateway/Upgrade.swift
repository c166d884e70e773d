// From HTTP to a WebSocket: who may, decided before the upgrade. NIO's typed upgrader loses the request when it refuses
// an upgrade, so only requests that shall be upgraded reach it, and a refusal is written here.

internal import Access
internal import EnrouteWire
internal import NIOCore
internal import NIOHTTP1

/// What an upgrade request is answered.
enum Admission {
    /// Signed in with the request, or to be signed in by the first message.
    case admitted(Grant?)
    case refused(HTTPResponseStatus, Problem)

    static let path = "/v1"

    /// - Parameter now: seconds since the epoch.
    init(_ head: HTTPRequestHead, _ tokens: TokenVerifier, now: Int64) {
        let offered = head.headers[canonicalForm: "sec-websocket-protocol"]
        guard offered.contains(where: { $0 == Limits.subprotocol }) else {
            self = .refused(
                .badRequest,
                Problem(
                    .badRequest, status: 400,
                    detail: "Offer the subprotocol \(Limits.subprotocol) in Sec-WebSocket-Protocol."))
            return
        }
        switch head.headers["authorization"].first {
        case nil: self = .admitted(nil)
        case let header?:
            do throws(TokenRefusal) {
                self = .admitted(try tokens.verify(bearer: header, now: now))
            } catch {
                self = .refused(.unauthorized, Problem(error))
            }
        }
    }
}

extension TokenVerifier {
    /// The grant of an `Authorization: Bearer` header (RFC 6750).
    func verify(bearer header: String, now: Int64) throws(TokenRefusal) -> Grant {
        guard header.count > 7, header.prefix(7).lowercased() == "bearer " else { throw .malformed }
        return try self.verify(String(header.dropFirst(7)), now: now)
    }
}

/// Sits before NIO's upgrader for a connection's first request. Every other request than one for a WebSocket goes on
/// without its `Upgrade` header, to the router.
final class UpgradeGate: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let tokens: TokenVerifier
    private var isRefusing = false
    /// Who is admitted by the request that is being upgraded.
    private(set) var grant: Grant?

    init(tokens: TokenVerifier) { self.tokens = tokens }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.isRefusing else { return }
        guard case .head(var head) = self.unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        if head.uri.namesToken {
            // Refused on every path: what is in a URL ends up in logs and histories.
            return self.refuse(
                context, head, .badRequest,
                Problem(.badRequest, status: 400, detail: "A token must not be in a URL: use the Authorization header.")
            )
        }
        guard head.headers.contains(name: "upgrade") else { return context.fireChannelRead(data) }
        let isWebSocket = head.headers[canonicalForm: "upgrade"].contains { $0.lowercased() == "websocket" }
        guard isWebSocket, head.uri == Admission.path else {
            head.headers.remove(name: "upgrade")
            return context.fireChannelRead(self.wrapInboundOut(.head(head)))
        }
        switch Admission(head, self.tokens, now: .now / 1000) {
        case .admitted(let grant):
            self.grant = grant
            context.fireChannelRead(data)
        case .refused(let status, let problem): self.refuse(context, head, status, problem)
        }
    }

    private func refuse(
        _ context: ChannelHandlerContext, _ request: HTTPRequestHead, _ status: HTTPResponseStatus, _ problem: Problem
    ) {
        self.isRefusing = true
        var body = context.channel.allocator.buffer(capacity: 256)
        body.writeBytes(problem.json)
        let headers: HTTPHeaders = [
            "content-type": Problem.mediaType, "content-length": String(body.readableBytes), "connection": "close",
        ]
        let head = HTTPResponseHead(version: request.version, status: status, headers: headers)
        context.write(self.wrapOutboundOut(.head(head)), promise: nil)
        context.write(self.wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        let channel = context.channel
        context.writeAndFlush(self.wrapOutboundOut(.end(nil))).whenComplete { _ in channel.close(promise: nil) }
    }
}

extension String {
    /// Whether the query names a token.
    fileprivate var namesToken: Bool {
        guard let query = self.split(separator: "?", maxSplits: 1).dropFirst().first else { return false }
        return query.split(separator: "&").contains { member in
            ["token", "access_token", "jwt", "bearer"].contains(member.prefix { $0 != "=" }.lowercased())
        }
    }
}

/// Ends a connection that has not sent its first request in time, or that the gateway wants to be rid of before.
final class FirstRequestDeadline: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let seconds: Int
    private var timeout: Scheduled<Void>?

    init(seconds: Int) { self.seconds = seconds }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        self.timeout = context.eventLoop.scheduleTask(in: .seconds(Int64(self.seconds))) {
            channel.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.timeout?.cancel() }

    func channelInactive(context: ChannelHandlerContext) {
        self.timeout?.cancel()
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }
}
