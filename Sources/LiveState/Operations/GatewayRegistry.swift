// Health reports of gateways, so that operations staff can see all gateways through any one of them. Every few seconds,
// each gateway writes a few facts and its number of followers per job under keys that expire. No decision depends on
// them. A gateway that dies stops reporting and is shown as silent for a while.

package import EnrouteWire
package import NIOCore
package import Redis

/// Writes and reads the reports in the live instance. Safe to use from any thread.
package struct GatewayRegistry: Sendable {
    private let live: RedisClient
    private let keyspace: Keyspace

    /// Interval between the reports of a gateway.
    package static let reportInterval: Duration = .seconds(5)
    /// How long a report is valid.
    package static let lifetime: Duration = .seconds(20)
    /// How long a gateway is still shown after its last report.
    package static let retention: Duration = .seconds(600)
    /// Maximum number of jobs in a report of followers.
    package static let maxFollowedJobs = 10_000
    /// Maximum number of riders in a report of their sessions.
    package static let maxRiders = 10_000
    /// Maximum number of gateways that are read: those that reported last.
    package static let maxGateways = 100

    package init(live: RedisClient, settings: LiveStateSettings) {
        self.live = live
        self.keyspace = settings.keyspace
    }

    /// Stores a gateway's report.
    ///
    /// - Parameters:
    ///   - id: unique among gateways, without a brace.
    ///   - facts: JSON, at most a few hundred bytes.
    ///   - followed: number of followers per job.
    ///   - riders: number of sessions per rider.
    ///   - now: ms since the epoch.
    package func report(
        _ id: String, _ facts: [UInt8], followed: [JobID: Int], riders: [PersonID: Int] = [:], now: Int64
    ) -> EventLoopFuture<Void> {
        let lifetime = RedisCommand.Word.integer(Self.lifetime.milliseconds)
        let counts = followed.prefix(Self.maxFollowedJobs).map { "\($0.key.text) \($0.value)" }.joined(separator: " ")
        let sessions = riders.prefix(Self.maxRiders).map { "\($0.key.text) \($0.value)" }.joined(separator: " ")
        self.removeExpired(now)
        let sent = [
            self.live.send(["ZADD", .text(self.keyspace.gateways), .integer(now), .text(id)]),
            self.live.send([
                "PEXPIRE", .text(self.keyspace.gateways), .integer(Self.retention.milliseconds),
            ]),
            self.live.send(["SET", .text(self.keyspace.gateway(id)), .bytes(facts), "PX", lifetime]),
            self.live.send(["SET", .text(self.keyspace.followed(atGateway: id)), .text(counts), "PX", lifetime]),
            self.live.send([
                "SET", .text(self.keyspace.ridersConnected(atGateway: id)), .text(sessions), "PX", lifetime,
            ]),
        ]
        return EventLoopFuture.andAllSucceed(sent.map { $0.map { _ in } }, on: self.live.eventLoop)
    }

    /// Removes gateways that have been silent for too long to be shown.
    private func removeExpired(_ now: Int64) {
        let key = RedisCommand.Word.text(self.keyspace.gateways)
        self.live.send([
            "ZRANGEBYSCORE", key, "-inf", .integer(now - Self.retention.milliseconds - 1),
        ]).whenSuccess { answer in
            let expired = (answer.array ?? []).compactMap(\.text).map { RedisCommand.Word.text($0) }
            if !expired.isEmpty { _ = self.live.send(RedisCommand([.text("ZREM"), key] + expired)) }
        }
    }

    /// Removes a gateway that shuts down, so that it is not shown as silent.
    package func remove(_ id: String) -> EventLoopFuture<Void> {
        let sent = [
            self.live.send(["ZREM", .text(self.keyspace.gateways), .text(id)]),
            self.live.send(["DEL", .text(self.keyspace.gateway(id))]),
            self.live.send(["DEL", .text(self.keyspace.followed(atGateway: id))]),
            self.live.send(["DEL", .text(self.keyspace.ridersConnected(atGateway: id))]),
        ]
        return EventLoopFuture.andAllSucceed(sent.map { $0.map { _ in } }, on: self.live.eventLoop)
    }

    /// A gateway's last report.
    package struct Report: Sendable, Hashable {
        package var id: String
        /// When it reported, ms since the epoch.
        package var at: Int64
        /// The report; `nil` when it has expired.
        package var facts: [UInt8]?
    }

    /// Reports a malformed health report.
    package func rejectReport(of id: String) { self.live.refuse(self.keyspace.gateway(id), by: "GET") }

    /// All gateways that reported within `retention`.
    ///
    /// - Parameter now: ms since the epoch.
    package func reports(now: Int64) -> EventLoopFuture<[Report]> {
        let key = RedisCommand.Word.text(self.keyspace.gateways)
        return self.live.send(["ZRANGEBYSCORE", key, "-inf", "+inf", "WITHSCORES"]).flatMap { answer in
            let items = (answer.array ?? []).map { $0.text ?? "" }
            var reports: [Report] = []
            for index in stride(from: 0, to: items.count - 1, by: 2) {
                // A score may be any number, including infinity.
                guard items[index].isNonce, let at = Int64(items[index + 1]), at.isTimestamp else {
                    self.live.refuse(self.keyspace.gateways, by: "ZRANGEBYSCORE")
                    continue
                }
                reports.append(Report(id: items[index], at: at))
            }
            let isExpired = { (gateway: Report) in gateway.at < now - Self.retention.milliseconds }
            // Sorted by time: the gateways that reported last are at the end.
            reports = Array(reports.drop(while: isExpired).suffix(Self.maxGateways))
            let facts = reports.map { self.live.send(["GET", .text(self.keyspace.gateway($0.id))]).map(\.bytes) }
            return EventLoopFuture.whenAllSucceed(facts, on: self.live.eventLoop).map { [reports] facts in
                zip(reports, facts).map { Report(id: $0.id, at: $0.at, facts: $1) }
            }
        }
    }

    /// Number of followers of each job at all gateways together, from their last reports. Jobs without followers are absent.
    package func followers() -> EventLoopFuture<[JobID: Int]> {
        self.live.send(["ZRANGEBYSCORE", .text(self.keyspace.gateways), "-inf", "+inf"]).flatMap { answer in
            // Sorted by time: the gateways that reported last are at the end.
            let ids = (answer.array ?? []).map { $0.text ?? "" }
            if !ids.allSatisfy(\.isNonce) { self.live.refuse(self.keyspace.gateways, by: "ZRANGEBYSCORE") }
            let lists = ids.filter(\.isNonce).suffix(Self.maxGateways).map { id -> EventLoopFuture<[JobID: Int]> in
                let key = self.keyspace.followed(atGateway: id)
                return self.live.send(["GET", .text(key)]).map { answer in
                    self.live.value(answer, of: key, by: "GET") { $0.text.flatMap(Self.followed) } ?? [:]
                }
            }
            return EventLoopFuture.whenAllSucceed(lists, on: self.live.eventLoop)
        }.map { lists in
            // Each count has a limit, so the sum cannot overflow.
            lists.reduce(into: [JobID: Int]()) { sums, list in sums.merge(list) { $0 + $1 } }
        }
    }

    /// Parses `job-7 2 job-8 1`; `nil` for anything else.
    private static func followed(_ text: String) -> [JobID: Int]? { self.counts(text, most: Self.maxFollowedJobs) }

    /// Parses pairs of an id and a count; `nil` for anything else.
    static func counts<Kind>(_ text: String, most: Int) -> [Identifier<Kind>: Int]? {
        let items = text.split(separator: " ")
        guard items.count.isMultiple(of: 2), items.count <= 2 * most else { return nil }
        var counts: [Identifier<Kind>: Int] = [:]
        for index in stride(from: 0, to: items.count, by: 2) {
            guard let id = Identifier<Kind>(String(items[index])), let count = items[index + 1].amount else {
                return nil
            }
            counts[id] = count
        }
        return counts
    }
}
