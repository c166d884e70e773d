// Riders of a zone at the ledger: one typed call for each script. All keys of a zone lie in one slot, so a rider, its tasks and
// the pool change in one script, and no rider is offline with an active task. What a rider declared is here; whether it is
// there in RiderPresence, what it carries in RiderTasks, what the service says of it in RiderProfiles.

package import EnrouteWire
package import NIOCore
package import Redis

/// The riders of every zone. May be used from any thread.
package struct Riders: Sendable {
    let ledger: RedisClient
    /// A client of its own, since waiting for a replica holds up what is sent after it.
    let writes: RedisClient
    let settings: LiveStateSettings
    var keyspace: Keyspace { self.settings.keyspace }

    /// Where its futures complete.
    package var eventLoop: any EventLoop { self.ledger.eventLoop }

    /// - Parameter writes: for what a replica should have too; `nil`: the same.
    package init(ledger: RedisClient, writes: RedisClient? = nil, settings: LiveStateSettings) {
        self.ledger = ledger
        self.writes = writes ?? ledger
        self.settings = settings
    }

    /// Who asks for a change, and by which request: the same request is answered once, and the same answer is given to
    /// whoever repeats it within 24 h.
    package struct Asker: Sendable, Hashable {
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
        /// It was online, there, and by this device.
        case unchanged(version: Int64)
        case noSuchRider
        case notApproved
        /// Something else was asked with this request id before.
        case otherRequest
    }

    /// A rider declares that it works. It counts as a heartbeat.
    ///
    /// - Parameter device: is the rider's from now on; `nil` leaves the one it was.
    package func setOnline(
        _ rider: PersonID, in zone: ZoneID, device: DeviceID? = nil, by asker: Asker
    ) -> EventLoopFuture<Durable<Online>> {
        self.change(
            Scripts.setRiderOnline, rider, zone, asker, keys: [self.keyspace.due(in: zone)],
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
        /// It stays online, since it has these.
        case activeTasks([JobID])
        case otherRequest
    }

    /// A rider, or operations for it, declares that it works no more; refused while it has a task, whoever asks.
    ///
    /// - Parameter reason: for people, at most 200 bytes without control characters.
    package func setOffline(
        _ rider: PersonID, in zone: ZoneID, device: DeviceID? = nil, because reason: String = "", by asker: Asker
    ) -> EventLoopFuture<Durable<Offline>> {
        self.change(
            Scripts.setRiderOffline, rider, zone, asker, keys: [self.keyspace.due(in: zone)],
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

    // MARK: what all of them share

    /// A script's answer: a code, then words.
    struct Reply {
        let code: Int64
        let words: [String]

        init?(_ value: RESPValue) {
            guard let parts = value.array, let code = parts.first?.integer else { return nil }
            self.code = code
            self.words = parts.dropFirst().compactMap(\.text)
        }

        var version: Int64? { self.words.first?.version }
        var jobs: [JobID] { self.words.compactMap { JobID($0) } }
    }

    /// How long a heartbeat counts, ms.
    var reach: RedisCommand.Word { .integer(self.settings.riderReach.milliseconds) }

    /// The keys that every change touches, in the order of the scripts.
    func keys(_ rider: PersonID, _ zone: ZoneID) -> [String] {
        [
            self.keyspace.rider(rider, in: zone), self.keyspace.tasks(of: rider, in: zone),
            self.keyspace.available(in: zone), self.keyspace.changeLog(of: zone), self.keyspace.changes(in: zone),
        ]
    }

    /// Calls a script that answers each request once, durably.
    func change<Answer: Sendable>(
        _ script: RedisScript, _ rider: PersonID, _ zone: ZoneID, _ asker: Asker, keys: [String] = [],
        _ arguments: [RedisCommand.Word], _ understand: @escaping @Sendable (Reply) -> Answer?
    ) -> EventLoopFuture<Durable<Answer>> {
        self.writes.evaluateDurably(
            script,
            keys: self.keys(rider, zone) + [self.keyspace.request(asker.request, of: rider, in: zone)] + keys,
            arguments: [.text(zone.text), .text(rider.text), .text(asker.actor.text), .text(asker.request)] + arguments
        ).flatMapThrowing { answer in
            guard let reply = Reply(answer.value), let understood = understand(reply) else {
                throw self.ledger.refusal(of: self.keyspace.rider(rider, in: zone), by: script.name)
            }
            // What was refused or so already was not written; that it was answered may be lost.
            return Durable(value: understood, replicas: reply.code > 0 ? answer.replicas : nil)
        }
    }
}
