// The open jobs of the zones that clients of this gateway watch, and their changes. One reader serves all event loops.
//
// The stream of all events names the jobs that have changed, on any gateway, and only these are read again. Rows
// therefore always agree with the records, and a repeated or missing event does no harm (decisions/zone-jobs-feed.md).
// Two timers cover changes that have no event: jobs whose riders share positions are read every few seconds, because
// their tracking states change with time, and the whole zone every half minute, because records expire. While somebody
// watches the places of a zone, these jobs and the last places of its riders are read every second.

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
    private let wanted = Mutex<[ZoneID: [Int: Subscription]]>([:])
    private let wakes: AsyncStream<Void>
    private let waker: AsyncStream<Void>.Continuation

    /// How often the stream of events is read.
    static let interval: Duration = .milliseconds(250)
    /// How often jobs whose riders share positions are read, and the whole zone; longer when a read takes long.
    static let sharingInterval: TimeAmount = .seconds(5)
    static let wholeInterval: TimeAmount = .seconds(30)
    /// How often both are read, and the last places of riders, while somebody watches the places of the zone.
    static let placesInterval: TimeAmount = .seconds(1)
    /// A pause is at least this many times as long as the read before it.
    static let pauseFactor = 9
    /// The longest pause after a read that failed.
    static let longestRest: TimeAmount = .seconds(5)
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

    /// An update of a zone. A receiver gets updates in order.
    package enum Update: Sendable {
        /// All open jobs of the zone. Always first.
        case all([JobID: JobRow])
        case changes(ZoneRows.Changes)
        /// All places of the zone. First, for a receiver of places, which receives no jobs.
        case allPlaces([PlaceKey: ZonePlace])
        case places(ZonePlaces.Changes)
        /// The zone could not be read for the first time. Nothing follows.
        case failed(Refused)
    }

    package typealias Receiver = @Sendable (Update) -> Void

    /// The part of a zone that a receiver gets.
    package enum Content: Sendable { case jobs, places }

    struct Subscription: Sendable {
        var content: Content
        var receiver: Receiver
    }

    // MARK: receivers

    /// Starts sending a zone to a receiver.
    ///
    /// - Parameter number: unique among all calls.
    /// - Returns: `false` if too many zones are watched.
    package func watch(
        _ zone: ZoneID, _ content: Content = .jobs, as number: Int, _ receiver: @escaping Receiver
    ) -> Bool {
        let subscription = Subscription(content: content, receiver: receiver)
        let isWanted = self.wanted.withLock { wanted in
            guard wanted[zone] != nil || wanted.count < Self.maxZones else { return false }
            wanted[zone, default: [:]][number] = subscription
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

    /// The state that is kept from one turn to the next.
    private struct Turn {
        var zones: [ZoneID: ReadZone] = [:]
        /// The newest entry of each shard that was read; empty before the first read.
        var cursors: [Int: String] = [:]
    }

    private struct Reading: Sendable {
        var zone: ZoneID
        var due: ReadZone.Due
        var result: Result<[ZoneJobsReader.ReadJob], Refused>
        var took: TimeAmount
    }

    private func serve(_ wanted: [ZoneID: [Int: Subscription]], _ turn: inout Turn) async {
        turn.zones = turn.zones.filter { wanted[$0.key] != nil }
        for (zone, receivers) in wanted {
            turn.zones[zone, default: ReadZone()].isMapped = receivers.values.contains { $0.content == .places }
        }
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
        for zone in wanted.keys where turn.zones[zone]?.isRidersDue == true { await self.readRiders(zone, &turn) }
        for (zone, receivers) in wanted { turn.zones[zone]?.serve(receivers) }
    }

    /// Reads the last places of the zone's riders. If Redis does not answer, the map shows the former ones.
    private func readRiders(_ zone: ZoneID, _ turn: inout Turn) async {
        let started = NIODeadline.now()
        let places = try? await self.reader.riderPlaces(in: zone)
        turn.zones[zone]?.applyRiders(places, took: .now() - started)
    }

    private func read(_ zone: ZoneID, _ due: ReadZone.Due) async -> Reading {
        let started = NIODeadline.now()
        let result: Result<[ZoneJobsReader.ReadJob], Refused>
        do {
            let read =
                switch due {
                case .whole(let others): try await self.reader.read(zone, and: others)
                case .jobs(let jobs, _): try await self.reader.read(Array(jobs.keys), in: zone) { jobs[$0] ?? 0 }
                }
            result = .success(read)
        } catch {
            self.logger.debug(
                "reading a zone's jobs failed",
                metadata: [LogKey.zone: "\(zone)", LogKey.reason: "\(Refused.cause(of: error))"])
            result = .failure(Refused(error))
        }
        return Reading(zone: zone, due: due, result: result, took: .now() - started)
    }

    private static func apply(_ reading: Reading, _ turn: inout Turn, _ receivers: [Int: Subscription]) {
        switch reading.result {
        case .success(let read):
            guard let changes = turn.zones[reading.zone]?.apply(read, reading.due, took: reading.took),
                let served = turn.zones[reading.zone]?.served, !changes.isEmpty
            else { return }
            for (number, receiver) in receivers where receiver.content == .jobs && served.contains(number) {
                receiver.receiver(.changes(changes))
            }
        case .failure(let refused):
            // A zone that was loaded keeps its rows until it can be read again.
            turn.zones[reading.zone]?.readFailed(took: reading.took)
            guard turn.zones[reading.zone]?.isLoaded == false else { return }
            for (_, receiver) in receivers { receiver.receiver(.failed(refused)) }
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
        for zone in Array(turn.zones.keys) { turn.zones[zone]?.readWhole() }
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
