// The location message of a rider's phone, decoded into a value, and the location message of followers, encoded once.
//
// Step 2 of 10 of the hot path. Before: Realtime/Session/SessionInput.swift
// Next: Realtime/Trips/RiderSession.swift

internal import HotPath

/// A fix: one reading of a phone's receiver, before validation.
public struct Fix: Hashable, Sendable {
    /// When the sensor took the reading, ms since the epoch, by the phone's clock.
    public var at: Int64
    public var place: Coordinate
    /// Accuracy: radius of 68 % confidence in m, 0 to 10,000.
    public var accuracyMeters: Double?
    /// Speed over ground in m/s, 0 to 340.
    public var speedMetersPerSecond: Double?
    /// Heading clockwise from north in degrees, 0 to 360.
    public var headingDegrees: Double?
    /// The phone says that an app invented the reading (Android's `isMock`, iOS's `isSimulatedBySoftware`).
    public var isMocked: Bool
    /// For a published location: whether the gateway moved the place to a street. Ignored in reports.
    public var isSnapped: Bool

    public init(
        at: Int64, place: Coordinate, accuracyMeters: Double? = nil, speedMetersPerSecond: Double? = nil,
        headingDegrees: Double? = nil, isMocked: Bool = false, isSnapped: Bool = false
    ) {
        self.at = at
        self.place = place
        self.accuracyMeters = accuracyMeters
        self.speedMetersPerSecond = speedMetersPerSecond
        self.headingDegrees = headingDegrees
        (self.isMocked, self.isSnapped) = (isMocked, isSnapped)
    }

    /// The valid times: those with 13 digits, September 2001 to November 2286. They make the time of a stored position
    /// readable at a fixed offset.
    public static let times: Range<Int64> = 1_000_000_000_000..<10_000_000_000_000
    static let accuracies = 0.0...10_000
    static let speeds = 0.0...340
    static let headings = 0.0...360
}

/// The message `location`: one or more jobs of a trip, a sequence number, one or more fixes.
public struct LocationReport: Hashable, Sendable {
    public var job: JobID
    /// Further jobs to report the same fixes for, so a rider with several jobs reports once. In the order of their
    /// stops, which come after the stop of `job`.
    public var otherJobs: [JobID] = []
    /// Counts the rider's reports. The answer repeats it.
    public var sequence: Int64
    /// The valid fixes, in any order. Together with `invalidFixes` 1 to 50.
    public var fixes: [Fix]
    /// Fixes with invalid coordinates, which are refused and counted.
    public var invalidFixes: [InvalidFix]
    /// Charge of the phone's battery, 0 to 1; `nil` if it is unknown or charging.
    public var battery: Double?
    /// The `ref` that the phone gave the message, which the answer repeats. Read and written by `ClientRequest`.
    public var ref: MessageRef?

    public static let maxFixes = 50
    /// The maximum number of jobs in one report: as many as a connection may follow.
    public static let maxJobs = 10

    public init(
        job: JobID, otherJobs: [JobID] = [], sequence: Int64, fixes: [Fix], invalidFixes: [InvalidFix] = [],
        battery: Double? = nil
    ) {
        self.job = job
        self.otherJobs = otherJobs
        self.sequence = sequence
        self.fixes = fixes
        self.invalidFixes = invalidFixes
        self.battery = battery
    }

    /// The newest fix.
    public var newest: Fix? { self.fixes.max { $0.at < $1.at } }

    /// One report for each job.
    public var forEachJob: [LocationReport] {
        ([self.job] + self.otherJobs).map { job in
            var report = self
            (report.job, report.otherJobs) = (job, [])
            return report
        }
    }
}

extension LocationReport {
    init(from reader: inout JSONReader) throws(BadMessage) {
        HotPath.pass(.locationReport)
        var members = Members("location")
        var job: JobID?
        var others: [JobID] = []
        var sequence: Int64?
        var fixes: [Fix] = []
        var invalidFixes: [InvalidFix] = []
        var battery: Double?
        try reader.object { (name, reader) throws(BadMessage) in
            if name.equals("job") {
                try members.once(0)
                job = try reader.identifier("job")
            } else if name.equals("jobs") {
                // `jobs` replaces `job`; only one of them is allowed.
                try members.once(0)
                try reader.array { (reader) throws(BadMessage) in
                    let next: JobID = try reader.identifier("jobs")
                    guard let first = job else {
                        job = next
                        return
                    }
                    guard others.count + 1 < Self.maxJobs, next != first, !others.contains(next) else {
                        throw BadMessage("jobs can contain at most \(Self.maxJobs) jobs, without duplicates")
                    }
                    others.append(next)
                }
            } else if name.equals("seq") {
                try members.once(1)
                sequence = try reader.integer("seq")
            } else if name.equals("fixes") {
                try members.once(2)
                (fixes, invalidFixes) = try reader.fixes(of: "a location message")
            } else if name.equals("battery") {
                try members.once(3)
                battery = try reader.batteryLevel()
            } else {
                try reader.value()
            }
        }
        guard let sequence, sequence >= 0 else { throw BadMessage("location needs seq: a whole number, 0 or greater") }
        guard !fixes.isEmpty || !invalidFixes.isEmpty else { throw BadMessage("location needs at least one fix") }
        self.init(
            job: try members.required(job, "job"), otherJobs: others, sequence: sequence, fixes: fixes,
            invalidFixes: invalidFixes,
            battery: battery)
    }

    /// The message as a rider's phone sends it.
    public var encoded: [UInt8] {
        JSONWriter.message("location") { writer in
            if self.otherJobs.isEmpty {
                writer.field("job", self.job.text)
            } else {
                writer.texts("jobs", ([self.job] + self.otherJobs).map(\.text))
            }
            writer.field("seq", self.sequence)
            let sent = self.fixes.map { DecodedFix.fix($0) } + self.invalidFixes.map { .invalid($0) }
            writer.field("battery", self.battery, decimals: 2)
            writer.array("fixes", sent) { writer, fix in writer.object { fix.write(into: &$0) } }
        }
    }
}

extension Fix {
    init(from reader: inout JSONReader) throws(BadMessage) {
        guard case .fix(let fix) = try DecodedFix(from: &reader) else {
            throw BadMessage("lat must be -90 to 90 and lon -180 to 180 degrees, and not both 0")
        }
        self = fix
    }

    /// Seven decimals of a degree are 11 mm.
    func write(into writer: inout JSONWriter) {
        writer.field("lat", self.place.latitude, decimals: 7)
        writer.field("lon", self.place.longitude, decimals: 7)
        writer.field("acc", self.accuracyMeters, decimals: 1)
        writer.field("spd", self.speedMetersPerSecond, decimals: 2)
        writer.field("hdg", self.headingDegrees, decimals: 1)
        if self.isMocked { writer.field("mock", true) }
        if self.isSnapped { writer.field("snapped", true) }
    }
}

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
        // As `Fix.write` does: seven decimals of a degree are 11 mm.
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
