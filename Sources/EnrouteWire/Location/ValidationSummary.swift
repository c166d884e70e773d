// A summary of a job's fixes for operations staff: the number of each verdict, why there is no location, and how close
// the rider is. It contains no position.

/// The response to `GET jobs/{job}/verdicts`.
public struct ValidationSummary: Sendable, Hashable {
    /// The number of fixes by verdict. Verdicts with a count of zero are missing.
    public var counts: [String: Int] = [:]
    /// Why there is no location; `nil` if there is one, or if the reason is unknown.
    public var unavailable: UnavailableReason?
    /// The last proximity.
    public var proximity: ProximityState?
    /// Whether travel mode was switched off because the rider arrived, where that is configured.
    public var wasStoppedByArrival = false
    /// When a fix was last accepted, ms since the epoch; up to a minute too early. Stored for longer than the
    /// position.
    public var seenAt: Int64?
    /// When travel mode was last switched on, ms since the epoch.
    public var sharingAt: Int64?

    public init() {}

    public func json(of job: JobID) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("job", job.text)
            writer.array("counts", self.counts.sorted { $0.key < $1.key }) { writer, entry in
                writer.object { writer in
                    writer.field("verdict", entry.key)
                    writer.field("count", Int64(entry.value))
                }
            }
            writer.field("unavailable", self.unavailable?.rawValue)
            writer.field("proximity", self.proximity?.rawValue)
        }
        return writer.bytes
    }
}
