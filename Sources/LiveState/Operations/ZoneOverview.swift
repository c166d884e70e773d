// What operations look at in a zone besides its jobs: riders that are online, and what happened last. Read only, newest
// first, and bounded; what happened before is in the streams themselves.

package import EnrouteWire
package import NIOCore
internal import Redis

extension Riders {
    /// Riders of a zone that are shown, at most: those that nobody hears from first, and of these those with a task.
    package static let mostShown = 1_000
    /// Riders that are read at the same time.
    private static let readAtOnce = 250

    /// A rider and what its zone knows of it.
    package struct Shown: Sendable, Hashable {
        package var rider: PersonID
        package var record: RiderRecord
    }

    /// Riders that declared that they work, whether or not they can be reached: at most `mostShown`.
    package func online(in zone: ZoneID) -> EventLoopFuture<[Shown]> {
        self.listed(in: zone).flatMap { self.read($0[...], in: zone, []) }
            .map { $0.sorted { $0.rider.text < $1.rider.text } }
    }

    /// Whose names these are.
    package func listed(in zone: ZoneID) -> EventLoopFuture<[PersonID]> {
        let key = self.keyspace.due(in: zone)
        return self.ledger.send(["ZRANGE", .text(key), 0, .integer(Self.mostShown - 1), "REV"])
            .map { self.ledger.names($0, of: key, by: "ZRANGE") }
    }

    private func read(_ riders: ArraySlice<PersonID>, in zone: ZoneID, _ found: [Shown]) -> EventLoopFuture<[Shown]> {
        guard !riders.isEmpty else { return self.eventLoop.makeSucceededFuture(found) }
        let reads = riders.prefix(Self.readAtOnce).map { rider in
            self.read(rider, in: zone).map { record in record.map { Shown(rider: rider, record: $0) } }
        }
        return EventLoopFuture.whenAllSucceed(reads, on: self.eventLoop).flatMap { read in
            self.read(riders.dropFirst(Self.readAtOnce), in: zone, found + read.compactMap { $0 })
        }
    }
}

extension AuditStreams {
    /// Entries of one of the streams, the newest first.
    ///
    /// - Parameter limit: at most `page`.
    package func newest(_ stream: AuditEntry.Stream, limit: Int) -> EventLoopFuture<[Kept]> {
        self.newest(of: self.settings.keyspace.stream(stream), limit)
    }

    /// Changes of a zone's riders, the newest first, as the scripts wrote them: change, rider, actor, reason, job, status.
    ///
    /// - Parameter limit: at most `page`.
    package func newestChanges(in zone: ZoneID, limit: Int) -> EventLoopFuture<[Kept]> {
        self.newest(of: self.settings.keyspace.changeLog(of: zone), limit)
    }

    private func newest(of key: String, _ limit: Int) -> EventLoopFuture<[Kept]> {
        self.ledger.send([
            "XREVRANGE", .text(key), "+", "-", "COUNT", .integer(max(1, min(limit, Self.page))),
        ]).map { self.entries($0, of: key, command: "XREVRANGE") }
    }
}
