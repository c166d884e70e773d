// The fixes that a phone in the background sends over REST. Over a WebSocket it would send the message `location`,
// which contains the job.

/// The body of `POST jobs/{job}/locations`: one or more fixes, for that job and the other jobs of the trip.
public struct LocationBatch: Hashable, Sendable {
    /// The number of this batch, which the response repeats. `nil` if the phone does not count its batches.
    public var sequence: Int64?
    /// Further jobs to report the same fixes for, without duplicates.
    public var otherJobs: [JobID]
    /// The valid fixes, in any order. Together with `invalidFixes` 1 to `LocationReport.maxFixes`.
    public var fixes: [Fix]
    /// Fixes with invalid coordinates, which are refused and counted.
    public var invalidFixes: [InvalidFix]
    /// The battery level, as in a `LocationReport`.
    public var battery: Double?
    /// Names the phone. Of several devices of a rider, the one that last switched travel mode on reports.
    public var device: DeviceID?

    public init(
        sequence: Int64? = nil, otherJobs: [JobID] = [], fixes: [Fix], invalidFixes: [InvalidFix] = [],
        battery: Double? = nil, device: DeviceID? = nil
    ) {
        self.device = device
        self.sequence = sequence
        self.otherJobs = otherJobs
        self.fixes = fixes
        self.invalidFixes = invalidFixes
        self.battery = battery
    }

    /// The job of the path and the other jobs, without duplicates, at most `LocationReport.maxJobs`.
    public func jobs(with job: JobID) -> [JobID] { [job] + self.otherJobs.filter { $0 != job } }
}

extension LocationBatch {
    /// Reads one batch: a JSON object. Unknown members are ignored.
    ///
    /// - Parameter bytes: valid UTF-8, checked by the caller.
    public init(_ bytes: UnsafeRawBufferPointer) throws(BadMessage) {
        var reader = JSONReader(bytes)
        var members = Members("the batch")
        var sequence: Int64?
        var others: [JobID] = []
        var fixes: [Fix] = []
        var invalidFixes: [InvalidFix] = []
        var battery: Double?
        var device: DeviceID?
        try reader.object { (name, reader) throws(BadMessage) in
            if name.equals("seq") {
                try members.once(0)
                sequence = try reader.integer("seq")
            } else if name.equals("jobs") {
                try members.once(1)
                try reader.array { (reader) throws(BadMessage) in
                    let next: JobID = try reader.identifier("jobs")
                    guard others.count < LocationReport.maxJobs, !others.contains(next) else {
                        throw BadMessage("jobs can contain at most \(LocationReport.maxJobs) jobs, without duplicates")
                    }
                    others.append(next)
                }
            } else if name.equals("fixes") {
                try members.once(2)
                (fixes, invalidFixes) = try reader.fixes(of: "a batch")
            } else if name.equals("battery") {
                try members.once(3)
                battery = try reader.batteryLevel()
            } else if name.equals("device") {
                try members.once(4)
                device = try reader.identifier("device")
            } else {
                try reader.value()
            }
        }
        try reader.end()
        guard sequence ?? 0 >= 0 else { throw BadMessage("seq must be a whole number, 0 or greater") }
        guard !fixes.isEmpty || !invalidFixes.isEmpty else { throw BadMessage("fixes must contain at least one fix") }
        self.init(
            sequence: sequence, otherJobs: others, fixes: fixes, invalidFixes: invalidFixes, battery: battery,
            device: device)
    }

    /// Returns whether the bytes are valid JSON for `JSONReader`. This distinguishes a malformed body (400) from
    /// invalid values (422).
    public static func isJSON(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var reader = JSONReader(bytes)
        do throws(BadMessage) {
            try reader.value()
            try reader.end()
            return true
        } catch {
            return false
        }
    }
}
