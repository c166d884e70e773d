// Decides when a new arrival time is an event for other systems. An event for each estimate would be one per minute and job.

internal import EnrouteWire
internal import LiveState

/// The arrival of one job, according to the last event for other systems.
struct AnnouncedArrival {
    /// The job's zone, for other systems.
    var zone: ZoneID?
    /// ms since the epoch.
    private var arrivesAt: Int64?

    /// ms. An estimate whose arrival time differs from the last one by at least this is an event for other systems.
    static let change: Int64 = 120_000

    /// Decides whether an estimate that was published is an event for other systems.
    ///
    /// - Returns: the event. Only the gateway that published the estimate appends it; a repeat of it has the same id.
    mutating func event(for estimate: ArrivalEstimate, of job: JobID) -> LedgerEvent? {
        guard estimate.state == .ok, let arrivesAt = estimate.arrivesAt else { return nil }
        if let last = self.arrivesAt, (last - Self.change + 1..<last + Self.change).contains(arrivesAt) { return nil }
        self.arrivesAt = arrivesAt
        return LedgerEvent(
            id: "\(job).eta.\(estimate.at)", kind: .etaChanged, time: estimate.at, subject: job.text,
            zone: self.zone, data: "{\"arrivesAt\":\(arrivesAt),\"source\":\"\(estimate.source ?? "")\"}")
    }
}
