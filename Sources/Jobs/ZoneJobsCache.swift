// A cache of the open jobs of each zone, for the operations page. Reading a zone of thousands of jobs costs Redis noticeable
// time, so this gateway reads it once for all clients, in batches and only on request. After a read it serves the cached result
// for nine times as long as the read took, within 1 to 5 s.

package import EnrouteWire
internal import HTTPValues
package import LiveState
internal import NIOCore

/// Caches the zones that operations staff watch.
package actor ZoneJobsCache {
    private let jobs: JobService
    private let registry: GatewayRegistry
    private let isRevocationStateStale: @Sendable () async throws -> Bool
    private var entries: [ZoneID: Entry] = [:]
    private var readings: [ZoneID: EventLoopFuture<[ReadJob]>] = [:]

    /// How long a result is served: this many times as long as the read took, within these limits.
    static let pauseFactor = 9
    static let pauses: ClosedRange<TimeAmount> = .seconds(1)...(.seconds(5))
    /// Jobs that are read at the same time.
    static let batchSize = 250
    /// A zone that was not requested for this long is dropped; beyond `maxZones`, the one that was requested longest ago.
    static let idleLifetime: TimeAmount = .seconds(60)
    package static let maxZones = 64

    package init(
        jobs: JobService, registry: GatewayRegistry, isRevocationStateStale: @escaping @Sendable () async throws -> Bool
    ) {
        (self.jobs, self.registry, self.isRevocationStateStale) = (jobs, registry, isRevocationStateStale)
    }

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

    /// A job as it was read.
    private struct ReadJob: Sendable {
        var row: JobRow
        package var verdicts: ValidationSummary
    }

    /// - Throws: the errors of Redis.
    package func snapshot(of zone: ZoneID) async throws -> ZoneSnapshot {
        self.evict(except: zone)
        self.entries[zone]?.askedAt = .now()
        if let entry = self.entries[zone], .now() < entry.validUntil { return entry.snapshot }
        let started = NIODeadline.now()
        // The read always completes, because every request to Redis has a timeout.
        let reading = self.readings[zone] ?? self.jobs.loop.makeFutureWithTask { try await self.read(zone) }
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

    private func store(_ readJobs: [ReadJob], of zone: ZoneID, _ started: NIODeadline) {
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

    // MARK: reading

    private nonisolated func read(_ zone: ZoneID) async throws -> [ReadJob] {
        let isRevocationStateStale = try await self.isRevocationStateStale()
        let listing = self.jobs.ledger.listing
        let listed = try await listing.jobIDs(in: zone).get()
        let followers = try await self.registry.followers().get()
        var readJobs: [ReadJob] = []
        readJobs.reserveCapacity(listed.count)
        for start in stride(from: 0, to: listed.count, by: Self.batchSize) {
            let batch = listed[start..<min(start + Self.batchSize, listed.count)]
            let open = try await listing.openJobs(batch, in: zone).get()
            let looks = open.map {
                self.readJob($0, followers: followers[$0.job] ?? 0, isRevocationStateStale: isRevocationStateStale)
            }
            readJobs += try await EventLoopFuture.whenAllSucceed(looks, on: self.jobs.loop).get()
        }
        return readJobs
    }

    private nonisolated func readJob(
        _ open: ZoneJobs.OpenJob, followers: Int, isRevocationStateStale: Bool
    ) -> EventLoopFuture<ReadJob> {
        // No position has been shared for this job yet, so there is nothing to read at the live instance.
        let live =
            open.record.travelDeadline == nil
            ? self.jobs.loop.makeSucceededFuture((JobFeed.State(), ValidationSummary()))
            : self.jobs.feed.read(open.job).and(self.jobs.notes.read(open.job))
        let (freshness, settings) = (self.jobs.freshness, self.jobs.settings)
        return live.map { feed, notes in
            let view = JobView(open.recovery, feed, notes, now: WallClock.nowMilliseconds, freshness: freshness)
            let shown = isRevocationStateStale ? view.withoutPosition : view
            let row = JobRow(
                open, shown, shown.tracking(now: WallClock.nowMilliseconds, settings), notes, followers: followers)
            return ReadJob(row: row, verdicts: notes)
        }
    }
}

extension JobRow {
    fileprivate init(
        _ open: ZoneJobs.OpenJob, _ view: JobView, _ tracking: JobTracking, _ notes: ValidationSummary, followers: Int
    ) {
        let record = open.record
        self.init(
            job: open.job, kind: record.kind, status: record.status, statusAt: record.statusAt,
            customer: record.customer, rider: record.rider, tracking: tracking, reason: view.snapshot.reason,
            proximity: view.isTracking ? notes.proximity : nil, deadline: view.deadline, followers: followers)
        guard view.isTracking, tracking != .live else { return }
        self.unavailable = notes.unavailable ?? (tracking == .stale || tracking == .lost ? .unknown : nil)
        switch tracking {
        // A position's id is the time at which Redis stored it, µs.
        case .stale: self.seenAt = view.positionID.map { Int64(clamping: $0 / 1000) }
        case .lost: self.seenAt = notes.seenAt
        default: self.seenAt = nil
        }
    }
}
