// Reads location messages in one pass, in the form in which `enroute.js`, the Swift client and gateways write them: without
// white space, escape sequences, exponents and unknown members. It accepts only messages that JSONReader accepts too, with the
// same values, and leaves everything else to JSONReader. A fuzzer compares the two (MessagesCheck).

internal import HotPath

extension LocationReport {
    /// - Parameter bytes: one message.
    /// - Returns: `nil` if the message has another form or is invalid. The general reader decides then.
    init?(compact bytes: UnsafeRawBufferPointer) {
        var cursor = CompactCursor(bytes)
        guard cursor.take(#"{"type":"location""#) else { return nil }
        var job: JobID?
        var (sequence, battery) = (Int64?.none, Double?.none)
        var fixes: [Fix] = []
        while cursor.take(#",""#) {
            if cursor.take(#"seq":"#) {
                guard sequence == nil, let value = cursor.integer() else { return nil }
                sequence = value
            } else if cursor.take(#"job":""#) {
                guard job == nil, let value = cursor.job() else { return nil }
                job = value
            } else if cursor.take(#"fixes":["#) {
                guard fixes.isEmpty, cursor.fixes(into: &fixes) else { return nil }
            } else if cursor.take(#"battery":"#) {
                guard battery == nil, let value = cursor.double(in: Limits.batteryLevels) else { return nil }
                battery = value
            } else {
                return nil
            }
        }
        guard cursor.take("}"), cursor.isAtEnd, let job, let sequence, !fixes.isEmpty else { return nil }
        HotPath.pass(.locationReport)
        self.init(job: job, sequence: sequence, fixes: fixes, battery: battery)
    }
}

extension PublishedLocation {
    /// Returns the fix of a published location without decoding the rest; `nil` for any other message, and for one in another
    /// form than `tail` and the script write.
    package static func fix(of message: UnsafeRawBufferPointer) -> Fix? { self.compact(message)?.fix }

    /// Like `read`, for the form that `tail` and the script write; `nil` for anything else.
    static func stamp(compact message: UnsafeRawBufferPointer, of job: JobID) -> Stamp? {
        guard message.count <= RelayedMessage.longest, let read = self.compact(message),
            read.job.elementsEqual(job.text.utf8)
        else { return nil }
        return Stamp(id: read.id, receivedAt: Fix.times.contains(read.receivedAt) ? read.receivedAt : 0)
    }

