// Writes the response of a route to its connection in pieces, each after the kernel has accepted the previous one. So at most
// one piece is buffered for a client that reads slowly, regardless of the length of the response and the number of requests
// that the client has sent.

internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypesHTTP1
internal import REST
internal import Telemetry

/// An HTTP connection and its requests, one after the other.
struct HTTPConnection: Sendable {
    let channel: any Channel
    /// Finishes when the connection closes or becomes a session. The next request follows after the response to the previous
    /// one has been written.
    let requests: AsyncStream<PendingRequest>
    let server: Connections

    /// Responds to all requests. Returns after the last one; cancelling the task closes the connection.
    func serve(_ logger: Logger) async {
        await withTaskCancellationHandler {
            for await pending in self.requests {
                do {
                    try await self.server.responder(pending, self.channel)
                } catch {
                    // The response is incomplete. Closing the connection signals that to the client, and it could not
                    // carry another response anyway.
                    logger.trace("response not written", metadata: [LogKey.reason: "\(error)"])
                    self.channel.close(promise: nil)
                }
            }
        } onCancel: {
            self.channel.close(promise: nil)
        }
    }
}

/// A complete request, and the writer for its response.
struct PendingRequest: Sendable {
    let request: Request
    let response: ResponseWriter
    /// The client's address, where it is known.
    let peer: SocketAddress?
}

/// Writes one response.
struct ResponseWriter: ResponseBodyWriter, Sendable {
    private let exchange: NIOLoopBound<HTTPExchange>
    private let eventLoop: any EventLoop
    private let pieceBytes: Int
    /// The head, until it is written.
    private var head: HTTPResponseHead?
    /// The number of body bytes not written yet; `nil` if the length of the body is unknown.
    private var remainingBytes: Int?
    /// The last piece, which is sent together with the end of the response.
    private var lastPiece: ByteBuffer?

    /// - Parameter pieceBytes: the maximum size of a piece in bytes.
    init(exchange: NIOLoopBound<HTTPExchange>, eventLoop: any EventLoop, pieceBytes: Int) {
        self.exchange = exchange
        self.eventLoop = eventLoop
        self.pieceBytes = pieceBytes
    }

    /// Writes the response. Returns after the kernel has accepted all of it.
    ///
    /// - Throws: `ChannelError` if the connection is closed, and any error of the body.
    func write(response head: HTTPResponse, body: consuming ResponseBody) async throws {
        var writer = self
        writer.head = HTTPResponseHead(head)
        writer.remainingBytes = body.contentLength
        try await body.write(writer)
    }

    mutating func write(_ buffer: ByteBuffer) async throws {
        var remaining = buffer
        while remaining.readableBytes > self.pieceBytes, let piece = remaining.readSlice(length: self.pieceBytes) {
            try await self.send(piece, isLast: false)
        }
        if let remainingBytes, remainingBytes <= buffer.readableBytes {
            self.lastPiece = remaining
        } else {
            try await self.send(remaining, isLast: false)
        }
        self.remainingBytes = self.remainingBytes.map { max(0, $0 - buffer.readableBytes) }
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        var writer = self
        try await writer.send(writer.lastPiece, isLast: true)
    }

    private mutating func send(_ piece: ByteBuffer?, isLast: Bool) async throws {
        let (head, exchange) = (self.head, self.exchange)
        self.head = nil
        try await self.eventLoop.flatSubmit { exchange.value.send(head, piece, isLast: isLast) }.get()
    }
}

/// A placeholder for a body that is too long. Reading it throws.
struct BodyTooLong: AsyncSequence, AsyncIteratorProtocol, Sendable {
    typealias Element = ByteBuffer

    func makeAsyncIterator() -> BodyTooLong { self }

    func next() async throws -> ByteBuffer? { throw NIOTooManyBytesError(maxBytes: Routes.maxBodyBytes) }
}
