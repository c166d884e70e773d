// A cache of the open jobs of each zone, for the operations page. Reading a zone of thousands of jobs costs Redis noticeable
// time, so this gateway reads it once for all clients, in batches and only on request. After a read it serves the cached result
// for nine times as long as the read took, within 1 to 5 s.

package import EnrouteWire
internal import NIOCore

/// Caches the zones that operations staff watch.
package actor ZoneJobsCache {
    private let reader: ZoneJobsReader
    private var entries: [ZoneID: Entry] = [:]
    private var readings: [ZoneID: EventLoopFuture<[ZoneJobsReader.ReadJob]>] = [:]

    /// How long a result is served: this many times as long as the read took, within these limits.
    static let pauseFactor = 9
    static let pauses: ClosedRange<TimeAmount> = .seconds(1)...(.seconds(5))
    /// A zone that was not requested for this long is dropped; beyond `maxZones`, the one that was requested longest ago.
    static let idleLifetime: TimeAmount = .seconds(60)
    package static let maxZones = 64

    package init(_ reader: ZoneJobsReader) { self.reader = reader }

    /// A zone's jobs at one moment, with their versions.
    package struct ZoneSnapshot: Sendable {
        package var history = VersionedRows()
        /// Validation results of jobs whose riders have shared positions.
        package var verdicts: [JobID: ValidationSummary] = [:]
    }

    private struct Entry {
        var snapshot = ZoneSnapshot()
        var validUntil = NIODeadline.distantPast
        var askedAt = NIODeadline.now()
    }

    /// Returns the jobs of a zone, from the cache or from Redis.
    ///
    /// - Throws: the errors of Redis.
    package func snapshot(of zone: ZoneID) async throws -> ZoneSnapshot {
        self.evict(except: zone)
        self.entries[zone]?.askedAt = .now()
        if let entry = self.entries[zone], .now() < entry.validUntil { return entry.snapshot }
        let started = NIODeadline.now()
        // The read always completes, because every request to Redis has a timeout.
        let reading = self.readings[zone] ?? self.reader.loop.makeFutureWithTask { try await self.reader.read(zone) }
        self.readings[zone] = reading
        do {
            let readJobs = try await reading.get()
            // Of the callers that waited for this read, the first one stores it.
            if self.readings[zone] === reading {
                self.readings[zone] = nil
                self.store(readJobs, of: zone, started)
            }
        } catch {
            if self.readings[zone] === reading { self.readings[zone] = nil }
            throw error
        }
        return self.entries[zone]?.snapshot ?? ZoneSnapshot()
    }

    private func store(_ readJobs: [ZoneJobsReader.ReadJob], of zone: ZoneID, _ started: NIODeadline) {
        var entry = self.entries[zone] ?? Entry()
        entry.snapshot.history.apply(readJobs.map(\.row))
        entry.snapshot.verdicts = Dictionary(readJobs.map { ($0.row.job, $0.verdicts) }) { $1 }
        entry.snapshot.verdicts = entry.snapshot.verdicts.filter { !$0.value.counts.isEmpty }
        let took = NIODeadline.now() - started
        entry.validUntil = .now() + min(max(took * Self.pauseFactor, Self.pauses.lowerBound), Self.pauses.upperBound)
        self.entries[zone] = entry
        self.evict(except: zone)
    }

    private func evict(except zone: ZoneID) {
        let now = NIODeadline.now()
        self.entries = self.entries.filter { $0.key == zone || $0.value.askedAt + Self.idleLifetime > now }
        while self.entries.count > Self.maxZones,
            let first = self.entries.filter({ $0.key != zone }).min(by: { $0.value.askedAt < $1.value.askedAt })
        {
            self.entries[first.key] = nil
        }
    }
}