    private static func compact(
        _ message: UnsafeRawBufferPointer
    ) -> (id: UInt64, job: UnsafeRawBufferPointer, receivedAt: Int64, fix: Fix)? {
        guard let id = self.id(of: message) else { return nil }
        var cursor = CompactCursor(UnsafeRawBufferPointer(rebasing: message[(self.head.count + self.idDigits)...]))
        guard cursor.take(#"","at":"#), let at = cursor.integer(), cursor.take(#","job":""#),
            let job = cursor.identifier(), cursor.take(#","received":"#), let receivedAt = cursor.integer(),
            cursor.take(","), let fix = cursor.fixMembers(at: at), cursor.isAtEnd
        else { return nil }
        return (id, job, receivedAt, fix)
    }
}

/// A cursor over the bytes of one message.
private struct CompactCursor {
    private var rest: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) { self.rest = bytes }

    var isAtEnd: Bool { self.rest.isEmpty }

    /// Moves past `text` if it is next.
    @inline(__always)
    mutating func take(_ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard self.rest.count >= count else { return false }
        for index in 0..<count where self.rest[index] != text.utf8Start[index] { return false }
        self.skip(count)
        return true
    }

    /// Reads a job id and the quotation mark after it.
    mutating func job() -> JobID? { self.identifier().flatMap { JobID(bytes: $0) } }

    /// Reads the characters of an identifier, and moves past the quotation mark after them.
    mutating func identifier() -> UnsafeRawBufferPointer? {
        var count = 0
        while count < self.rest.count, self.rest[count].isNameCharacter { count += 1 }
        guard (1...JobID.longest).contains(count), count < self.rest.count, self.rest[count] == UInt8(ascii: "\"")
        else { return nil }
        let name = UnsafeRawBufferPointer(rebasing: self.rest[..<count])
        self.skip(count + 1)
        return name
    }

    /// Reads the fixes and the bracket after them.
    mutating func fixes(into fixes: inout [Fix]) -> Bool {
        repeat {
            guard fixes.count < LocationReport.maxFixes, let fix = self.fix() else { return false }
            fixes.append(fix)
        } while self.take(",")
        return self.take("]")
    }

    private mutating func fix() -> Fix? {
        self.take("{") ? self.fixMembers(at: nil) : nil
    }

    /// Reads the members of a fix, except those read before, and the brace after them.
    mutating func fixMembers(at known: Int64?) -> Fix? {
        var at = known
        var (latitude, longitude) = (Double?.none, Double?.none)
        var (accuracy, speed, heading) = (Double?.none, Double?.none, Double?.none)
        var (isMocked, isSnapped) = (false, false)
        repeat {
            if self.take(#""at":"#) {
                guard at == nil, let value = self.integer() else { return nil }
                at = value
            } else if self.take(#""lat":"#) {
                guard latitude == nil, let value = self.double(in: -90...90) else { return nil }
                latitude = value
            } else if self.take(#""lon":"#) {
                guard longitude == nil, let value = self.double(in: -180...180) else { return nil }
                longitude = value
            } else if self.take(#""acc":"#) {
                guard accuracy == nil, let value = self.double(in: Fix.accuracies) else { return nil }
                accuracy = value
            } else if self.take(#""spd":"#) {
                guard speed == nil, let value = self.double(in: Fix.speeds) else { return nil }
                speed = value
            } else if self.take(#""hdg":"#) {
                guard heading == nil, let value = self.double(in: Fix.headings) else { return nil }
                heading = value
            } else if self.take(#""snapped":true"#) {
                guard !isSnapped else { return nil }
                isSnapped = true
            } else if self.take(#""mock":true"#) {
                guard !isMocked else { return nil }
                isMocked = true
            } else {
                return nil
            }
        } while self.take(",")
        guard self.take("}"), let at, Fix.times.contains(at), let latitude, let longitude,
            let place = Coordinate(latitude: latitude, longitude: longitude)
        else { return nil }
        return Fix(
            at: at, place: place, accuracyMeters: accuracy, speedMetersPerSecond: speed, headingDegrees: heading,
            isMocked: isMocked, isSnapped: isSnapped)
    }

    // MARK: numbers

    /// A whole number with this many digits is exact as a Double.
    private static let mostDigits = 15

    /// Reads a whole number that is not negative.
    mutating func integer() -> Int64? {
        guard let digits = self.digits(), !self.continuesNumber else { return nil }
        return Int64(digits.value)
    }

    /// Reads a number without an exponent. The result is the nearest Double, because both operands of the division are
    /// exact (Clinger 1990).
    mutating func double(in range: ClosedRange<Double>) -> Double? {
        let isNegative = self.take("-")
        guard let whole = self.digits() else { return nil }
        var value = Double(whole.value)
        if self.take(".") {
            guard let fraction = self.digits(after: whole) else { return nil }
            value = Double(fraction.value) / JSONNumber.powersOfTen[fraction.count - whole.count]
        }
        value = isNegative ? -value : value
        return !self.continuesNumber && range.contains(value) ? value : nil
    }

    /// Reads digits and appends them to those before the decimal point. Before the point, 0 must not be followed by a digit.
    private mutating func digits(after whole: (value: UInt64, count: Int)? = nil) -> (value: UInt64, count: Int)? {
        var (value, count) = whole ?? (0, 0)
        var read = 0
        while read < self.rest.count, case let digit = self.rest[read] &- 48, digit < 10 {
            guard count < Self.mostDigits else { return nil }
            value = value &* 10 &+ UInt64(digit)
            count += 1
            read += 1
        }
        guard read > 0, whole != nil || read == 1 || self.rest[0] != 48 else { return nil }
        self.skip(read)
        return (value, count)
    }

    /// Whether the next byte could belong to a number: an exponent, for example.
    private var continuesNumber: Bool { self.rest.first.map(JSONNumber.mayHold) ?? false }

    @inline(__always)
    private mutating func skip(_ count: Int) { self.rest = UnsafeRawBufferPointer(rebasing: self.rest[count...]) }
}
