// What operations staff see of a zone apart from its jobs: riders that are online, and the latest changes, newest
// first. It is read-only and limited; the streams contain earlier changes.

package import EnrouteWire
package import NIOCore
internal import Redis

extension Riders {
    /// Maximum number of riders shown: the first of the zone's roster.
    package static let maxOnlineRiders = 1_000
    /// Maximum number of a zone's riders that are counted and ordered: those whose next check is due first.
    package static let maxListedRiders = 25_000
    /// Riders that are read at the same time.
    private static let batchSize = 250

    /// A rider and its record.
    package struct OnlineRider: Sendable, Hashable {
        package var rider: PersonID
        package var record: RiderRecord
    }

    /// The riders of a zone that are online, reachable or not.
    package struct OnlineRiders: Sendable, Hashable {
        /// All of them.
        package var roster: ZoneRoster
        /// The first of them, at most `maxOnlineRiders`, ordered by id.
        package var shown: [OnlineRider]
    }

    package func online(in zone: ZoneID) -> EventLoopFuture<OnlineRiders> {
        self.roster(of: zone).flatMap { roster in
            self.read(roster.first(Self.maxOnlineRiders)[...], in: zone, []).map { riders in
                OnlineRiders(roster: roster, shown: riders.sorted { $0.rider.text < $1.rider.text })
            }
        }
    }

    /// Reads the zone's lists one after the other. A rider who changes meanwhile may be in its previous group.
    private func roster(of zone: ZoneID) -> EventLoopFuture<ZoneRoster> {
        let lists = [
            self.onlineIDs(in: zone), self.unreachableWithTask(in: zone), self.available(in: zone),
            self.taskOwners(in: zone),
        ]
        return EventLoopFuture.whenAllSucceed(lists, on: self.eventLoop).map {
            ZoneRoster(online: $0[0], unreachableWithTask: $0[1], available: $0[2], taskOwners: $0[3])
        }
    }

    /// The ids of the riders of a zone that are online, at most `maxListedRiders`.
    package func onlineIDs(in zone: ZoneID) -> EventLoopFuture<[PersonID]> {
        let key = self.keyspace.due(in: zone)
        return self.ledger.send(["ZRANGE", .text(key), 0, .integer(Self.maxListedRiders - 1)])
            .map { self.ledger.names($0, of: key, by: "ZRANGE") }
    }

    /// Which of these riders are online in the zone.
    package func online(_ riders: [PersonID], in zone: ZoneID) -> EventLoopFuture<Set<PersonID>> {
        guard !riders.isEmpty else { return self.eventLoop.makeSucceededFuture([]) }
        let names = riders.map { RedisCommand.Word.text($0.text) }
        let question = RedisCommand([.text("ZMSCORE"), .text(self.keyspace.due(in: zone))] + names)
        return self.ledger.send(question).flatMapThrowing { answer in
            guard let scores = answer.array, scores.count == riders.count else {
                throw RedisError.unexpectedAnswer(command: "ZMSCORE")
            }
            return Set(zip(riders, scores).filter { $0.1 != .null }.map(\.0))
        }
    }

    /// Riders whose next check waits until their last task is released, so their score is infinite.
    private func unreachableWithTask(in zone: ZoneID) -> EventLoopFuture<[PersonID]> {
        let key = self.keyspace.due(in: zone)
        return self.ledger.send([
            "ZRANGEBYSCORE", .text(key), "+inf", "+inf", "LIMIT", 0, .integer(Self.maxListedRiders),
        ]).map { self.ledger.names($0, of: key, by: "ZRANGEBYSCORE") }
    }

    private func available(in zone: ZoneID) -> EventLoopFuture<[PersonID]> {
        let key = self.keyspace.available(in: zone)
        return self.ledger.send(["ZRANGE", .text(key), 0, .integer(Self.maxListedRiders - 1)])
            .map { self.ledger.names($0, of: key, by: "ZRANGE") }
    }

    private func read(_ riders: ArraySlice<PersonID>, in zone: ZoneID, _ found: [OnlineRider]) -> EventLoopFuture<
        [OnlineRider]
    > {
        guard !riders.isEmpty else { return self.eventLoop.makeSucceededFuture(found) }
        let reads = riders.prefix(Self.batchSize).map { rider in
            self.read(rider, in: zone).map { record in record.map { OnlineRider(rider: rider, record: $0) } }
                .skippingMalformedData(as: nil)
        }
        return EventLoopFuture.whenAllSucceed(reads, on: self.eventLoop).flatMap { read in
            self.read(riders.dropFirst(Self.batchSize), in: zone, found + read.compactMap { $0 })
        }
    }
}

extension AuditStreams {
    /// Entries of one of the streams, newest first.
    ///
    /// - Parameter limit: at most `page`.
    package func newest(_ stream: AuditEntry.Stream, limit: Int) -> EventLoopFuture<[StoredEntry]> {
        self.newest(of: self.settings.keyspace.stream(stream), limit)
    }

    /// Changes of a zone's riders, newest first: change, rider, actor, reason, job, status.
    ///
    /// - Parameter limit: at most `page`.
    package func newestChanges(in zone: ZoneID, limit: Int) -> EventLoopFuture<[StoredEntry]> {
        self.newest(of: self.settings.keyspace.changeLog(of: zone), limit)
    }

    private func newest(of key: String, _ limit: Int) -> EventLoopFuture<[StoredEntry]> {
        self.entries(
            ["XREVRANGE", .text(key), "+", "-", "COUNT", .integer(max(1, min(limit, Self.page)))], of: key)
    }
}
