// What gateways say of themselves, so that operations see all of them by asking one: each writes a few facts and how many
// follow which job every few seconds, under keys that end by themselves. Nothing decides by it. A gateway that died says
// nothing more, and is shown as silent for a while.

package import EnrouteWire
package import NIOCore
package import Redis

/// Writing and reading it at the live instance. May be used from any thread.
package struct GatewayRegistry: Sendable {
    private let live: RedisClient
    private let keyspace: Keyspace

    /// How often a gateway speaks.
    package static let pace: Duration = .seconds(5)
    /// How long what it said counts.
    package static let lifetime: Duration = .seconds(20)
    /// How long a gateway that is silent is still shown.
    package static let remembrance: Duration = .seconds(600)
    /// Jobs of whose followers a gateway tells, at most.
    package static let mostFollowed = 10_000
    /// Gateways that are read, at most: those that spoke last.
    package static let mostGateways = 100

    package init(live: RedisClient, settings: LiveStateSettings) {
        self.live = live
        self.keyspace = settings.keyspace
    }

    /// - Parameters:
    ///   - id: no other gateway has it; without a brace.
    ///   - facts: JSON, at most some hundred bytes.
    ///   - followed: how many follow each job.
    ///   - now: ms since the epoch.
    package func announce(
        _ id: String, _ facts: [UInt8], followed: [JobID: Int], now: Int64
    ) -> EventLoopFuture<Void> {
        let lifetime = RedisCommand.Word.integer(Self.lifetime.milliseconds)
        let counts = followed.prefix(Self.mostFollowed).map { "\($0.key.text) \($0.value)" }.joined(separator: " ")
        self.forget(now)
        let sent = [
            self.live.send(["ZADD", .text(self.keyspace.gateways), .integer(now), .text(id)]),
            self.live.send([
                "PEXPIRE", .text(self.keyspace.gateways), .integer(Self.remembrance.milliseconds),
            ]),
            self.live.send(["SET", .text(self.keyspace.gateway(id)), .bytes(facts), "PX", lifetime]),
            self.live.send(["SET", .text(self.keyspace.followed(atGateway: id)), .text(counts), "PX", lifetime]),
        ]
        return EventLoopFuture.andAllSucceed(sent.map { $0.map { _ in } }, on: self.live.eventLoop)
    }

    /// Those that are silent for longer than they are shown.
    private func forget(_ now: Int64) {
        let key = RedisCommand.Word.text(self.keyspace.gateways)
        self.live.send([
            "ZRANGEBYSCORE", key, "-inf", .integer(now - Self.remembrance.milliseconds - 1),
        ]).whenSuccess { answer in
            let gone = (answer.array ?? []).compactMap(\.text).map { RedisCommand.Word.text($0) }
            if !gone.isEmpty { _ = self.live.send(RedisCommand([.text("ZREM"), key] + gone)) }
        }
    }

    /// It has stopped, and is not missed.
    package func withdraw(_ id: String) -> EventLoopFuture<Void> {
        let sent = [
            self.live.send(["ZREM", .text(self.keyspace.gateways), .text(id)]),
            self.live.send(["DEL", .text(self.keyspace.gateway(id))]),
            self.live.send(["DEL", .text(self.keyspace.followed(atGateway: id))]),
        ]
        return EventLoopFuture.andAllSucceed(sent.map { $0.map { _ in } }, on: self.live.eventLoop)
    }

    /// A gateway as it spoke of itself.
    package struct Heard: Sendable, Hashable {
        package var id: String
        /// When, ms since the epoch.
        package var at: Int64
        /// What it said; `nil` when that is too long ago.
        package var facts: [UInt8]?
    }

    /// What a gateway seemed to say of itself is not ours.
    package func refuseFacts(of id: String) { self.live.refuse(self.keyspace.gateway(id), by: "GET") }

    /// All that spoke within `remembrance`.
    ///
    /// - Parameter now: ms since the epoch.
    package func heard(now: Int64) -> EventLoopFuture<[Heard]> {
        let key = RedisCommand.Word.text(self.keyspace.gateways)
        return self.live.send(["ZRANGEBYSCORE", key, "-inf", "+inf", "WITHSCORES"]).flatMap { answer in
            let words = (answer.array ?? []).map { $0.text ?? "" }
            var heard: [Heard] = []
            for index in stride(from: 0, to: words.count - 1, by: 2) {
                // A score may be any number, infinite ones too.
                guard words[index].isNonce, let at = Int64(words[index + 1]), at.isMoment else {
                    self.live.refuse(self.keyspace.gateways, by: "ZRANGEBYSCORE")
                    continue
                }
                heard.append(Heard(id: words[index], at: at))
            }
            let isGone = { (gateway: Heard) in gateway.at < now - Self.remembrance.milliseconds }
            // The last of them spoke last.
            heard = Array(heard.drop(while: isGone).suffix(Self.mostGateways))
            let facts = heard.map { self.live.send(["GET", .text(self.keyspace.gateway($0.id))]).map(\.bytes) }
            return EventLoopFuture.whenAllSucceed(facts, on: self.live.eventLoop).map { [heard] facts in
                zip(heard, facts).map { Heard(id: $0.id, at: $0.at, facts: $1) }
            }
        }
    }

    /// How many follow each job at all gateways together, as they said within the last seconds; of jobs that nobody follows
    /// nothing.
    package func followers() -> EventLoopFuture<[JobID: Int]> {
        self.live.send(["ZRANGEBYSCORE", .text(self.keyspace.gateways), "-inf", "+inf"]).flatMap { answer in
            // The last of them spoke last.
            let ids = (answer.array ?? []).map { $0.text ?? "" }
            if !ids.allSatisfy(\.isNonce) { self.live.refuse(self.keyspace.gateways, by: "ZRANGEBYSCORE") }
            let lists = ids.filter(\.isNonce).suffix(Self.mostGateways).map { id -> EventLoopFuture<[JobID: Int]> in
                let key = self.keyspace.followed(atGateway: id)
                return self.live.send(["GET", .text(key)]).map { answer in
                    self.live.value(answer, of: key, by: "GET") { $0.text.flatMap(Self.followed) } ?? [:]
                }
            }
            return EventLoopFuture.whenAllSucceed(lists, on: self.live.eventLoop)
        }.map { lists in
            // Each is so small that all of them together do not overflow.
            lists.reduce(into: [JobID: Int]()) { sums, list in sums.merge(list) { $0 + $1 } }
        }
    }

    /// `job-7 2 job-8 1`; `nil` for anything else.
    private static func followed(_ text: String) -> [JobID: Int]? {
        let words = text.split(separator: " ")
        guard words.count.isMultiple(of: 2), words.count <= 2 * Self.mostFollowed else { return nil }
        var followed: [JobID: Int] = [:]
        for index in stride(from: 0, to: words.count, by: 2) {
            guard let job = JobID(String(words[index])), let count = words[index + 1].amount else { return nil }
            followed[job] = count
        }
        return followed
    }
}
