// Reads the extents of zones. Jobs are written far more often than extents change, so the result is cached for a
// minute.

package import EnrouteWire
package import LiveState
package import NIOCore
internal import Synchronization

/// The extents of zones, cached. Thread-safe.
package final class ZoneExtents: Sendable {
    private struct Entry {
        let extent: ZoneExtent
        let until: NIODeadline
    }

    /// Maximum number of places of riders, and of jobs, that are read for a zone.
    static let maxRead = 32
    /// Maximum number of zones in the cache. Beyond it, the one that expires first is dropped.
    static let maxZones = 1_000
    static let lifetime = TimeAmount.minutes(1)

    private let entries = Mutex<[ZoneID: Entry]>([:])

    package init() {}

    /// Returns the extent of a zone, from the cache or from Redis.
    ///
    /// - Parameters:
    ///   - jobs: the lists of open jobs.
    ///   - riders: the last places of riders. If they cannot be read, the jobs alone decide.
    /// - Returns: `nil` for a zone of which too little is known; fails with the errors of the ledger.
    package func extent(
        of zone: ZoneID, jobs: ZoneJobs, riders: GeoIndex
    ) -> EventLoopFuture<ZoneExtent?> {
        let known = self.entries.withLock { entries in entries[zone].flatMap { $0.until > .now() ? $0.extent : nil } }
        let latest = {
            jobs.latest(Self.maxRead, in: zone).flatMap { jobs.openJobs($0[...], in: zone, isListed: false) }
        }
        guard known == nil else { return jobs.eventLoop.makeSucceededFuture(known) }
        let ridden = riders.some(Self.maxRead, in: zone).recover { _ in [] }
        return latest().and(ridden).map { open, ridden in
            let places = open.flatMap { [$0.record.destination, $0.record.vendor?.place].compactMap(\.self) }
            let extent = ZoneExtent(of: places + ridden)
            if let extent { self.store(extent, of: zone, now: .now()) }
            return extent
        }
    }

    private func store(_ extent: ZoneExtent, of zone: ZoneID, now: NIODeadline) {
        self.entries.withLock { entries in
            if entries.count >= Self.maxZones { entries = entries.filter { $0.value.until > now } }
            if entries.count >= Self.maxZones, let next = entries.min(by: { $0.value.until < $1.value.until }) {
                entries[next.key] = nil
            }
            entries[zone] = Entry(extent: extent, until: now + Self.lifetime)
        }
    }
}
