// How a route's answer gets to its connection: in pieces, each written when the kernel has taken the one before. So what waits
// for a peer that reads slowly is one piece, however long the answer is and however many requests the peer has sent.

internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypesHTTP1
internal import REST
internal import Telemetry

/// A connection that asks for something plain, and the requests it makes, one after the other.
struct HTTPConnection: Sendable {
    let channel: any Channel
    /// Ends with the connection, or when it becomes a session. The next one comes when the one before is answered.
    let requests: AsyncStream<PlainRequest>
    let server: Connections

    /// Answers all requests. Ends with them, or when the task is cancelled: then the connection is closed.
    func serve(_ logger: Logger) async {
        await withTaskCancellationHandler {
            for await asked in self.requests {
                do {
                    try await self.server.responder(asked.request, asked.answer, self.channel)
                } catch {
                    // The answer is cut off. The peer has to see that, and the connection can carry no other.
                    logger.trace("response not written", metadata: [LogKey.reason: "\(error)"])
                    self.channel.close(promise: nil)
                }
            }
        } onCancel: {
            self.channel.close(promise: nil)
        }
    }
}

/// A request, whole, and where its answer goes.
struct PlainRequest: Sendable {
    let request: Request
    let answer: ResponseWriter
}

/// Writes one answer.
struct ResponseWriter: ResponseBodyWriter, Sendable {
    private let exchange: NIOLoopBound<HTTPExchange>
    private let eventLoop: any EventLoop
    private let pieceBytes: Int
    /// Not written yet.
    private var head: HTTPResponseHead?
    /// Bytes of the body that are still to come; `nil` where nobody knows.
    private var missing: Int?
    /// The last bytes, which go with the end.
    private var last: ByteBuffer?

    /// - Parameter pieceBytes: what may wait for the connection, bytes.
    init(exchange: NIOLoopBound<HTTPExchange>, eventLoop: any EventLoop, pieceBytes: Int) {
        self.exchange = exchange
        self.eventLoop = eventLoop
        self.pieceBytes = pieceBytes
    }

    /// Returns when the kernel has taken all of it.
    ///
    /// - Throws: when the connection is gone, and what the body throws.
    func write(response head: HTTPResponse, body: consuming ResponseBody) async throws {
        var writer = self
        writer.head = HTTPResponseHead(head)
        writer.missing = body.contentLength
        try await body.write(writer)
    }

    mutating func write(_ buffer: ByteBuffer) async throws {
        var rest = buffer
        while rest.readableBytes > self.pieceBytes, let piece = rest.readSlice(length: self.pieceBytes) {
            try await self.send(piece, isLast: false)
        }
        if let missing, missing <= buffer.readableBytes {
            self.last = rest
        } else {
            try await self.send(rest, isLast: false)
        }
        self.missing = self.missing.map { max(0, $0 - buffer.readableBytes) }
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        var writer = self
        try await writer.send(writer.last, isLast: true)
    }

    private mutating func send(_ piece: ByteBuffer?, isLast: Bool) async throws {
        let (head, exchange) = (self.head, self.exchange)
        self.head = nil
        try await self.eventLoop.flatSubmit { exchange.value.send(head, piece, isLast: isLast) }.get()
    }
}

/// A body that nobody reads, because it is too long.
struct BodyTooLong: AsyncSequence, AsyncIteratorProtocol, Sendable {
    typealias Element = ByteBuffer

    func makeAsyncIterator() -> BodyTooLong { self }

    func next() async throws -> ByteBuffer? { throw NIOTooManyBytesError(maxBytes: Routes.maxBodyBytes) }
}
