// The open jobs of the zones that clients of this gateway watch, and their changes. One reader serves all event loops.
//
// The stream of all events names the jobs that have changed, on any gateway, and only these are read again. Rows are therefore
// always as the records say, and a repeated or missing event does no harm (decisions/zone-jobs-feed.md). Two timers cover what
// has no event: jobs whose riders share positions are read every few seconds, because their tracking states change with time,
// and the whole zone every half minute, because records expire.

package import EnrouteWire
internal import LiveState
package import Logging
internal import NIOCore
internal import Synchronization
internal import Telemetry

/// Runs in every gateway. Reads nothing while no zone is watched.
package final class ZoneJobsFeed: Sendable {
    private let reader: ZoneJobsReader
    private let logger: Logger
    private let wanted = Mutex<[ZoneID: [Int: Receiver]]>([:])
    private let wakes: AsyncStream<Void>
    private let waker: AsyncStream<Void>.Continuation

    /// How often the stream of events is read.
    static let interval: Duration = .milliseconds(250)
    /// How often jobs whose riders share positions are read, and the whole zone; longer when a read takes long.
    static let sharingInterval: TimeAmount = .seconds(5)
    static let wholeInterval: TimeAmount = .seconds(30)
    /// A pause is at least this many times as long as the read before it.
    static let pauseFactor = 9
    /// Zones that are read at the same time.
    static let concurrentReads = 4
    /// Maximum number of zones.
    package static let maxZones = 64
    /// Pages of a shard that are read at a time. With more, the zones are read instead.
    static let maxPages = 20

    package init(_ reader: ZoneJobsReader, logger: Logger) {
        (self.reader, self.logger) = (reader, logger)
        (self.wakes, self.waker) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// What a receiver gets, in order.
    package enum Update: Sendable {
        /// All open jobs of the zone. Always first.
        case all([JobID: JobRow])
        case changes(ZoneRows.Changes)
        /// The zone could not be read for the first time. Nothing follows.
        case failed(Refused)
    }

    package typealias Receiver = @Sendable (Update) -> Void

    // MARK: receivers

    /// Starts sending a zone to a receiver.
    ///
    /// - Parameter number: unique among all calls.
    /// - Returns: `false` if too many zones are watched.
    package func watch(_ zone: ZoneID, as number: Int, _ receiver: @escaping Receiver) -> Bool {
        let isWanted = self.wanted.withLock { wanted in
            guard wanted[zone] != nil || wanted.count < Self.maxZones else { return false }
            wanted[zone, default: [:]][number] = receiver
            return true
        }
        if isWanted { self.waker.yield() }
        return isWanted
    }

    package func unwatch(_ zone: ZoneID, as number: Int) {
        self.wanted.withLock { wanted in
            wanted[zone]?[number] = nil
            if wanted[zone]?.isEmpty == true { wanted[zone] = nil }
        }
    }

    // MARK: reading

    /// Serves the receivers until the task is cancelled.
    package func run() async {
        for await _ in self.wakes {
            var turn = Turn()
            while !Task.isCancelled, case let wanted = self.wanted.withLock({ $0 }), !wanted.isEmpty {
                await self.serve(wanted, &turn)
                try? await Task.sleep(for: Self.interval)
            }
        }
    }

    /// What is known from one turn to the next.
    private struct Turn {
        var zones: [ZoneID: ReadZone] = [:]
        /// The newest entry of each shard that was read; empty before the first read.
        var cursors: [Int: String] = [:]
    }

    /// What has to be read of a zone.
    private enum Due: Sendable {
        /// The list of the zone, and these jobs: a gateway lists a job some time after it has written it.
        case whole(and: Set<JobID>)
        /// These jobs, with the number of followers of each: counting them costs a read for every gateway, so their number is as
        /// old as the last read of the whole zone.
        case some([JobID: Int], includesSharing: Bool)
    }

    private struct Reading: Sendable {
        var zone: ZoneID
        var due: Due
        var result: Result<[JobRow], Refused>
        var took: TimeAmount
    }

    private struct ReadZone {
        var rows = ZoneRows()
        var isLoaded = false
        /// The receivers that have all rows.
        var served: Set<Int> = []
        var changed: Set<JobID> = []
        var wholeAt = NIODeadline.distantPast
        var sharingAt = NIODeadline.distantPast

        var due: Due? {
            let now = NIODeadline.now()
            if now >= self.wholeAt { return .whole(and: self.changed.union(self.rows.rows.keys)) }
            var jobs = self.changed
            let includesSharing = now >= self.sharingAt
            if includesSharing { jobs.formUnion(self.rows.sharing) }
            guard !jobs.isEmpty else { return nil }
            let followers = jobs.map { ($0, self.rows.rows[$0]?.followers ?? 0) }
            return .some(Dictionary(uniqueKeysWithValues: followers), includesSharing: includesSharing)
        }

        /// - Returns: what the receivers that have all rows need.
        mutating func apply(_ read: [JobRow], _ due: Due, took: TimeAmount) -> ZoneRows.Changes {
            let (now, pause) = (NIODeadline.now(), took * ZoneJobsFeed.pauseFactor)
            self.changed = []
            switch due {
            case .whole:
                self.isLoaded = true
                self.wholeAt = now + max(pause, ZoneJobsFeed.wholeInterval)
                self.sharingAt = now + max(pause, ZoneJobsFeed.sharingInterval)
                return self.rows.replace(by: read)
            case .some(let jobs, let includesSharing):
                if includesSharing { self.sharingAt = now + max(pause, ZoneJobsFeed.sharingInterval) }
                return self.rows.update(Array(jobs.keys), by: read)
            }
        }

        /// Sends all rows to the receivers that have none.
        mutating func serveNew(_ receivers: [Int: Receiver]) {
            guard self.isLoaded else { return }
            for (number, receiver) in receivers where !self.served.contains(number) { receiver(.all(self.rows.rows)) }
            self.served = Set(receivers.keys)
        }
    }

    private func serve(_ wanted: [ZoneID: [Int: Receiver]], _ turn: inout Turn) async {
        turn.zones = turn.zones.filter { wanted[$0.key] != nil }
        for zone in wanted.keys where turn.zones[zone] == nil { turn.zones[zone] = ReadZone() }
        await self.readEvents(&turn)
        let due = turn.zones.compactMap { zone, state in state.due.map { (zone, $0) } }
        for start in stride(from: 0, to: due.count, by: Self.concurrentReads) {
            let readings = await withTaskGroup(of: Reading.self) { group in
                for (zone, due) in due[start..<min(start + Self.concurrentReads, due.count)] {
                    group.addTask { await self.read(zone, due) }
                }
                return await group.reduce(into: [Reading]()) { $0.append($1) }
            }
            for reading in readings { Self.apply(reading, &turn, wanted[reading.zone] ?? [:]) }
        }
        for (zone, receivers) in wanted { turn.zones[zone]?.serveNew(receivers) }
    }

    private func read(_ zone: ZoneID, _ due: Due) async -> Reading {
        let started = NIODeadline.now()
        let result: Result<[JobRow], Refused>
        do {
            let read =
                switch due {
                case .whole(let others): try await self.reader.read(zone, and: others)
                case .some(let jobs, _): try await self.reader.read(Array(jobs.keys), in: zone) { jobs[$0] ?? 0 }
                }
            result = .success(read.map(\.row))
        } catch {
            self.logger.debug(
                "reading a zone's jobs failed",
                metadata: [LogKey.zone: "\(zone)", LogKey.reason: "\(Refused.cause(of: error))"])
            result = .failure(Refused(error))
        }
        return Reading(zone: zone, due: due, result: result, took: .now() - started)
    }

    private static func apply(_ reading: Reading, _ turn: inout Turn, _ receivers: [Int: Receiver]) {
        switch reading.result {
        case .success(let rows):
            guard let changes = turn.zones[reading.zone]?.apply(rows, reading.due, took: reading.took),
                let served = turn.zones[reading.zone]?.served, !changes.isEmpty
            else { return }
            for (number, receiver) in receivers where served.contains(number) { receiver(.changes(changes)) }
        case .failure(let refused):
            // Nobody waits for a zone that is loaded: its rows are shown until it can be read again.
            turn.zones[reading.zone]?.wholeAt = .distantPast
            guard turn.zones[reading.zone]?.isLoaded == false else { return }
            for (_, receiver) in receivers { receiver(.failed(refused)) }
        }
    }

    // MARK: events

    /// Adds the jobs with new events to their zones. If events may have been missed, all zones are read as a whole.
    private func readEvents(_ turn: inout Turn) async {
        let cursors = turn.cursors
        do {
            let parts = try await withThrowingTaskGroup(of: ShardPart.self) { group in
                for shard in 0..<EventStreams.shards { group.addTask { try await self.part(shard, cursors[shard]) } }
                return try await group.reduce(into: [ShardPart]()) { $0.append($1) }
            }
            for part in parts {
                turn.cursors[part.shard] = part.cursor
                if part.isIncomplete { Self.readAll(&turn) }
                for event in part.events { Self.note(event, &turn) }
            }
        } catch {
            self.logger.debug(
                "reading events failed", metadata: [LogKey.reason: "\(Refused.cause(of: error))"])
            // A failover may have removed the entries that were read last, and the next ones may have smaller ids.
            turn.cursors = [:]
            Self.readAll(&turn)
        }
    }

    private static func readAll(_ turn: inout Turn) {
        for zone in Array(turn.zones.keys) { turn.zones[zone]?.wholeAt = .distantPast }
    }

    private static func note(_ event: ChangedJob, _ turn: inout Turn) {
        for zone in Array(turn.zones.keys)
        where event.zone == zone || turn.zones[zone]?.rows.contains(event.job) == true {
            turn.zones[zone]?.changed.insert(event.job)
        }
    }

    private struct ChangedJob: Sendable, Hashable {
        var job: JobID
        var zone: ZoneID
    }

    private struct ShardPart: Sendable {
        var shard: Int
        var cursor: String
        var events: Set<ChangedJob> = []
        /// More events have been appended than are worth reading.
        var isIncomplete = false
    }

    private func part(_ shard: Int, _ cursor: String?) async throws -> ShardPart {
        let streams = self.reader.events
        guard let cursor else { return ShardPart(shard: shard, cursor: try await streams.newest(shard: shard)) }
        var part = ShardPart(shard: shard, cursor: cursor)
        for _ in 0..<Self.maxPages {
            let entries = try await streams.read(shard: shard, after: part.cursor)
            part.cursor = entries.last?.id ?? part.cursor
            for event in entries.compactMap(\.event) where event.kind.isAboutJob {
                guard let job = JobID(event.subject) else { continue }
                part.events.insert(ChangedJob(job: job, zone: event.zone ?? ZoneJobs.withoutZone))
            }
            if entries.count < EventStreams.page { return part }
        }
        return ShardPart(shard: shard, cursor: try await streams.newest(shard: shard), isIncomplete: true)
    }
}
