// Shared by the tests of zone pools: riders in the ledger of a running gateway, and a watcher that checks what it receives
// against the guarantees.

import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

extension RunningGateway {
    static let rome = ZoneID("rome")!
    static let allocation = Riders.Requester(PersonID("allocation")!)

    var riders: Riders { Riders(ledger: self.client, settings: self.settings.liveState) }
    var pool: ZonePool { ZonePool(ledger: self.client, live: self.client, settings: self.settings.liveState) }

    /// Creates a rider that may go online.
    func register(_ rider: PersonID, capacity: Int = 1) async throws {
        _ = try await self.riders.describe(
            rider, in: Self.rome, isApproved: true, capacity: capacity, by: Self.allocation
        ).get()
    }

    func goOnline(_ rider: PersonID) async throws {
        _ = try await self.riders.setOnline(rider, in: Self.rome, by: .init(rider)).get()
    }

    func goOffline(_ rider: PersonID) async throws {
        _ = try await self.riders.setOffline(rider, in: Self.rome, by: .init(rider)).get()
    }

    /// Takes a rider online without a message to watchers: it is published to a channel without subscribers.
    func goOnlineUnheard(_ rider: PersonID) async throws {
        let (keyspace, zone) = (self.settings.liveState.keyspace, Self.rome)
        let keys = [
            keyspace.rider(rider, in: zone), keyspace.tasks(of: rider, in: zone), keyspace.available(in: zone),
            keyspace.changeLog(of: zone), keyspace.changes(in: zone) + ":lost",
            keyspace.request("", of: rider, in: zone), keyspace.due(in: zone),
        ]
        let reach = self.settings.liveState.heartbeatTimeout.milliseconds
        _ = try await self.client.evaluate(
            Scripts.setRiderOnline, keys: keys,
            arguments: [.text(zone.text), .text(rider.text), .text(rider.text), "", "", .integer(reach)]
        ).get()
    }

    /// Runs the sweep as if the rider's last heartbeat were this long ago.
    func silence(_ rider: PersonID, for time: Duration) async throws {
        let keyspace = self.settings.liveState.keyspace
        let heartbeat = Int64(Date.now.timeIntervalSince1970 * 1000) - time.milliseconds
        try await self.client.run("HSET", keyspace.rider(rider, in: Self.rome), "heartbeat", "\(heartbeat)")
        try await self.client.run("ZADD", keyspace.due(in: Self.rome), "1", rider.text)
    }

    /// Returns the versions of all changes since a version, from the log.
    func versions(since version: Int64) async throws -> [Int64] {
        let log = self.settings.liveState.keyspace.changeLog(of: Self.rome)
        let entries = try await self.client.run("XRANGE", log, "(\(version / 1000)-\(version % 1000)", "+").array ?? []
        return entries.compactMap { $0.array?.first?.text.flatMap { StatusID($0) } }
            .map { Int64($0.milliseconds * 1000 + $0.sequence) }
    }
}

extension PersonID {
    static func rider(_ number: Int) -> PersonID { PersonID("rider-\(number)")! }
}

/// What one watcher has received of a zone, and the violations of the guarantees.
struct PoolWitness {
    private(set) var version: Int64 = 0
    /// The changes since the last complete pool.
    private(set) var changes: [RiderChange] = []
    private(set) var members: Set<PersonID> = []
    private(set) var snapshots = 0
    private(set) var views = 0
    private(set) var violations: [String] = []

    mutating func take(_ message: ServerMessage) throws {
        switch message {
        case .pool(let view):
            self.views += 1
            switch view.content {
            case .riders(let riders, let count):
                self.snapshots += 1
                if count != riders.count { self.violations.append("\(count) riders are \(riders.count)") }
                (self.version, self.changes, self.members) = (view.version, [], Set(riders.map(\.rider)))
            case .changes(let changes):
                for change in changes { self.take(change) }
                if self.version != view.version { self.violations.append("the view ends before its version") }
            }
        case .rider(let change): self.take(change)
        case .error(let refusal): throw refusal.code
        default: break
        }
    }

    private mutating func take(_ change: RiderChange) {
        if change.previous != self.version {
            self.violations.append("\(change.version) names \(change.previous) before it, seen was \(self.version)")
        }
        self.version = change.version
        self.changes.append(change)
        if change.isAvailable { self.members.insert(change.rider) } else { self.members.remove(change.rider) }
    }

    /// The state with which a returning watcher resumes.
    init(since version: Int64 = 0) { self.version = version }
}

extension GatewayConnection.Messages.AsyncIterator {
    /// Returns the next view of a pool, or the refusal.
    mutating func pool() async throws -> PoolView {
        try await self.first { message in
            switch message {
            case .pool(let view): view
            case .rider(let change): throw Unexpected(change: change)
            case .error(let refusal): throw refusal.code
            default: nil
            }
        }
    }

    /// Receives messages until `isEnough` returns `true`.
    mutating func watch(_ witness: inout PoolWitness, until isEnough: (PoolWitness) -> Bool) async throws {
        while !isEnough(witness) {
            guard let message = try await self.next() else { throw Missing() }
            try witness.take(message)
        }
    }
}

/// A change arrived before the complete pool.
struct Unexpected: Error {
    let change: RiderChange
}
