// The location message of a rider's phone, decoded into a value. PublishedLocation.swift has the location message of
// followers.
//
// Step 2 of 10 of the hot path. Before: Realtime/Session/SessionInput.swift
// Next: Realtime/Trips/RiderSession.swift

internal import HotPath

/// The message `location`: one or more jobs of a trip, a sequence number, and one or more fixes.
public struct LocationReport: Hashable, Sendable {
    public var job: JobID
    /// Further jobs to report the same fixes for, so a rider with several jobs reports once. In the order of their
    /// stops, which come after the stop of `job`.
    public var otherJobs: [JobID] = []
    /// Counts the rider's reports. The answer repeats it.
    public var sequence: Int64
    /// The valid fixes, in any order. There are 1 to 50, including `invalidFixes`.
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
