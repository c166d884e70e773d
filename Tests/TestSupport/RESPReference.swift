// An independent encoder of replies, to compare hiredis with.

package import Redis

extension RESPValue {
    /// The RESP2 encoding.
    package var encoded: [UInt8] {
        switch self {
        case .string(let bytes): Array("$\(bytes.count)\r\n".utf8) + bytes + Array("\r\n".utf8)
        case .integer(let value): Array(":\(value)\r\n".utf8)
        case .null: Array("$-1\r\n".utf8)
        case .error(let line): Array("-\(line)\r\n".utf8)
        case .array(let elements): elements.reduce(into: Array("*\(elements.count)\r\n".utf8)) { $0 += $1.encoded }
        }
    }

    /// A random reply, nested at most `depth` deep.
    package static func any(depth: Int, using random: inout SeededGenerator) -> RESPValue {
        switch Int.random(in: 0...(depth > 0 ? 9 : 6), using: &random) {
        case 0...2:
            let longest = Int.random(in: 0...9, using: &random) == 0 ? 5000 : 40
            let count = Int.random(in: 0...longest, using: &random)
            return .string((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) })
        case 3, 4: return .integer(Int64.random(in: Int64.min...Int64.max, using: &random))
        case 5: return .null
        case 6: return .error("ERR number \(Int.random(in: 0...99, using: &random))")
        default:
            let count = Int.random(in: 0...5, using: &random)
            return .array((0..<count).map { _ in .any(depth: depth - 1, using: &random) })
        }
    }
}
