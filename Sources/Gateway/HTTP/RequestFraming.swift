// Finds the end of a request in the bytes of a connection (RFC 9112 sections 2.1, 6 and 7.1).
//
// NIO's decoder parses everything it receives, so one packet of pipelined requests would become hundreds of requests in
// memory. It therefore receives one request at a time, and this type determines which bytes belong to it. It parses only as
// much of HTTP as that requires and leaves all other checks to the decoder. If the two disagree about the end of a request,
// the connection is closed.

internal import EnrouteWire

/// Tracks one request from its first byte to its last.
struct RequestFraming {
    /// The framing of the body, as announced by the head.
    enum Body: Hashable, Sendable {
        case none
        case length(Int)
        case chunked
    }

    /// A part of the request exceeds a limit that the decoder does not enforce.
    enum Violation: Error, Hashable {
        case head, chunkSize, chunkExtensions, trailers
    }

    private enum State: Hashable {
        /// Before the first byte of the request line. Empty lines before it are skipped (section 2.2).
        case beforeRequest
        case head(isLineEmpty: Bool)
        /// The head is complete; waiting for a call of `expect`.
        case headEnded
        case body(remaining: Int)
        case chunkSize(size: Int, digits: Int)
        case chunkExtension(size: Int)
        /// The data of a chunk and the line break after it.
        case chunk(remaining: Int)
        case trailers(isLineEmpty: Bool)
        case complete
    }

    /// The maximum size of a head, or of the trailers, in bytes. It includes separators and whitespace; the decoder's limit
    /// covers only names and values.
    static let maxHeadBytes = 2 * Connections.maxHeaderBytes
    /// The maximum size of all chunk extensions of a body in bytes (RFC 9112 section 7.1.1). They are ignored.
    static let maxChunkExtensionBytes = 4096
    /// The maximum number of digits in a chunk size, without leading zeros. It allows far more than a body may contain, and
    /// prevents an overflow of `Int`.
    private static let maxSizeDigits = 15

    private var state = State.beforeRequest
    private var headBytes = 0
    private var extensionBytes = 0
    private var trailerBytes = 0

    /// Whether the first byte of the request has been received.
    var hasStarted: Bool { self.state != .beforeRequest }
    /// Whether the head is complete and `expect` must be called.
    var isHeadEnded: Bool { self.state == .headEnded }
    /// Whether the request is complete.
    var isComplete: Bool { self.state == .complete }

    /// Sets the framing of the body after the head is complete.
    mutating func expect(_ body: Body) {
        precondition(self.isHeadEnded, "a body is expected after a head, and only there")
        self.state =
            switch body {
            case .none, .length(0): .complete
            case .length(let count): .body(remaining: count)
            case .chunked: .chunkSize(size: 0, digits: 0)
            }
    }

    /// Consumes bytes of the request.
    ///
    /// - Returns: the number of leading bytes that belong to the request. If it is less than `bytes.count`, the head or the
    ///   request ends there.
    mutating func consume(_ bytes: UnsafeRawBufferPointer) throws(Violation) -> Int {
        var index = 0
        while index < bytes.count {
            switch self.state {
            case .headEnded, .complete: return index
            case .body(let remaining):
                let count = min(remaining, bytes.count - index)
                index += count
                self.state = count == remaining ? .complete : .body(remaining: remaining - count)
            case .chunk(let remaining):
                let count = min(remaining, bytes.count - index)
                index += count
                self.state =
                    count == remaining ? .chunkSize(size: 0, digits: 0) : .chunk(remaining: remaining - count)
            case .head(let isLineEmpty):
                index += try self.consumeLine(UnsafeRawBufferPointer(rebasing: bytes[index...]), isLineEmpty)
            default:
                try self.consume(bytes[index])
                index += 1
            }
        }
        return index
    }

    /// Consumes bytes of the head up to the end of a line, or all of them.
    ///
    /// - Parameter isEmpty: whether the line contains nothing yet, except carriage returns.
    private mutating func consumeLine(_ bytes: UnsafeRawBufferPointer, _ isEmpty: Bool) throws(Violation) -> Int {
        let end = bytes.firstIndex(of: UInt8(ascii: "\n"))
        let line = bytes[..<(end ?? bytes.count)]
        let count = end.map { $0 + 1 } ?? bytes.count
        try Self.count(&self.headBytes, count, atMost: Self.maxHeadBytes, .head)
        let isLineEmpty = isEmpty && line.allSatisfy { $0 == UInt8(ascii: "\r") }
        self.state = end == nil ? .head(isLineEmpty: isLineEmpty) : isLineEmpty ? .headEnded : .head(isLineEmpty: true)
        return count
    }

    /// Consumes one byte of a line-based part: an empty line before the head, chunk size, chunk extension or trailers.
    private mutating func consume(_ byte: UInt8) throws(Violation) {
        let (isLineFeed, isReturn) = (byte == UInt8(ascii: "\n"), byte == UInt8(ascii: "\r"))
        switch self.state {
        case .beforeRequest:
            try Self.count(&self.headBytes, atMost: Self.maxHeadBytes, .head)
            if !isLineFeed, !isReturn { self.state = .head(isLineEmpty: false) }
        case .chunkSize(let size, let digits):
            if let digit = byte.hexDigitValue {
                guard size > 0 || digit > 0 else {
                    return try Self.count(&self.extensionBytes, atMost: Self.maxChunkExtensionBytes, .chunkSize)
                }
                guard digits < Self.maxSizeDigits else { throw .chunkSize }
                self.state = .chunkSize(size: size << 4 | digit, digits: digits + 1)
            } else if isLineFeed {
                self.startChunk(of: size)
            } else if !isReturn {
                try Self.count(&self.extensionBytes, atMost: Self.maxChunkExtensionBytes, .chunkExtensions)
                self.state = .chunkExtension(size: size)
            }
        case .chunkExtension(let size):
            if isLineFeed { return self.startChunk(of: size) }
            try Self.count(&self.extensionBytes, atMost: Self.maxChunkExtensionBytes, .chunkExtensions)
        case .trailers(let isLineEmpty):
            try Self.count(&self.trailerBytes, atMost: Self.maxHeadBytes, .trailers)
            guard !isReturn else { return }
            self.state = isLineFeed && isLineEmpty ? .complete : .trailers(isLineEmpty: isLineFeed)
        case .head, .headEnded, .body, .chunk, .complete: break
        }
    }

    private mutating func startChunk(of size: Int) {
        self.state = size == 0 ? .trailers(isLineEmpty: true) : .chunk(remaining: size + 2)
    }

    private static func count(
        _ bytes: inout Int, _ more: Int = 1, atMost most: Int, _ violation: Violation
    ) throws(Violation) {
        bytes += more
        guard bytes <= most else { throw violation }
    }
}
