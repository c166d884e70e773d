// Writes text and numbers into memory that is large enough, for messages with a fixed form. `JSONWriter` appends to an array,
// which checks its capacity for each byte.

/// A position in memory to write to. The caller provides enough room.
struct ByteWriter {
    private let room: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    init(_ room: UnsafeMutableRawBufferPointer) { self.room = room }

    /// The largest number of bytes that `digits` or `decimal` writes: a sign, 20 digits, a decimal point.
    static let maxNumberBytes = 22

    mutating func text(_ text: StaticString) {
        self.bytes(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func text(_ text: String) {
        var text = text
        text.withUTF8 { self.bytes(UnsafeRawBufferPointer($0)) }
    }

    mutating func bytes(_ bytes: UnsafeRawBufferPointer) {
        UnsafeMutableRawBufferPointer(rebasing: self.room[self.count...]).copyMemory(from: bytes)
        self.count += bytes.count
    }

    mutating func byte(_ byte: UInt8) {
        self.room[self.count] = byte
        self.count += 1
    }

    mutating func number(_ value: Int64) {
        if value < 0 { self.byte(UInt8(ascii: "-")) }
        self.digits(value.magnitude)
    }

    private mutating func digits(_ value: UInt64) {
        var (rest, length) = (value, 1)
        while rest >= 10 { (rest, length) = (rest / 10, length + 1) }
        rest = value
        for place in stride(from: self.count + length - 1, through: self.count, by: -1) {
            self.room[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        self.count += length
    }

    /// Writes a number with at most `decimals` digits after the point and without trailing zeros, as `JSONWriter` does. `value`
    /// must be finite and below 2^53 × 10^-`decimals`.
    mutating func decimal(_ value: Double, _ decimals: Int) {
        var scale: UInt64 = 1
        for _ in 0..<decimals { scale *= 10 }
        let scaled = Int64((value * Double(scale)).rounded())
        if scaled < 0 { self.byte(UInt8(ascii: "-")) }
        let (whole, fraction) = scaled.magnitude.quotientAndRemainder(dividingBy: scale)
        self.digits(whole)
        guard fraction > 0 else { return }
        self.byte(UInt8(ascii: "."))
        var (rest, unit) = (fraction, scale / 10)
        while rest > 0 {
            self.byte(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest / unit))
            rest %= unit
            unit /= 10
        }
    }
}
