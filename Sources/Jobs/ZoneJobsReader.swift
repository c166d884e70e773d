// Reads the open jobs of a zone as operations staff see them: from their records, and from the live instance if their riders
// have shared positions.

package import EnrouteWire
internal import HTTPValues
package import LiveState
internal import NIOCore

/// Reads jobs in batches, on one event loop. Safe to use from any thread.
package struct ZoneJobsReader: Sendable {
    private let jobs: JobService
    private let registry: GatewayRegistry
    private let places: GeoIndex
    private let isRevocationStateStale: @Sendable () async throws -> Bool

    /// Jobs that are read at the same time.
    static let batchSize = 250

    package init(
        jobs: JobService, registry: GatewayRegistry, places: GeoIndex,
        isRevocationStateStale: @escaping @Sendable () async throws -> Bool
    ) {
        (self.jobs, self.registry, self.places) = (jobs, registry, places)
        self.isRevocationStateStale = isRevocationStateStale
    }

    var loop: any EventLoop { self.jobs.loop }
    var events: EventStreams { self.jobs.ledger.events }

    /// A job as it was read.
    package struct ReadJob: Sendable {
        package var row: JobRow
        package var verdicts: ValidationSummary
        /// Where it starts and ends, and where its rider is. Only for watchers of the zone's places.
        package var place: ZonePlace
    }

    /// The last places of the zone's riders who are online; none while the revocation state is stale. A gateway may store
    /// a place just after its rider went offline at another gateway, so the ledger decides who is shown. If it does not
    /// answer, all are shown.
    ///
    /// - Throws: the errors of Redis.
    package func riderPlaces(in zone: ZoneID) async throws -> [ZonePlace] {
        guard try await !self.isRevocationStateStale() else { return [] }
        let places = try await self.places.all(in: zone, now: WallClock.nowMilliseconds).get()
        let online = try? await self.jobs.riders.online(Array(places.keys), in: zone).get()
        return places.filter { online?.contains($0.key) != false }.map { rider, seen in
            ZonePlace(rider: rider, position: seen.place, at: seen.at)
        }
    }

    /// The open jobs of a zone.
    ///
    /// - Parameter others: jobs that may be in the zone although they are not on its list yet.
    /// - Throws: the errors of Redis.
    package func read(_ zone: ZoneID, and others: Set<JobID> = []) async throws -> [ReadJob] {
        let isStale = try await self.isRevocationStateStale()
        let listed = try await self.jobs.ledger.listing.jobIDs(in: zone).get()
        let followers = try await self.registry.followers().get()
        let count = { @Sendable (job: JobID) in followers[job] ?? 0 }
        let read = try await self.read(
            listed, in: zone, isListed: true, isRevocationStateStale: isStale, followers: count)
        let unlisted = Array(others.subtracting(listed))
        return try await read
            + self.read(unlisted, in: zone, isListed: false, isRevocationStateStale: isStale, followers: count)
    }

    /// Reads those of the given jobs that are open and in the zone.
    ///
    /// - Parameter followers: the number of followers to show for a job.
    /// - Throws: the errors of Redis.
    package func read(
        _ jobs: [JobID], in zone: ZoneID, followers: @Sendable (JobID) -> Int
    ) async throws -> [ReadJob] {
        let isStale = try await self.isRevocationStateStale()
        return try await self.read(
            jobs, in: zone, isListed: false, isRevocationStateStale: isStale, followers: followers)
    }

    private func read(
        _ jobs: [JobID], in zone: ZoneID, isListed: Bool, isRevocationStateStale: Bool,
        followers: @Sendable (JobID) -> Int
    ) async throws -> [ReadJob] {
        var readJobs: [ReadJob] = []
        readJobs.reserveCapacity(jobs.count)
        for start in stride(from: 0, to: jobs.count, by: Self.batchSize) {
            let batch = jobs[start..<min(start + Self.batchSize, jobs.count)]
            let open = try await self.jobs.ledger.listing.openJobs(batch, in: zone, isListed: isListed).get()
            let looks = open.map {
                self.readJob($0, followers: followers($0.job), isRevocationStateStale: isRevocationStateStale)
            }
            readJobs += try await EventLoopFuture.whenAllSucceed(looks, on: self.loop).get()
        }
        return readJobs
    }

    private func readJob(
        _ open: ZoneJobs.OpenJob, followers: Int, isRevocationStateStale: Bool
    ) -> EventLoopFuture<ReadJob> {
        // No position has been shared for this job yet, so there is nothing to read from the live instance.
        let live =
            open.record.travelDeadline == nil
            ? self.jobs.loop.makeSucceededFuture((JobFeed.State(), ValidationSummary()))
            : self.jobs.feed.read(open.job).and(self.jobs.notes.read(open.job))
        let (freshness, early, settings) = (self.jobs.freshness, self.jobs.early, self.jobs.settings)
        return live.map { feed, notes in
            let view = JobView(
                open.recovery, feed, notes, early: early, now: WallClock.nowMilliseconds, freshness: freshness)
            let shown = isRevocationStateStale ? view.withoutPosition : view
            let row = JobRow(
                open, shown, shown.tracking(now: WallClock.nowMilliseconds, settings), notes, followers: followers)
            return ReadJob(row: row, verdicts: notes, place: ZonePlace(open, shown))
        }
    }
}

extension ZonePlace {
    /// The rider's position as followers see it: none before it is shared, and none that has expired.
    fileprivate init(_ open: ZoneJobs.OpenJob, _ view: JobView) {
        let record = open.record
        self.init(
            job: open.job, rider: record.rider, destination: record.destination, vendor: record.vendor?.place)
        guard let bytes = view.snapshot.position,
            let fix = bytes.withUnsafeBytes({ PublishedLocation.fix(of: $0) })
        else { return }
        (self.position, self.heading, self.at) = (fix.place, fix.headingDegrees, fix.at)
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
            proximity: view.isTracking ? notes.proximity : nil, deadline: view.deadline,
            arrivesAt: view.snapshot.eta?.arrivesAt, promisedBy: record.display?.window?.until,
            orderNumber: record.display?.orderNumber,
            geocoding: record.geocoded.flatMap { $0.state == .ok ? nil : $0.state }, followers: followers)
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
