// Writes JSON: appends bytes to one array in the order of the calls, without a tree and without reflection.

/// A writer of JSON values into `bytes`.
struct JSONWriter {
    private(set) var bytes: [UInt8] = []
    private var needsComma = false

    init(capacity: Int = 256) { self.bytes.reserveCapacity(capacity) }

    /// Returns a whole message: `{"type":"…"`, followed by the members that `members` writes.
    static func message(_ type: StaticString, _ members: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("type", type)
            members(&writer)
        }
        return writer.bytes
    }

    mutating func object(_ members: (inout JSONWriter) -> Void) {
        self.separate()
        self.bytes.append(UInt8(ascii: "{"))
        self.needsComma = false
        members(&self)
        self.bytes.append(UInt8(ascii: "}"))
        self.needsComma = true
    }

    mutating func object(_ name: StaticString, _ members: (inout JSONWriter) -> Void) {
        self.name(name)
        self.object(members)
    }

    mutating func array<Elements: Sequence>(
        _ name: StaticString, _ elements: Elements, _ write: (inout JSONWriter, Elements.Element) -> Void
    ) {
        self.name(name)
        self.bytes.append(UInt8(ascii: "["))
        for element in elements { write(&self, element) }
        self.bytes.append(UInt8(ascii: "]"))
        self.needsComma = true
    }

    mutating func field(_ name: StaticString, _ value: StaticString) {
        self.name(name)
        self.bytes.append(UInt8(ascii: "\""))
        self.append(value)
        self.bytes.append(UInt8(ascii: "\""))
        self.needsComma = true
    }

    mutating func field(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        self.name(name)
        self.string(value)
        self.needsComma = true
    }

    mutating func field(_ name: StaticString, _ value: Int64?) {
        guard let value else { return }
        self.name(name)
        self.bytes.append(contentsOf: String(value).utf8)
        self.needsComma = true
    }

    mutating func field(_ name: StaticString, _ value: Bool) {
        self.name(name)
        self.append(value ? "true" : "false")
        self.needsComma = true
    }

    /// Writes a number with at most `decimals` digits after the point and without trailing zeros. `value` must be
    /// finite and below 2^53 × 10^-`decimals`.
    mutating func field(_ name: StaticString, _ value: Double?, decimals: Int) {
        guard let value else { return }
        self.name(name)
        self.decimal(value, decimals)
        self.needsComma = true
    }

    mutating func texts(_ name: StaticString, _ values: [String]) {
        self.array(name, values) { writer, value in writer.text(value) }
    }

    /// Writes a member whose name is not known at compile time.
    mutating func member(_ name: String, _ value: String) {
        self.separate()
        self.string(name)
        self.bytes.append(UInt8(ascii: ":"))
        self.string(value)
        self.needsComma = true
    }

    /// Writes an element of an array.
    mutating func text(_ value: String) {
        self.separate()
        self.string(value)
        self.needsComma = true
    }

    /// Writes a value that is already JSON.
    mutating func raw(_ name: StaticString, _ json: [UInt8]?) {
        self.name(name)
        if let json { self.bytes.append(contentsOf: json) } else { self.append("null") }
        self.needsComma = true
    }

    /// Writes an element or value that is already JSON.
    mutating func element(_ json: [UInt8]) {
        self.separate()
        self.bytes.append(contentsOf: json)
        self.needsComma = true
    }

    // MARK: bytes

    private mutating func separate() {
        if self.needsComma { self.bytes.append(UInt8(ascii: ",")) }
        self.needsComma = false
    }

    private mutating func name(_ name: StaticString) {
        self.separate()
        self.bytes.append(UInt8(ascii: "\""))
        self.append(name)
        self.bytes.append(UInt8(ascii: "\""))
        self.bytes.append(UInt8(ascii: ":"))
    }

    private mutating func append(_ text: StaticString) {
        self.bytes.append(contentsOf: UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private mutating func string(_ text: String) {
        self.bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                self.bytes.append(UInt8(ascii: "\\"))
                self.bytes.append(byte)
            case 0..<0x20:
                let digits = Array("0123456789abcdef".utf8)
                self.append("\\u00")
                self.bytes.append(digits[Int(byte >> 4)])
                self.bytes.append(digits[Int(byte & 15)])
            default: self.bytes.append(byte)
            }
        }
        self.bytes.append(UInt8(ascii: "\""))
    }

    private mutating func decimal(_ value: Double, _ decimals: Int) {
        var scale: Int64 = 1
        for _ in 0..<decimals { scale *= 10 }
        let scaled = Int64((value * Double(scale)).rounded())
        if scaled < 0 { self.bytes.append(UInt8(ascii: "-")) }
        let (whole, fraction) = scaled.magnitude.quotientAndRemainder(dividingBy: UInt64(scale))
        self.bytes.append(contentsOf: String(whole).utf8)
        guard fraction > 0 else { return }
        self.bytes.append(UInt8(ascii: "."))
        var rest = fraction
        var unit = UInt64(scale) / 10
        while rest > 0 {
            self.bytes.append(UInt8(ascii: "0") + UInt8(rest / unit))
            rest %= unit
            unit /= 10
        }
    }
}
