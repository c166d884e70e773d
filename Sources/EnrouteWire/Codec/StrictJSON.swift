// Checks a received JSON text before it is decoded. Foundation's decoder accepts trailing commas, UTF-16, a byte order mark and
// two members with the same name, of which it uses the first. A proxy may read such a text differently from the gateway.

/// Checks a JSON text (RFC 8259) without decoding it. O(bytes).
package struct StrictJSON {
    package enum Fault: Error, Hashable, Sendable {
        case syntax
        /// Not UTF-8, or with a byte order mark.
        case encoding
        /// A string contains an escaped half of a surrogate pair, which is not a character.
        case loneSurrogate
        /// An object has two members with the same name, even if their escape sequences differ.
        case duplicateMember
        /// Objects and arrays are nested too deeply.
        case depth
    }

    /// The maximum nesting depth of objects and arrays, as in Foundation's decoder.
    package static let maxDepth = 512

    private let bytes: UnsafeRawBufferPointer
    private var position = 0
    /// The objects and arrays that are still open.
    private var open: [Container] = []
    /// The member names so far, for each object in `open` that has any.
    private var names: [Set<[UInt8]>] = []

    private enum Container {
        case object, array
    }

    private init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// - Throws: the first fault in the text.
    package static func check(_ bytes: some Sequence<UInt8>) throws(Fault) {
        try self.check(all: Array(bytes))
    }

    private static func check(all bytes: [UInt8]) throws(Fault) {
        let fault = bytes.withUnsafeBytes { self.fault(in: $0) }
        if let fault { throw fault }
    }

    private static func fault(in bytes: UnsafeRawBufferPointer) -> Fault? {
        do throws(Fault) {
            guard bytes.isUTF8, !bytes.starts(with: [0xEF, 0xBB, 0xBF]) else { throw .encoding }
            // JSON in UTF-16 contains zero bytes, which no JSON text in UTF-8 does.
            guard !bytes.contains(0) else { throw .encoding }
            var text = StrictJSON(bytes)
            try text.document()
            return nil
        } catch {
            return error
        }
    }

    // MARK: structure

    /// Not recursive, so that no text exhausts the stack.
    private mutating func document() throws(Fault) {
        while true {
            // The cursor is at a value.
            switch self.next() {
            case UInt8(ascii: "{"):
                try self.enter(.object)
                if self.take(UInt8(ascii: "}")) {
                    self.open.removeLast()
                    break
                }
                self.names.append([])
                try self.name()
                continue
            case UInt8(ascii: "["):
                try self.enter(.array)
                if self.take(UInt8(ascii: "]")) {
                    self.open.removeLast()
                    break
                }
                continue
            case UInt8(ascii: "\""): _ = try self.string()
            case UInt8(ascii: "t"): try self.word("true")
            case UInt8(ascii: "f"): try self.word("false")
            case UInt8(ascii: "n"): try self.word("null")
            default: try self.number()
            }
            guard try self.findNextValue() else { return }
        }
    }

    private mutating func enter(_ container: Container) throws(Fault) {
        self.position += 1
        guard self.open.count < Self.maxDepth else { throw .depth }
        self.open.append(container)
    }

    /// Moves from the end of a value to the next one, and closes what is complete.
    ///
    /// - Returns: `false` at the end of the text.
    private mutating func findNextValue() throws(Fault) -> Bool {
        while let container = self.open.last {
            let isMore = self.take(UInt8(ascii: ","))
            switch container {
            case .array:
                if isMore { return true }
                guard self.take(UInt8(ascii: "]")) else { throw .syntax }
            case .object:
                if isMore {
                    try self.name()
                    return true
                }
                guard self.take(UInt8(ascii: "}")) else { throw .syntax }
                self.names.removeLast()
            }
            self.open.removeLast()
        }
        guard self.next() == nil else { throw .syntax }
        return false
    }

    /// Reads the name of a member of the innermost object, and the colon.
    private mutating func name() throws(Fault) {
        guard self.next() == UInt8(ascii: "\"") else { throw .syntax }
        let name = try self.string()
        guard self.take(UInt8(ascii: ":")) else { throw .syntax }
        guard self.names[self.names.count - 1].insert(name).inserted else { throw .duplicateMember }
    }

    // MARK: values

    /// The next byte that is not white space; `nil` at the end.
    private mutating func next() -> UInt8? {
        while self.position < self.bytes.count {
            let byte = self.bytes[self.position]
            guard byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D else { return byte }
            self.position += 1
        }
        return nil
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard self.next() == byte else { return false }
        self.position += 1
        return true
    }

    private mutating func word(_ text: StaticString) throws(Fault) {
        let rest = self.bytes[self.position...]
        let count = text.utf8CodeUnitCount
        guard rest.starts(with: UnsafeBufferPointer(start: text.utf8Start, count: count)) else { throw .syntax }
        self.position += count
    }

    /// Skips a number: `-`, digits without a leading zero, a fraction and an exponent. The decoder checks its size.
    private mutating func number() throws(Fault) {
        self.skip("-")
        let start = self.position
        try self.digits()
        guard self.position == start + 1 || self.bytes[start] != UInt8(ascii: "0") else { throw .syntax }
        if self.skip(".") { try self.digits() }
        if self.skip("eE") {
            self.skip("+-")
            try self.digits()
        }
    }

    /// Skips one or more digits.
    private mutating func digits() throws(Fault) {
        guard self.skip("0123456789") else { throw .syntax }
        while self.skip("0123456789") {}
    }

    /// Skips one of these bytes, if it is next.
    @discardableResult
    private mutating func skip(_ allowed: StaticString) -> Bool {
        let allowed = UnsafeBufferPointer(start: allowed.utf8Start, count: allowed.utf8CodeUnitCount)
        guard self.position < self.bytes.count, allowed.contains(self.bytes[self.position]) else { return false }
        self.position += 1
        return true
    }

    /// Reads a string at the cursor.
    ///
    /// - Returns: its characters in UTF-8, without escape sequences.
    private mutating func string() throws(Fault) -> [UInt8] {
        self.position += 1
        let start = self.position
        var isEscaped = false
        while self.position < self.bytes.count {
            let byte = self.bytes[self.position]
            switch byte {
            case UInt8(ascii: "\""):
                let raw = UnsafeRawBufferPointer(rebasing: self.bytes[start..<self.position])
                self.position += 1
                return isEscaped ? try Self.unescaped(raw) : Array(raw)
            case UInt8(ascii: "\\"):
                isEscaped = true
                self.position += 2
            case 0..<0x20: throw .syntax
            default: self.position += 1
            }
        }
        throw .syntax
    }

    /// Replaces escape sequences.
    private static func unescaped(_ raw: UnsafeRawBufferPointer) throws(Fault) -> [UInt8] {
        var units: [UInt16] = []
        var rest = Substring(String(decoding: raw, as: UTF8.self)).utf16
        while let unit = rest.popFirst() {
            guard unit == UInt8(ascii: "\\") else {
                units.append(unit)
                continue
            }
            switch rest.popFirst().flatMap({ UInt8(exactly: $0) }) {
            case UInt8(ascii: "b"): units.append(0x08)
            case UInt8(ascii: "f"): units.append(0x0C)
            case UInt8(ascii: "n"): units.append(0x0A)
            case UInt8(ascii: "r"): units.append(0x0D)
            case UInt8(ascii: "t"): units.append(0x09)
            case let same? where same == UInt8(ascii: "\"") || same == UInt8(ascii: "\\") || same == UInt8(ascii: "/"):
                units.append(UInt16(same))
            case UInt8(ascii: "u"):
                let digits = rest.prefix(4)
                guard digits.count == 4, digits.allSatisfy({ UInt8(exactly: $0)?.hexDigitValue != nil }),
                    let code = UInt16(String(decoding: digits, as: UTF16.self), radix: 16)
                else { throw .syntax }
                units.append(code)
                rest = rest.dropFirst(4)
            default: throw .syntax
            }
        }
        var bytes: [UInt8] = []
        let isInvalid = transcode(
            units.makeIterator(), from: UTF16.self, to: UTF8.self, stoppingOnError: true, into: { bytes.append($0) })
        guard !isInvalid else { throw .loneSurrogate }
        return bytes
    }
}

extension StrictJSON.Fault {
    /// A sentence for the sender.
    ///
    /// - Parameter what: the text, as the subject: "The body".
    package func reason(_ what: String) -> String {
        switch self {
        case .syntax: "\(what) is not valid JSON."
        case .encoding: "\(what) must be JSON in UTF-8, without a byte order mark."
        case .loneSurrogate:
            "\(what) is not valid Unicode: an escape such as \\ud83d is half of a surrogate pair. "
                + "A text was cut inside a character."
        case .duplicateMember: "\(what) has duplicate members: a name occurs twice in one object."
        case .depth: "\(what) has more than \(StrictJSON.maxDepth) nested levels."
        }
    }
}
