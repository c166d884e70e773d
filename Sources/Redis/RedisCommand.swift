// A command and its RESP2 encoding (an array of bulk strings).

package import NIOCore

/// One command for Redis. Every element is length-prefixed on the wire, so none can be mistaken for syntax.
package struct RedisCommand: Sendable, ExpressibleByArrayLiteral {
    package enum Word: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
        case text(String)
        case bytes([UInt8])

        package init(stringLiteral value: String) { self = .text(value) }
        package init(integerLiteral value: Int64) { self = .text(String(value)) }
        package static func integer(_ value: Int) -> Word { .text(String(value)) }
        package static func integer(_ value: Int64) -> Word { .text(String(value)) }
    }

    package var words: [Word]

    package init(_ words: [Word]) { self.words = words }
    package init(arrayLiteral words: Word...) { self.words = words }

    /// Writes the command in one piece, directly into the buffer's memory. Accepting a location sends one command of
    /// eight elements; appending them one by one took a sixth of all its instructions.
    package func write(into buffer: inout ByteBuffer) { self.write(into: &buffer, announcing: self.words.count) }

    /// - Parameter count: the number of words of the whole command. These words may be only its beginning.
    func write(into buffer: inout ByteBuffer, announcing count: Int) {
        let most = self.words.reduce(Self.maxHeaderBytes) { $0 + $1.count + Self.maxHeaderBytes + 2 }
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: most) { room in
            var place = Self.writeHeader(UInt8(ascii: "*"), count, to: room, at: 0)
            for word in self.words {
                place = Self.writeHeader(UInt8(ascii: "$"), word.count, to: room, at: place)
                word.withBytes { bytes in
                    UnsafeMutableRawBufferPointer(rebasing: room[place...]).copyMemory(from: bytes)
                    place += bytes.count
                }
                place = Self.writeLineEnd(to: room, at: place)
            }
            return place
        }
    }

    /// A type byte, at most 19 digits, a line end.
    static let maxHeaderBytes = 1 + 19 + 2

    static func writeHeader(
        _ sign: UInt8, _ count: Int, to room: UnsafeMutableRawBufferPointer, at place: Int
    ) -> Int {
        room[place] = sign
        var digits = 1
        var rest = count
        while rest >= 10 {
            rest /= 10
            digits += 1
        }
        rest = count
        for digit in (1...digits).reversed() {
            room[place + digit] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        }
        return self.writeLineEnd(to: room, at: place + digits + 1)
    }

    static func writeLineEnd(to room: UnsafeMutableRawBufferPointer, at place: Int) -> Int {
        room[place] = UInt8(ascii: "\r")
        room[place + 1] = UInt8(ascii: "\n")
        return place + 2
    }
}

extension RedisCommand.Word {
    fileprivate var count: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .bytes(let bytes): bytes.count
        }
    }

    fileprivate func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
        switch self {
        case .text(var text): text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
        case .bytes(let bytes): bytes.withUnsafeBytes(body)
        }
    }
}
