// Where a request ends in the bytes of a connection (RFC 9112 sections 2.1, 6 and 7.1).
//
// NIO's decoder reads all it is given, so one packet of pipelined requests would become hundreds of requests at once. It is
// therefore given one request at a time, and this value says which bytes are part of it. It understands no more of HTTP
// than that takes: the decoder checks everything else, and where the two disagree the connection ends.

/// Follows one request from its first byte to its last.
struct RequestFraming {
    /// What follows a head, as the head says.
    enum Body: Hashable, Sendable {
        case none
        case length(Int)
        case chunked
    }

    /// Longer than a request may be, wherever the decoder does not count.
    enum Violation: Error, Hashable {
        case head, chunkSize, chunkExtensions, trailers
    }

    private enum Place: Hashable {
        /// Before the first byte of the request line; empty lines before it are passed over (section 2.2).
        case blank
        case head(isLineEmpty: Bool)
        /// `expect` has to say what follows.
        case headEnded
        case body(remaining: Int)
        case chunkSize(size: Int, digits: Int)
        case chunkExtension(size: Int)
        /// With the line break behind it.
        case chunk(remaining: Int)
        case trailers(isLineEmpty: Bool)
        case complete
    }

    /// Bytes of a head, or of trailers, with everything between names and values. The decoder counts names and values alone.
    static let maxHeadBytes = 2 * Connections.maxHeaderBytes
    /// Bytes of chunk extensions in one body (RFC 9112 section 7.1.1): nobody here reads them.
    static let maxChunkExtensionBytes = 4096
    /// Digits of a chunk's size without zeros in front: far more than a body may hold, and no more than an `Int`.
    private static let maxSizeDigits = 15

    private var place = Place.blank
    private var headBytes = 0
    private var extensionBytes = 0
    private var trailerBytes = 0

    /// A byte of the request is here.
    var hasBegun: Bool { self.place != .blank }
    /// The head is here, and nobody has said yet what follows it.
    var isHeadEnded: Bool { self.place == .headEnded }
    /// The whole request is here: no byte more belongs to it.
    var isComplete: Bool { self.place == .complete }

    /// Says what follows the head that has just ended.
    mutating func expect(_ body: Body) {
        precondition(self.isHeadEnded, "a body is expected after a head, and only there")
        self.place =
            switch body {
            case .none, .length(0): .complete
            case .length(let count): .body(remaining: count)
            case .chunked: .chunkSize(size: 0, digits: 0)
            }
    }

    /// - Returns: how many of these bytes, from the first, belong to the request. Fewer than there are: the head ended there,
    ///   or the request.
    mutating func take(_ bytes: UnsafeRawBufferPointer) throws(Violation) -> Int {
        var index = 0
        while index < bytes.count {
            switch self.place {
            case .headEnded, .complete: return index
            case .body(let remaining):
                let count = min(remaining, bytes.count - index)
                index += count
                self.place = count == remaining ? .complete : .body(remaining: remaining - count)
            case .chunk(let remaining):
                let count = min(remaining, bytes.count - index)
                index += count
                self.place =
                    count == remaining ? .chunkSize(size: 0, digits: 0) : .chunk(remaining: remaining - count)
            default:
                try self.take(bytes[index])
                index += 1
            }
        }
        return index
    }

    /// A byte of a part that ends with a line.
    private mutating func take(_ byte: UInt8) throws(Violation) {
        let (isLineFeed, isReturn) = (byte == UInt8(ascii: "\n"), byte == UInt8(ascii: "\r"))
        switch self.place {
        case .blank:
            try Self.count(&self.headBytes, atMost: Self.maxHeadBytes, .head)
            if !isLineFeed, !isReturn { self.place = .head(isLineEmpty: false) }
        case .head(let isLineEmpty):
            try Self.count(&self.headBytes, atMost: Self.maxHeadBytes, .head)
            guard !isReturn else { return }
            self.place = isLineFeed && isLineEmpty ? .headEnded : .head(isLineEmpty: isLineFeed)
        case .chunkSize(let size, let digits):
            if let digit = byte.hexDigit {
                guard size > 0 || digit > 0 else {
                    return try Self.count(&self.extensionBytes, atMost: Self.maxChunkExtensionBytes, .chunkSize)
                }
                guard digits < Self.maxSizeDigits else { throw .chunkSize }
                self.place = .chunkSize(size: size << 4 | digit, digits: digits + 1)
            } else if isLineFeed {
                self.beginChunk(of: size)
            } else if !isReturn {
                try Self.count(&self.extensionBytes, atMost: Self.maxChunkExtensionBytes, .chunkExtensions)
                self.place = .chunkExtension(size: size)
            }
        case .chunkExtension(let size):
            if isLineFeed { return self.beginChunk(of: size) }
            try Self.count(&self.extensionBytes, atMost: Self.maxChunkExtensionBytes, .chunkExtensions)
        case .trailers(let isLineEmpty):
            try Self.count(&self.trailerBytes, atMost: Self.maxHeadBytes, .trailers)
            guard !isReturn else { return }
            self.place = isLineFeed && isLineEmpty ? .complete : .trailers(isLineEmpty: isLineFeed)
        case .headEnded, .body, .chunk, .complete: break
        }
    }

    private mutating func beginChunk(of size: Int) {
        self.place = size == 0 ? .trailers(isLineEmpty: true) : .chunk(remaining: size + 2)
    }

    private static func count(_ bytes: inout Int, atMost most: Int, _ violation: Violation) throws(Violation) {
        bytes += 1
        guard bytes <= most else { throw violation }
    }
}

extension UInt8 {
    fileprivate var hexDigit: Int? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(self - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): Int(self - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): Int(self - UInt8(ascii: "A") + 10)
        default: nil
        }
    }
}
