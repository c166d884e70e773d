// The circumstances of a rider's trips that decide how often it reports.

internal import NIOCore
internal import Tracking

extension TripValidators {
    /// The circumstances that decide how often the rider of these trips reports.
    func circumstances(of keys: [Key]) -> ReportRate.Circumstances {
        self.circumstances(at: keys.compactMap { self.entries.index(forKey: $0) })
    }

    /// The circumstances that decide how often the rider of all trips reports.
    var circumstances: ReportRate.Circumstances { self.circumstances(at: self.entries.indices) }

    /// A trip whose last report is so old that its position is stale is treated as ended: its followers and its distance no
    /// longer count.
    private func circumstances(at indices: some Sequence<[Key: Entry].Index>) -> ReportRate.Circumstances {
        let oldest = NIODeadline.now() - self.freshness
        var all = ReportRate.Circumstances(isFollowed: false, metersToGo: nil, speedMetersPerSecond: 0)
        var newest = oldest
        for index in indices {
            let entry = self.entries.values[index]
            guard entry.usedAt >= oldest else { continue }
            if entry.trip.isFollowed { all.isFollowed = true }
            if let toGo = entry.trip.metersToGo { all.metersToGo = min(all.metersToGo ?? toGo, toGo) }
            let speed = entry.trip.speed ?? entry.trip.usualSpeed
            all.speedMetersPerSecond = max(all.speedMetersPerSecond, speed)
            // One phone reports all trips, so its newest battery level counts.
            guard entry.usedAt >= newest else { continue }
            (newest, all.batteryPercent) = (entry.usedAt, entry.trip.batteryPercent)
        }
        return all
    }
}
