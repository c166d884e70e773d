// Finds the pushes in a server's byte stream (RESP2). It understands just enough of the protocol to drop one push and nothing
// else. From the first byte that is not RESP, everything passes unchanged.

package import NIOCore

/// The bytes of one connection, split between replies.
package struct PushFraming: Sendable {
    package enum Frame: Equatable, Sendable {
        /// A message of a channel, with its bytes.
        case push(channel: String, ByteBuffer)
        /// Anything else: one reply, or bytes that are not RESP.
        case other(ByteBuffer)

        package var bytes: ByteBuffer {
            switch self {
            case .push(_, let bytes), .other(let bytes): bytes
            }
        }
    }

    /// An incomplete reply.
    private var unfinished = ByteBuffer()
    private var isForeign = false

    package init() {}

    /// Returns what is complete with these bytes, in order.
    package mutating func frames(adding bytes: ByteBuffer) -> [Frame] {
        if self.isForeign { return [.other(bytes)] }
        self.unfinished.writeImmutableBuffer(bytes)
        var frames: [Frame] = []
        while self.unfinished.readableBytes > 0 {
            let view = self.unfinished.readableBytesView
            switch Self.end(of: view, from: view.startIndex) {
            case .at(let end):
                // There are enough bytes, so the end is among them.
                let frame = self.unfinished.readSlice(length: end - view.startIndex)!
                frames.append(
                    Self.channel(of: frame.readableBytesView).map { .push(channel: $0, frame) } ?? .other(frame))
            case .later: return frames
            case .never:
                self.isForeign = true
                frames.append(.other(self.unfinished))
                self.unfinished.clear()
            }
        }
        self.unfinished.clear()
        return frames
    }

    // MARK: RESP2

    private enum End {
        case at(Int)
        case later
        /// Not RESP.
        case never
    }

    private static func end(of view: ByteBufferView, from start: Int) -> End {
        guard start < view.endIndex else { return .later }
        guard "+-:$*".utf8.contains(view[start]) else { return .never }
        guard let lineEnd = view[start...].firstIndex(of: UInt8(ascii: "\n")) else { return .later }
        let next = lineEnd + 1
        guard view[start] == UInt8(ascii: "$") || view[start] == UInt8(ascii: "*") else { return .at(next) }
        let digits = String(decoding: view[(start + 1)..<lineEnd].dropLast(), as: UTF8.self)
        guard let count = Int(digits), count <= Self.maxCounted else { return .never }
        // A null ends with its line.
        guard count >= 0 else { return .at(next) }
        if view[start] == UInt8(ascii: "$") {
            return next + count + 2 <= view.endIndex ? .at(next + count + 2) : .later
        }
        var place = next
        for _ in 0..<count {
            switch self.end(of: view, from: place) {
            case .at(let end): place = end
            case .later: return .later
            case .never: return .never
            }
        }
        return .at(place)
    }

    /// Maximum length of strings and arrays: the limits of Redis itself.
    private static let maxCounted = 512 << 20

    /// The start of a push, up to the length of the channel's name.
    private static let openings = ["*3\r\n$7\r\nmessage\r\n$", "*3\r\n$8\r\nsmessage\r\n$"].map { Array($0.utf8) }

    private static func channel(of frame: ByteBufferView) -> String? {
        guard let opening = Self.openings.first(where: { frame.starts(with: $0) }) else { return nil }
        let name = frame.dropFirst(opening.count)
        guard let lineEnd = name.firstIndex(of: UInt8(ascii: "\n")),
            let count = Int(String(decoding: name[..<(lineEnd - 1)], as: UTF8.self))
        else { return nil }
        return String(decoding: name[(lineEnd + 1)...].prefix(count), as: UTF8.self)
    }
}
