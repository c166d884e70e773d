// The server side of the WebSocket handshake (RFC 6455 section 4.2.2). `WebSocketReader` parses the frames, so all HTTP
// handlers of NIO leave the pipeline.

internal import Crypto
internal import EnrouteWire
internal import FoundationEssentials
internal import HTTPValues
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import Realtime
internal import SecureSocket
internal import Telemetry
internal import TrafficControl

/// The response to an admitted upgrade request.
enum WebSocketUpgrade {
    /// The encoded response. It is always the same except for two values, so it needs no encoder.
    static func response(to request: HTTPRequestHead) -> [UInt8] {
        let accept = Self.accept(request.headers["sec-websocket-key"].first ?? "")
        let isOffered = request.headers[canonicalForm: "sec-websocket-protocol"].contains { $0 == Limits.subprotocol }
        return Array(
            """
            HTTP/1.1 101 Switching Protocols\r
            upgrade: websocket\r
            connection: upgrade\r
            sec-websocket-accept: \(accept)\r
            \(isOffered ? "sec-websocket-protocol: \(Limits.subprotocol)\r\n" : "")\r

            """.utf8)
    }

    /// RFC 6455 section 4.2.2, item 5.4.
    static func accept(_ key: String) -> String {
        Data(Insecure.SHA1.hash(data: Data((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))).base64EncodedString()
    }
}

extension Connections {
    /// Turns the connection into a session, whose log lines contain the trace of the request if it has one. The HTTP handlers
    /// are removed, and the session is added after `feed`. The caller then calls `feed.handOver()`.
    func startSession(
        _ channel: any Channel, _ head: HTTPRequestHead, _ admission: Admission, _ address: ClientAddress?,
        after feed: RequestFeed, _ exchange: HTTPExchange
    ) throws {
        let (loop, socket) = (exchange.loop, exchange.socket)
        var logger = exchange.logger
        let traceparents = head.headers["traceparent"]
        if !traceparents.isEmpty {
            let trace = RequestTrace(traceparents)
            if trace.isContinued { logger[metadataKey: LogKey.trace] = "\(trace.traceID)" }
        }
        let sync = channel.pipeline.syncOperations
        for context in [
            try sync.context(handlerType: HTTPResponseEncoder.self),
            try sync.context(handlerType: RequestFeed.Decoder.self),
            try sync.context(handler: exchange),
        ] {
            sync.removeHandler(context: context, promise: nil)
        }
        socket.gathersAnswers = false
        // A session has nothing to send to a peer that has closed its side.
        try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: false)
        // Removed only after the session is added, because a draining gateway stops as soon as it has neither connections nor
        // sessions.
        defer { loop.remove(requestChannel: channel) }
        let session: any ChannelHandler
        switch admission {
        case .session(let admitted):
            session = Session(loop: loop, socket: socket, address: address, admitted: admitted, logger: logger)
        case .ticket(let ticket):
            session = Session(loop: loop, socket: socket, address: address, ticket: ticket, logger: logger)
        case .token(let token):
            session = Session(loop: loop, socket: socket, address: address, token: token, logger: logger)
        case .echo: session = EchoSession(socket: socket)
        case .refused: preconditionFailure("a refused request cannot be upgraded")
        }
        try sync.addHandler(session, position: .after(feed))
    }
}
