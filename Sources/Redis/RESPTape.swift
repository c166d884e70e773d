// One reply of Redis as a flat list in pre-order; an array entry holds the number of its elements. The bytes are in one buffer
// that is reused for every reply, so that a message does not need its own allocation.

/// A reply, appended piece by piece by hiredis' reader. Valid until the next reply is read.
package final class RESPTape {
    enum Kind: UInt8 { case string, status, error, integer, null, array }

    struct Entry: Hashable {
        var kind: Kind
        /// Integer, or number of elements.
        var value: Int64 = 0
        /// Offset of the bytes in the buffer.
        var start = 0
        var count = 0
    }

    private(set) var entries: [Entry] = []
    private var bytes: [UInt8] = []
    /// Why the reader has to stop.
    private(set) var refusal: String?

    /// Maximum number of elements of one array.
    static let maxElements = 1 << 20
    /// Maximum length of one string, in bytes.
    static let longestString = 1 << 20

    func clear() {
        self.entries.removeAll(keepingCapacity: true)
        self.bytes.removeAll(keepingCapacity: true)
        self.refusal = nil
    }

    func append(_ kind: Kind, text: UnsafeRawBufferPointer) -> Bool {
        guard text.count <= Self.longestString else {
            self.refusal = "a string of \(text.count) bytes"
            return false
        }
        self.entries.append(Entry(kind: kind, start: self.bytes.count, count: text.count))
        self.bytes.append(contentsOf: text)
        return true
    }

    func append(_ kind: Kind, value: Int64 = 0) -> Bool {
        guard kind != .array || value <= Int64(Self.maxElements) else {
            self.refusal = "an array of \(value) elements"
            return false
        }
        self.entries.append(Entry(kind: kind, value: value))
        return true
    }

    // MARK: Reading a push without creating a value

    /// The number of elements if the reply is a flat array, otherwise 0.
    package var flatCount: Int {
        guard let first = self.entries.first, first.kind == .array, self.entries.count == Int(first.value) + 1 else {
            return 0
        }
        return Int(first.value)
    }

    /// Passes element `index` of a flat array to `body` as text.
    func withText<Result>(_ index: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let entry = self.entries[index + 1]
        return self.bytes.withUnsafeBytes { bytes in
            body(UnsafeRawBufferPointer(rebasing: bytes[entry.start..<entry.start + entry.count]))
        }
    }

    func isText(_ index: Int, _ word: StaticString) -> Bool {
        self.withText(index) { text in
            text.count == word.utf8CodeUnitCount
                && text.elementsEqual(UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
        }
    }

    /// Element `index` of a flat array; `nil` if it is not an integer.
    package func integer(_ index: Int) -> Int64? {
        guard index + 1 < self.entries.count, self.entries[index + 1].kind == .integer else { return nil }
        return self.entries[index + 1].value
    }

    /// Whether element `index` of a flat array is a string, as opposed to null or a number.
    package func isString(_ index: Int) -> Bool {
        index + 1 < self.entries.count && self.entries[index + 1].kind == .string
    }

    /// Passes element `index` of a flat array to `body` as bytes. Not generic, because other targets use it.
    package func withBytes(_ index: Int, _ body: (UnsafeRawBufferPointer) -> Void) { self.withText(index, body) }

    /// The error, if the reply is one.
    var errorLine: String? {
        guard let first = self.entries.first, first.kind == .error else { return nil }
        return String(decoding: self.bytes[first.start..<first.start + first.count], as: UTF8.self)
    }

    /// A copy, to compare later replies with it.
    package struct Copy: Sendable {
        fileprivate let entries: [Entry]
        fileprivate let bytes: [UInt8]
    }

    package var copy: Copy { Copy(entries: self.entries, bytes: self.bytes) }

    /// Whether this reply is the same as an earlier one.
    package func equals(_ copy: Copy) -> Bool { self.bytes == copy.bytes && self.entries == copy.entries }

    // MARK: Creating a value

    /// A copy of the reply.
    package var value: RESPValue {
        var index = 0
        return self.value(at: &index)
    }

    private func value(at index: inout Int) -> RESPValue {
        let entry = self.entries[index]
        index += 1
        let text = self.bytes[entry.start..<entry.start + entry.count]
        switch entry.kind {
        case .string, .status: return .string(Array(text))
        case .error: return .error(String(decoding: text, as: UTF8.self))
        case .integer: return .integer(entry.value)
        case .null: return .null
        case .array:
            var elements: [RESPValue] = []
            elements.reserveCapacity(Int(entry.value))
            for _ in 0..<entry.value { elements.append(self.value(at: &index)) }
            return .array(elements)
        }
    }
}

/// A reply of Redis (RESP2).
package enum RESPValue: Hashable, Sendable {
    case string([UInt8])
    case integer(Int64)
    case array([RESPValue])
    case null
    case error(String)

    package var bytes: [UInt8]? { if case .string(let bytes) = self { bytes } else { nil } }
    package var text: String? { self.bytes.map { String(decoding: $0, as: UTF8.self) } }
    package var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    package var array: [RESPValue]? { if case .array(let elements) = self { elements } else { nil } }
}
