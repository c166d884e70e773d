// Riders of a zone in the ledger: one typed call for each script. All keys of a zone are in one slot, so one script
// changes a rider, its tasks and the pool together. No rider is therefore offline with an active task. This file
// contains the declared status, RiderPresence the reachability, RiderTasks the tasks, and RiderProfiles the
// registration.

package import EnrouteWire
package import NIOCore
package import Redis

/// The riders of all zones. Safe to use from any thread.
package struct Riders: Sendable {
    let ledger: RedisClient
    /// A separate client, because waiting for replicas delays the commands that follow on the same connection.
    let writes: RedisClient
    let settings: LiveStateSettings
    var keyspace: Keyspace { self.settings.keyspace }

    /// The event loop on which its futures complete.
    package var eventLoop: any EventLoop { self.ledger.eventLoop }

    /// - Parameter writes: the client for changes that replicas should confirm; `nil` to use `ledger`.
    package init(ledger: RedisClient, writes: RedisClient? = nil, settings: LiveStateSettings) {
        self.ledger = ledger
        self.writes = writes ?? ledger
        self.settings = settings
    }

    /// Who requests a change, and the id of the request. A request is executed once; repetitions within 24 h receive the same
    /// reply. A refusal is repeated for only 10 min, like that of a request with an `Idempotency-Key`.
    package struct Requester: Sendable, Hashable {
        package var actor: PersonID
        /// At most 128 printable characters; '' for none.
        package var request: String

        package init(_ actor: PersonID, request: String = "") {
            self.actor = actor
            self.request = request
        }
    }

    package enum Online: Sendable, Hashable {
        case online(version: Int64)
        /// The rider was already online and reachable with this device.
        case unchanged(version: Int64)
        case noSuchRider
        case notApproved
        /// The request id was used for a different call.
        case otherRequest
    }

    /// Sets a rider online. Counts as a heartbeat.
    ///
    /// - Parameter device: becomes the rider's device; `nil` keeps the current one.
    package func setOnline(
        _ rider: PersonID, in zone: ZoneID, device: DeviceID? = nil, by requester: Requester
    ) -> EventLoopFuture<Durable<Online>> {
        self.change(
            Scripts.setRiderOnline, rider, zone, requester, keys: [self.keyspace.due(in: zone)],
            [.text(device?.text ?? ""), self.reach]
        ) { reply in
            switch reply.code {
            case 1: reply.version.map { .online(version: $0) }
            case 2: reply.version.map { .unchanged(version: $0) }
            case 0: .noSuchRider
            case -1: .notApproved
            case -9: .otherRequest
            default: nil
            }
        }
    }

    package enum Offline: Sendable, Hashable {
        case offline(version: Int64)
        case unchanged(version: Int64)
        case noSuchRider
        /// The rider stays online because it has these tasks.
        case activeTasks([JobID])
        case otherRequest
    }

    /// Sets a rider offline, on behalf of the rider or of operations staff; refused while the rider has a task.
    ///
    /// - Parameter reason: shown to people, at most 200 bytes without control characters.
    package func setOffline(
        _ rider: PersonID, in zone: ZoneID, device: DeviceID? = nil, because reason: String = "",
        by requester: Requester
    ) -> EventLoopFuture<Durable<Offline>> {
        self.change(
            Scripts.setRiderOffline, rider, zone, requester, keys: [self.keyspace.due(in: zone)],
            [.text(device?.text ?? ""), .text(reason)]
        ) { reply in
            switch reply.code {
            case 1: reply.version.map { .offline(version: $0) }
            case 2: reply.version.map { .unchanged(version: $0) }
            case 0: .noSuchRider
            case -1: .activeTasks(reply.jobs)
            case -9: .otherRequest
            default: nil
            }
        }
    }

    // MARK: shared by all calls

    /// A script's reply: a code, then text fields.
    struct Reply {
        let code: Int64
        let fields: [String]

        init?(_ value: RESPValue) {
            guard let parts = value.array, let code = parts.first?.integer else { return nil }
            self.code = code
            self.fields = parts.dropFirst().compactMap(\.text)
        }

        var version: Int64? { self.fields.first?.version }
        var jobs: [JobID] { self.fields.compactMap { JobID($0) } }
    }

    /// How long a heartbeat is valid, ms.
    var reach: RedisCommand.Word { .integer(self.settings.heartbeatTimeout.milliseconds) }

    /// The keys that every change uses, in the order of the scripts.
    func keys(_ rider: PersonID, _ zone: ZoneID) -> [String] {
        [
            self.keyspace.rider(rider, in: zone), self.keyspace.tasks(of: rider, in: zone),
            self.keyspace.available(in: zone), self.keyspace.changeLog(of: zone), self.keyspace.changes(in: zone),
        ]
    }

    /// The key of the reply to a request. A request id belongs to its actor: the same id from another person is another
    /// request. For the rider's own requests, the id alone is the name. No id contains a space, so the names differ.
    func replyKey(of requester: Requester, _ rider: PersonID, _ zone: ZoneID) -> String {
        let id = requester.request
        let isOwn = requester.actor == rider || id.isEmpty
        return self.keyspace.request(isOwn ? id : "\(requester.actor.text) \(id)", of: rider, in: zone)
    }

    /// Calls a script that executes each request id once, and waits for replicas.
    func change<Answer: Sendable>(
        _ script: RedisScript, _ rider: PersonID, _ zone: ZoneID, _ requester: Requester, keys: [String] = [],
        _ arguments: [RedisCommand.Word], _ parse: @escaping @Sendable (Reply) -> Answer?
    ) -> EventLoopFuture<Durable<Answer>> {
        self.writes.evaluateDurably(
            script,
            keys: self.keys(rider, zone) + [self.replyKey(of: requester, rider, zone)] + keys,
            arguments: [.text(zone.text), .text(rider.text), .text(requester.actor.text), .text(requester.request)]
                + arguments
        ).flatMapThrowing { answer in
            guard let reply = Reply(answer.value), let parsed = parse(reply) else {
                throw self.ledger.refusal(of: self.keyspace.rider(rider, in: zone), by: script.name)
            }
            // A refusal writes nothing that must be durable; losing the stored reply is acceptable.
            return Durable(value: parsed, replicas: reply.code > 0 ? answer.replicas : nil)
        }
    }
}
