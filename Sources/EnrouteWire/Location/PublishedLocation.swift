// The location message of followers, which a gateway encodes once for all of them, and what a client reads from it.

/// The message `location` as followers receive it: `{"type":"location","id":"<16 digits>","at":<13 digits>,"job":…`.
///
/// `lua/publish_location.lua` assigns the id and puts it before the tail. Id and time are at fixed offsets.
public enum PublishedLocation {
    static let head = Array(#"{"type":"location","id":""#.utf8)
    static let idDigits = 16

    /// The largest size of a tail, bytes.
    package static let maxTailBytes =
        #","job":"","received":,"lat":,"lon":,"acc":,"spd":,"hdg":,"snapped":true}"#.utf8.count + JobID.longest + 6
        * ByteWriter.maxNumberBytes

    /// Writes the part that the gateway contributes: everything after the fix's time.
    ///
    /// - Parameter room: at least `maxTailBytes`.
    /// - Returns: the number of bytes written.
    package static func writeTail(
        of fix: Fix, job: JobID, receivedAt: Int64, to room: UnsafeMutableRawBufferPointer
    ) -> Int {
        var writer = ByteWriter(room)
        writer.text(#","job":""#)
        writer.text(job.text)
        writer.text(#"","received":"#)
        writer.number(receivedAt)
        // As in `Fix.write`: the seventh decimal of a degree is 11 mm.
        writer.text(#","lat":"#)
        writer.decimal(fix.place.latitude, 7)
        writer.text(#","lon":"#)
        writer.decimal(fix.place.longitude, 7)
        if let accuracy = fix.accuracyMeters {
            writer.text(#","acc":"#)
            writer.decimal(accuracy, 1)
        }
        if let speed = fix.speedMetersPerSecond {
            writer.text(#","spd":"#)
            writer.decimal(speed, 2)
        }
        if let heading = fix.headingDegrees {
            writer.text(#","hdg":"#)
            writer.decimal(heading, 1)
        }
        if fix.isSnapped { writer.text(#","snapped":true"#) }
        writer.byte(UInt8(ascii: "}"))
        return writer.count
    }

    /// Returns the tail of a published location.
    public static func tail(of fix: Fix, job: JobID, receivedAt: Int64) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: self.maxTailBytes) { room, count in
            count = self.writeTail(of: fix, job: job, receivedAt: receivedAt, to: UnsafeMutableRawBufferPointer(room))
        }
    }

    /// Returns the id of a published location without decoding it; `nil` for any other message.
    public static func id(of message: UnsafeRawBufferPointer) -> UInt64? {
        guard message.count > self.head.count + self.idDigits, message.starts(with: self.head) else { return nil }
        var id: UInt64 = 0
        for byte in message[self.head.count..<self.head.count + self.idDigits] {
            guard (48...57).contains(byte) else { return nil }
            id = id * 10 + UInt64(byte - 48)
        }
        return id
    }
}

/// A published location, as a client shows it.
public struct Location: Hashable, Sendable {
    /// The id. A newer location of the job has a greater id.
    public var id: UInt64
    public var job: JobID
    public var fix: Fix
    /// When a gateway received it, ms since the epoch.
    public var receivedAt: Int64

    init(from reader: inout JSONReader) throws(BadMessage) {
        let whole = try reader.value()
        guard let id = PublishedLocation.id(of: whole) else { throw BadMessage("location needs an id of 16 digits") }
        var fields = JSONReader(whole)
        var job: JobID?
        var receivedAt: Int64 = 0
        try fields.object { (name, reader) throws(BadMessage) in
            if name.equals("job") {
                job = try reader.identifier("job")
            } else if name.equals("received") {
                receivedAt = try reader.integer()
            } else {
                try reader.value()
            }
        }
        guard let job else { throw BadMessage("location needs job") }
        var rest = JSONReader(whole)
        self.id = id
        self.job = job
        self.fix = try Fix(from: &rest)
        self.receivedAt = receivedAt
    }

    /// The bytes that a gateway sends: the part that the script puts before the tail, and the tail.
    var encoded: [UInt8] {
        let id = String(self.id)
        let padding = String(repeating: "0", count: max(0, PublishedLocation.idDigits - id.utf8.count))
        return PublishedLocation.head + Array("\(padding)\(id)\",\"at\":\(self.fix.at)".utf8)
            + PublishedLocation.tail(of: self.fix, job: self.job, receivedAt: self.receivedAt)
    }
}
