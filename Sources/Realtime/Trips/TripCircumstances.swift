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

    /// A trip whose last report is so old that its position is stale has ended, or as good as. Its followers and its distance
    /// no longer count.
    private func circumstances(at indices: some Sequence<[Key: Entry].Index>) -> ReportRate.Circumstances {
        let oldest = NIODeadline.now() - self.freshness
        var all = ReportRate.Circumstances(isFollowed: false, metersToGo: nil, speedMetersPerSecond: 0)
        var newest = oldest
        for index in indices where self.entries.values[index].usedAt >= oldest {
            let (toGo, usedAt) = (self.entries.values[index].trip.metersToGo, self.entries.values[index].usedAt)
            if self.entries.values[index].trip.isFollowed { all.isFollowed = true }
            if let toGo { all.metersToGo = min(all.metersToGo ?? toGo, toGo) }
            all.speedMetersPerSecond = max(
                all.speedMetersPerSecond, self.entries.values[index].trip.speedMetersPerSecond)
            // All trips are reported by one phone, so its newest battery level counts.
            guard usedAt >= newest else { continue }
            (newest, all.batteryPercent) = (usedAt, self.entries.values[index].trip.batteryPercent)
        }
        return all
    }
}
