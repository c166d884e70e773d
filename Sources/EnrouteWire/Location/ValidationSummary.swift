// What is known of one job's readings, for those who run the service: how many got which verdict, why nothing is seen
// of the rider, and how near it seems to be. No place is among it.

/// The answer to `GET jobs/{job}/verdicts`.
public struct ValidationSummary: Sendable, Hashable {
    /// How many got which verdict; those that none got are missing.
    public var counts: [String: Int] = [:]
    /// Why nothing is seen of the rider; `nil` when there is nothing to explain, or it is not known.
    public var unavailable: UnavailableReason?
    /// What its place suggested last.
    public var proximity: ProximityState?
    /// Travel mode was switched off because of it, where that is configured.
    public var wasStoppedByArrival = false
    /// When a reading was last accepted, ms since the epoch, to within some seconds; kept for longer than the position.
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
