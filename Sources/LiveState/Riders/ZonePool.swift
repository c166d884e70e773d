// The pool of a zone, for programs that assign tasks: available riders, changes, and the nearest riders. A follower
// subscribes to the zone's changes and reads the pool. If a change's `previous` is not the last version that it saw, it
// reads again from that version. The pool does not decide who gets a task; `Riders.assign` does.

package import EnrouteWire
package import NIOCore
package import Redis

/// The pools of all zones. Safe to use from any thread.
package struct ZonePool: Sendable {
    private let ledger: RedisClient
    private let geo: GeoIndex
    private let keyspace: Keyspace

    package init(ledger: RedisClient, live: RedisClient, settings: LiveStateSettings) {
        self.ledger = ledger
        self.geo = GeoIndex(live: live, settings: settings)
        self.keyspace = settings.keyspace
    }

    /// A rider who may get a task.
    package struct Member: Sendable, Hashable {
        package var rider: PersonID
        /// Time of the last heartbeat, ms since the epoch.
        package var heartbeat: Int64
    }

    /// The pool at one moment, or the changes that led to it.
    package struct Reading: Sendable, Hashable {
        /// Version of the newest change it includes; 0 before the first change.
        package var version: Int64
        /// Changes since the requested version, oldest first; `nil` when the log does not contain all of them. Then
        /// `members` is the complete pool.
        package var changes: [RiderChange]?
        /// Newest heartbeat first; empty when there are `changes`.
        package var members: [Member]
        /// Size of the whole pool, which may exceed `members`.
        package var count: Int
    }

    /// Maximum number of riders in one reading.
    package static let maxMembers = 10_000

    /// Reads the pool of a zone, or the changes since a version.
    ///
    /// - Parameters:
    ///   - version: the newest change that the caller has seen; `nil` for the pool itself.
    ///   - limit: maximum number of riders, 1 to `maxMembers`.
    /// - Throws: (in the future) `RedisError`; also when the log is malformed.
    package func read(
        _ zone: ZoneID, since version: Int64? = nil, limit: Int = Self.maxMembers
    ) -> EventLoopFuture<Reading> {
        self.ledger.evaluate(
            Scripts.zoneSnapshot, keys: [self.keyspace.available(in: zone), self.keyspace.changeLog(of: zone)],
            arguments: [.text(version.map(String.init) ?? ""), .integer(min(max(limit, 1), Self.maxMembers))]
        ).flatMapThrowing { answer in
            guard let reading = Reading(answer, zone: zone) else {
                throw self.ledger.refusal(
                    of: version == nil ? self.keyspace.available(in: zone) : self.keyspace.changeLog(of: zone),
                    by: Scripts.zoneSnapshot.name)
            }
            return reading
        }
    }

    /// A rider of the pool, and its distance.
    package struct Candidate: Sendable, Hashable {
        package var rider: PersonID
        package var meters: Double
    }

    /// Number of riders that one search for the nearest may return.
    package static let candidates = 1...100

    /// The nearest riders of the pool, without nearby riders that are not in the pool. It examines at most
    /// `GeoIndex.maxResults` riders, so among many busy riders it may find fewer than there are.
    ///
    /// - Parameters:
    ///   - radius: meters.
    ///   - limit: one of `candidates`.
    package func nearest(
        to place: Coordinate, in zone: ZoneID, within radius: Double, limit: Int
    ) -> EventLoopFuture<[Candidate]> {
        let limit = min(max(limit, Self.candidates.lowerBound), Self.candidates.upperBound)
        return self.search(place, zone, radius, limit, breadth: 3 * limit)
    }

    private func search(
        _ place: Coordinate, _ zone: ZoneID, _ radius: Double, _ limit: Int, breadth: Int
    ) -> EventLoopFuture<[Candidate]> {
        self.geo.near(place, in: zone, within: radius, limit: breadth).flatMap { near in
            guard !near.isEmpty else { return self.ledger.eventLoop.makeSucceededFuture([]) }
            let riders = near.map { RedisCommand.Word.text($0.rider.text) }
            let question = RedisCommand([.text("ZMSCORE"), .text(self.keyspace.available(in: zone))] + riders)
            return self.ledger.send(question).flatMap { answer in
                let scores = answer.array ?? []
                let available = zip(near, scores).filter { $0.1 != .null }.map { $0.0 }
                // Enough riders were found, or none are left to examine.
                if available.count >= limit || near.count < breadth || breadth >= GeoIndex.maxResults {
                    return self.ledger.eventLoop.makeSucceededFuture(Array(available.prefix(limit)))
                }
                return self.search(place, zone, radius, limit, breadth: GeoIndex.maxResults)
            }
        }
    }
}

extension ZonePool.Reading {
    fileprivate init?(_ answer: RESPValue, zone: ZoneID) {
        guard let parts = answer.array, let code = parts.first?.integer, parts.count >= 3,
            let version = parts[1].text?.version
        else { return nil }
        self.init(version: version, changes: nil, members: [], count: 0)
        if code == 1 {
            guard let entries = parts[2].array else { return nil }
            let changes = entries.compactMap { RiderChange($0, zone: zone) }
            guard changes.count == entries.count else { return nil }
            self.changes = changes
        } else {
            guard parts.count == 4, let count = parts[2].integer, let items = parts[3].array?.compactMap(\.text),
                items.count.isMultiple(of: 2)
            else { return nil }
            self.count = Int(clamping: count)
            for index in stride(from: 0, to: items.count, by: 2) {
                guard let rider = PersonID(items[index]), let heartbeat = items[index + 1].timestamp else { return nil }
                self.members.append(ZonePool.Member(rider: rider, heartbeat: heartbeat))
            }
        }
    }
}

extension RiderChange {
    /// - Parameter entry: of the zone's change log: its id, then names and values in turn.
    init?(_ entry: RESPValue, zone: ZoneID) {
        guard let parts = entry.array, parts.count == 2, let id = parts[0].text.flatMap({ StatusID($0) }),
            let items = parts[1].array?.map({ $0.text ?? "" }), items.count.isMultiple(of: 2)
        else { return nil }
        var fields: [String: String] = [:]
        for index in stride(from: 0, to: items.count, by: 2) { fields[items[index]] = items[index + 1] }
        guard let rider = fields["rider"].flatMap({ PersonID($0) }), let kind = fields["change"].flatMap(Kind.init),
            let status = fields["status"].flatMap(Availability.init), let tasks = fields["tasks"]?.amount,
            let capacity = fields["capacity"]?.amount, let previous = fields["prev"]?.version,
            let job = optional(fields["job"] ?? "", { JobID($0) }),
            // The id is the time of Redis in µs: the milliseconds, then the remaining microseconds.
            let milliseconds = Int64(exactly: id.milliseconds), milliseconds.isTimestamp, id.sequence < 1_000_000
        else { return nil }
        self.init(
            zone: zone, version: milliseconds * 1000 + Int64(id.sequence), previous: previous,
            rider: rider, kind: kind, status: status, isReachable: fields["reachable"] == "1",
            isApproved: fields["approved"] == "1", tasks: tasks, capacity: capacity,
            isAvailable: fields["available"] == "1", job: job, at: milliseconds)
    }
}
