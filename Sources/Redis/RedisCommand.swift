// A command: its words, and how they are written (RESP2 arrays of bulk strings).

package import NIOCore

/// One command for Redis. Every word is length-prefixed on the wire, so none can be mistaken for syntax.
package struct RedisCommand: Sendable, ExpressibleByArrayLiteral {
    package enum Word: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
        case text(String)
        case bytes([UInt8])

        package init(stringLiteral value: String) { self = .text(value) }
        package init(integerLiteral value: Int64) { self = .text(String(value)) }
        package static func integer(_ value: some BinaryInteger) -> Word { .text(String(value)) }
    }

    package var words: [Word]

    package init(_ words: [Word]) { self.words = words }
    package init(arrayLiteral words: Word...) { self.words = words }

    package func write(into buffer: inout ByteBuffer) {
        buffer.writeHeader(UInt8(ascii: "*"), self.words.count)
        for word in self.words {
            switch word {
            case .text(let text):
                buffer.writeHeader(UInt8(ascii: "$"), text.utf8.count)
                buffer.writeString(text)
            case .bytes(let bytes):
                buffer.writeHeader(UInt8(ascii: "$"), bytes.count)
                buffer.writeBytes(bytes)
            }
            buffer.writeStaticString("\r\n")
        }
    }
}

extension ByteBuffer {
    fileprivate mutating func writeHeader(_ sign: UInt8, _ count: Int) {
        self.writeInteger(sign)
        self.writeString(String(count))
        self.writeStaticString("\r\n")
    }
}
