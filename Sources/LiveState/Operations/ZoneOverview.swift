// What operations staff see of a zone apart from its jobs: riders that are online and the latest changes. Read only, newest
// first and limited; the streams hold what happened before.

package import EnrouteWire
package import NIOCore
internal import Redis

extension Riders {
    /// Maximum number of riders shown: unreachable riders with a task first, then by the time of their next check, latest
    /// first.
    package static let maxOnlineRiders = 1_000
    /// Riders that are read at the same time.
    private static let batchSize = 250

    /// A rider and its record.
    package struct OnlineRider: Sendable, Hashable {
        package var rider: PersonID
        package var record: RiderRecord
    }

    /// Riders that declared themselves online, reachable or not; at most `maxOnlineRiders`.
    package func online(in zone: ZoneID) -> EventLoopFuture<[OnlineRider]> {
        self.onlineIDs(in: zone).flatMap { self.read($0[...], in: zone, []) }
            .map { $0.sorted { $0.rider.text < $1.rider.text } }
    }

    /// The ids of those riders.
    package func onlineIDs(in zone: ZoneID) -> EventLoopFuture<[PersonID]> {
        let key = self.keyspace.due(in: zone)
        return self.ledger.send(["ZRANGE", .text(key), 0, .integer(Self.maxOnlineRiders - 1), "REV"])
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
