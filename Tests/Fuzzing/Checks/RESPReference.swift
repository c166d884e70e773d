// An independent RESP2 parser: the whole stream at once, recursively, without state.
//
// It rejects what hiredis 0.14 rejects. It copies two liberties of hiredis that Redis never uses: the two bytes after a bulk
// string are skipped without a check, and a line may contain a lone CR or LF.

@testable import Redis

struct RESPReference {
    enum Ending: Hashable { case allRead, unfinished, violated }

    /// Maximum depth of nested arrays.
    static let deepest = 8

    private let bytes: ArraySlice<UInt8>
    private var position: Int
    private(set) var replies: [RESPValue] = []
    private(set) var ending = Ending.allRead

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        self.position = bytes.startIndex
        do throws(Stop) {
            while self.position < bytes.endIndex { self.replies.append(try self.value(depth: 0)) }
        } catch {
            self.ending = error == .unfinished ? .unfinished : .violated
        }
    }

    private enum Stop: Error { case unfinished, violation }

    private mutating func value(depth: Int) throws(Stop) -> RESPValue {
        guard self.position < self.bytes.endIndex else { throw .unfinished }
        let type = self.bytes[self.position]
        self.position += 1
        switch type {
        case UInt8(ascii: "+"): return .string(Array(try self.line()))
        case UInt8(ascii: "-"): return .error(String(decoding: try self.line(), as: UTF8.self))
        case UInt8(ascii: ":"): return .integer(try self.integer())
        case UInt8(ascii: "$"):
            let count = try self.integer()
            guard count >= -1 else { throw .violation }
            guard count >= 0 else { return .null }
            guard count <= Int64(self.bytes.endIndex - self.position - 2) else { throw .unfinished }
            let text = self.bytes[self.position..<self.position + Int(count)]
            self.position += Int(count) + 2
            return .string(Array(text))
        case UInt8(ascii: "*"):
            guard depth < Self.deepest else { throw .violation }
            let count = try self.integer()
            guard (-1...Int64(RESPTape.maxElements)).contains(count) else { throw .violation }
            guard count >= 0 else { return .null }
            var elements: [RESPValue] = []
            for _ in 0..<count { elements.append(try self.value(depth: depth + 1)) }
            return .array(elements)
        default: throw .violation
        }
    }

    /// Reads up to the next CR LF and skips it.
    private mutating func line() throws(Stop) -> ArraySlice<UInt8> {
        var end = self.position
        while end + 1 < self.bytes.endIndex {
            if self.bytes[end] == 0x0D, self.bytes[end + 1] == 0x0A {
                defer { self.position = end + 2 }
                return self.bytes[self.position..<end]
            }
            end += 1
        }
        throw .unfinished
    }

    /// `0`, or digits without a leading zero, optionally with a minus.
    private mutating func integer() throws(Stop) -> Int64 {
        let line = try self.line()
        let digits = line.first == UInt8(ascii: "-") ? line.dropFirst() : line
        guard digits.allSatisfy({ (48...57).contains($0) }), digits.first != 48 || line.count == 1,
            let value = Int64(String(decoding: line, as: UTF8.self))
        else { throw .violation }
        return value
    }
}
