// The open jobs of a zone as operations look at them. To read a zone of thousands costs Redis some of its time, so it is read
// once for all who look at it through this gateway, piece by piece, when somebody asks, and then not again for nine times as
// long as that took, or 5 s. Nobody looks: nothing is read.

package import EnrouteWire
internal import HTTPValues
package import LiveState
internal import NIOCore

/// What a gateway knows of the zones that are looked at.
package actor ZoneJobsCache {
    private let jobs: JobService
    private let registry: GatewayRegistry
    private let isRevocationStateStale: @Sendable () async throws -> Bool
    private var entries: [ZoneID: Entry] = [:]
    private var readings: [ZoneID: EventLoopFuture<[ReadJob]>] = [:]

    /// How long a reading is shown before the next: so many times as long as it took, within these bounds.
    static let restShare = 9
    static let rests: ClosedRange<TimeAmount> = .seconds(1)...(.seconds(5))
    /// Jobs that are read at the same time.
    static let readAtOnce = 250
    /// A zone that nobody has asked for so long is forgotten; and of more than so many the one that was asked for first.
    static let interest: TimeAmount = .seconds(60)
    package static let mostZones = 64

    package init(
        jobs: JobService, registry: GatewayRegistry, isRevocationStateStale: @escaping @Sendable () async throws -> Bool
    ) {
        (self.jobs, self.registry, self.isRevocationStateStale) = (jobs, registry, isRevocationStateStale)
    }

    /// A zone's jobs at one moment, and how they came to be.
    package struct ZoneSnapshot: Sendable {
        package var history = VersionedRows()
        /// Of jobs whose riders have shared their positions.
        package var verdicts: [JobID: ValidationSummary] = [:]
    }

    private struct Entry {
        var snapshot = ZoneSnapshot()
        var restsUntil = NIODeadline.distantPast
        var askedAt = NIODeadline.now()
    }

    /// One job, as it was read.
    private struct ReadJob: Sendable {
        var row: JobRow
        package var verdicts: ValidationSummary
    }

    /// - Throws: what Redis throws.
    package func snapshot(of zone: ZoneID) async throws -> ZoneSnapshot {
        self.forget(except: zone)
        self.entries[zone]?.askedAt = .now()
        if let entry = self.entries[zone], .now() < entry.restsUntil { return entry.snapshot }
        let begun = NIODeadline.now()
        // Ends by itself: every question to Redis does.
        let reading = self.readings[zone] ?? self.jobs.loop.makeFutureWithTask { try await self.read(zone) }
        self.readings[zone] = reading
        do {
            let seen = try await reading.get()
            // Whoever of those that waited comes first takes it in.
            if self.readings[zone] === reading {
                self.readings[zone] = nil
                self.take(seen, of: zone, begun)
            }
        } catch {
            if self.readings[zone] === reading { self.readings[zone] = nil }
            throw error
        }
        return self.entries[zone]?.snapshot ?? ZoneSnapshot()
    }

    private func take(_ seen: [ReadJob], of zone: ZoneID, _ begun: NIODeadline) {
        var entry = self.entries[zone] ?? Entry()
        entry.snapshot.history.take(seen.map(\.row))
        entry.snapshot.verdicts = Dictionary(seen.map { ($0.row.job, $0.verdicts) }) { $1 }
        entry.snapshot.verdicts = entry.snapshot.verdicts.filter { !$0.value.counts.isEmpty }
        let took = NIODeadline.now() - begun
        entry.restsUntil = .now() + min(max(took * Self.restShare, Self.rests.lowerBound), Self.rests.upperBound)
        self.entries[zone] = entry
        self.forget(except: zone)
    }

    private func forget(except zone: ZoneID) {
        let now = NIODeadline.now()
        self.entries = self.entries.filter { $0.key == zone || $0.value.askedAt + Self.interest > now }
        while self.entries.count > Self.mostZones,
            let first = self.entries.filter({ $0.key != zone }).min(by: { $0.value.askedAt < $1.value.askedAt })
        {
            self.entries[first.key] = nil
        }
    }

    // MARK: reading

    private nonisolated func read(_ zone: ZoneID) async throws -> [ReadJob] {
        let isRevocationStateStale = try await self.isRevocationStateStale()
        let listing = self.jobs.ledger.listing
        let listed = try await listing.listed(in: zone).get()
        let followers = try await self.registry.followers().get()
        var seen: [ReadJob] = []
        seen.reserveCapacity(listed.count)
        for start in stride(from: 0, to: listed.count, by: Self.readAtOnce) {
            let piece = listed[start..<min(start + Self.readAtOnce, listed.count)]
            let open = try await listing.open(piece, in: zone).get()
            let looks = open.map {
                self.readJob($0, followers: followers[$0.job] ?? 0, isRevocationStateStale: isRevocationStateStale)
            }
            seen += try await EventLoopFuture.whenAllSucceed(looks, on: self.jobs.loop).get()
        }
        return seen
    }

    private nonisolated func readJob(
        _ open: ZoneJobs.Open, followers: Int, isRevocationStateStale: Bool
    ) -> EventLoopFuture<ReadJob> {
        // Nobody has shared a position for it yet: there is nothing to read.
        let live =
            open.record.travelDeadline == nil
            ? self.jobs.loop.makeSucceededFuture((JobFeed.State(), ValidationSummary()))
            : self.jobs.feed.read(open.job).and(self.jobs.notes.read(open.job))
        let (freshness, settings) = (self.jobs.freshness, self.jobs.settings)
        return live.map { feed, notes in
            let view = JobView(open.recovery, feed, notes, now: .now, freshness: freshness)
            let shown = isRevocationStateStale ? view.withoutPosition : view
            let row = JobRow(open, shown, shown.tracking(now: .now, settings), notes, followers: followers)
            return ReadJob(row: row, verdicts: notes)
        }
    }
}

extension JobRow {
    fileprivate init(
        _ open: ZoneJobs.Open, _ view: JobView, _ tracking: JobTracking, _ notes: ValidationSummary, followers: Int
    ) {
        let record = open.record
        self.init(
            job: open.job, kind: record.kind, status: record.status, statusAt: record.statusAt,
            customer: record.customer, rider: record.rider, tracking: tracking, reason: view.snapshot.reason,
            proximity: view.isTracking ? notes.proximity : nil, deadline: view.deadline, followers: followers)
        guard view.isTracking, tracking != .live else { return }
        self.unavailable = notes.unavailable ?? (tracking == .stale || tracking == .lost ? .unknown : nil)
        switch tracking {
        // A position's id is the time of Redis when it came in, µs.
        case .stale: self.seenAt = view.positionID.map { Int64(clamping: $0 / 1000) }
        case .lost: self.seenAt = notes.seenAt
        default: self.seenAt = nil
        }
    }
}
