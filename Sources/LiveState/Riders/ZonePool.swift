// The pool of a zone, for whoever gives out tasks: who may get one, what changed since, and who is nearest. A follower
// subscribes to the zone's changes, reads, and reads again from its last version when a change's `previous` is not that
// version. Nothing of it decides who gets a task: that is `Riders.assign`.

package import EnrouteWire
package import NIOCore
package import Redis

/// The pools of every zone. May be used from any thread.
package struct ZonePool: Sendable {
    private let ledger: RedisClient
    private let geo: GeoIndex
    private let keyspace: Keyspace

    package init(ledger: RedisClient, live: RedisClient, settings: LiveStateSettings) {
        self.ledger = ledger
        self.geo = GeoIndex(live: live, settings: settings)
        self.keyspace = settings.keyspace
    }

    /// A rider that may get a task.
    package struct Member: Sendable, Hashable {
        package var rider: PersonID
        /// When it was last heard from, ms since the epoch.
        package var heartbeat: Int64
    }

    /// The pool at one moment, or how it came to be what it is.
    package struct Reading: Sendable, Hashable {
        /// Of the newest change that is in it; 0 when there never was one.
        package var version: Int64
        /// What changed since the version that was asked for, oldest first; `nil` when the log does not hold all of it:
        /// then `members` are all there is.
        package var changes: [RiderChange]?
        /// The newest heartbeat first; none when there are `changes`.
        package var members: [Member]
        /// Of the whole pool, which may be more than `members`.
        package var count: Int
    }

    /// Riders that one reading shows, at most.
    package static let longest = 10_000

    /// - Parameters:
    ///   - version: the newest change that was seen; `nil` for the pool itself.
    ///   - limit: riders at most, 1 to `longest`.
    /// - Throws: (in the future) `RedisError`; `unexpectedAnswer` when somebody else wrote into the log.
    package func read(
        _ zone: ZoneID, since version: Int64? = nil, limit: Int = Self.longest
    ) -> EventLoopFuture<Reading> {
        self.ledger.evaluate(
            Scripts.zoneSnapshot, keys: [self.keyspace.available(in: zone), self.keyspace.changeLog(of: zone)],
            arguments: [.text(version.map(String.init) ?? ""), .integer(min(max(limit, 1), Self.longest))]
        ).flatMapThrowing { answer in
            guard let reading = Reading(answer, zone: zone) else {
                throw self.ledger.refusal(
                    of: version == nil ? self.keyspace.available(in: zone) : self.keyspace.changeLog(of: zone),
                    by: Scripts.zoneSnapshot.name)
            }
            return reading
        }
    }

    /// A rider of the pool, and how far it is.
    package struct Candidate: Sendable, Hashable {
        package var rider: PersonID
        package var metres: Double
    }

    /// Riders that one question about the nearest may ask for.
    package static let candidates = 1...100

    /// Who of the pool is nearest. Riders near by who are not in the pool are passed over; it looks at the nearest
    /// `GeoIndex.longest`, so in a crowd of busy ones it may find fewer than there are.
    ///
    /// - Parameters:
    ///   - radius: metres.
    ///   - limit: one of `candidates`.
    package func nearest(
        to place: Coordinate, in zone: ZoneID, within radius: Double, limit: Int
    ) -> EventLoopFuture<[Candidate]> {
        let limit = min(max(limit, Self.candidates.lowerBound), Self.candidates.upperBound)
        return self.look(place, zone, radius, limit, breadth: 3 * limit)
    }

    private func look(
        _ place: Coordinate, _ zone: ZoneID, _ radius: Double, _ limit: Int, breadth: Int
    ) -> EventLoopFuture<[Candidate]> {
        self.geo.near(place, in: zone, within: radius, limit: breadth).flatMap { near in
            guard !near.isEmpty else { return self.ledger.eventLoop.makeSucceededFuture([]) }
            let riders = near.map { RedisCommand.Word.text($0.rider.text) }
            let question = RedisCommand([.text("ZMSCORE"), .text(self.keyspace.available(in: zone))] + riders)
            return self.ledger.send(question).flatMap { answer in
                let scores = answer.array ?? []
                let available = zip(near, scores).filter { $0.1 != .null }.map { $0.0 }
                // All that there was, or enough.
                if available.count >= limit || near.count < breadth || breadth >= GeoIndex.longest {
                    return self.ledger.eventLoop.makeSucceededFuture(Array(available.prefix(limit)))
                }
                return self.look(place, zone, radius, limit, breadth: GeoIndex.longest)
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
            guard parts.count == 4, let count = parts[2].integer, let words = parts[3].array?.compactMap(\.text),
                words.count.isMultiple(of: 2)
            else { return nil }
            self.count = Int(clamping: count)
            for index in stride(from: 0, to: words.count, by: 2) {
                guard let rider = PersonID(words[index]), let heartbeat = words[index + 1].moment else { return nil }
                self.members.append(ZonePool.Member(rider: rider, heartbeat: heartbeat))
            }
        }
    }
}

extension RiderChange {
    /// - Parameter entry: of the zone's change log: its id, and names and values in turn.
    init?(_ entry: RESPValue, zone: ZoneID) {
        guard let parts = entry.array, parts.count == 2, let id = parts[0].text.flatMap({ StatusID($0) }),
            let words = parts[1].array?.map({ $0.text ?? "" }), words.count.isMultiple(of: 2)
        else { return nil }
        var fields: [String: String] = [:]
        for index in stride(from: 0, to: words.count, by: 2) { fields[words[index]] = words[index + 1] }
        guard let rider = fields["rider"].flatMap({ PersonID($0) }), let kind = fields["change"].flatMap(Kind.init),
            let status = fields["status"].flatMap(Availability.init), let tasks = fields["tasks"]?.amount,
            let capacity = fields["capacity"]?.amount, let previous = fields["prev"]?.version,
            let job = optional(fields["job"] ?? "", { JobID($0) }),
            // µs of the clock of Redis: ms, and what is left of them.
            let milliseconds = Int64(exactly: id.milliseconds), milliseconds.isMoment, id.sequence < 1_000_000
        else { return nil }
        self.init(
            zone: zone, version: milliseconds * 1000 + Int64(id.sequence), previous: previous,
            rider: rider, kind: kind, status: status, isReachable: fields["reachable"] == "1",
            isApproved: fields["approved"] == "1", tasks: tasks, capacity: capacity,
            isAvailable: fields["available"] == "1", job: job, at: milliseconds)
    }
}
