// Collects the facts about one Redis for an inspection. It changes nothing: it uses INFO, CONFIG GET, TIME, the names
// of keys and the permission checks.

package import NIOCore
package import Redis

/// Collects the facts about one Redis.
package struct RedisInspector: Sendable {
    private let role: RedisRole
    private let connection: RedisConnectionInfo
    private let client: RedisClient
    private let admin: RedisClient?
    private let microseconds: @Sendable () -> Int64

    /// How often the clock is read; the answer with the shortest round trip counts.
    package static let clockTries = 5

    /// - Parameters:
    ///   - client: signed in as the gateway's user.
    ///   - admin: signed in as a user that may read settings; `nil` to try with `client`.
    ///   - microseconds: this machine's clock, µs since the epoch.
    package init(
        role: RedisRole, connection: RedisConnectionInfo, client: RedisClient, admin: RedisClient? = nil,
        microseconds: @escaping @Sendable () -> Int64 = { ClockReading.machineMicroseconds }
    ) {
        self.role = role
        self.connection = connection
        self.client = client
        self.admin = admin
        self.microseconds = microseconds
    }

    /// Reads what Redis reports about itself to the gateway's user, and its settings. The admin may read the settings
    /// only if it is connected to the same process; those of another process do not matter.
    ///
    /// - Returns: also the admin, unless it is connected to another process.
    private func facts() -> EventLoopFuture<(RedisFacts, admin: RedisClient?)> {
        self.info(of: self.client).and(self.adminInfo()).flatMap { info, adminInfo in
            var facts = RedisFacts(role: self.role, connection: self.connection, info: info)
            facts.isAdminElsewhere = adminInfo.map { RedisFacts.fields(of: $0)["run_id"] != facts.runID } ?? false
            let admin = facts.isAdminElsewhere ? nil : self.admin
            return self.settings(of: admin ?? self.client).hop(to: self.client.eventLoop).map { [facts] settings in
                var facts = facts
                facts.settings = settings
                return (facts, admin)
            }
        }
    }

    private func info(of client: RedisClient) -> EventLoopFuture<String> {
        client.send(["INFO"]).flatMapThrowing { answer in
            guard let text = answer.text else { throw RedisError.unexpectedAnswer(command: "INFO") }
            return text
        }
    }

    /// - Returns: `nil` when there is no admin; '' when it may not run INFO, so that it is unknown where it is
    ///   connected.
    private func adminInfo() -> EventLoopFuture<String?> {
        guard let admin else { return self.client.eventLoop.makeSucceededFuture(nil) }
        return self.info(of: admin).flatMapErrorThrowing { error in
            guard case RedisError.refused = error else { throw error }
            return ""
        }.map { $0 }.hop(to: self.client.eventLoop)
    }

    /// Collects everything that can be found out about Redis: what it reports about itself, the roles of the keys it
    /// holds, the permissions of the gateway's user, whether the append-only file can be loaded, and the difference
    /// between the clocks.
    ///
    /// - Throws: (in the future) `RedisError`.
    package func allFacts(keyspace: Keyspace) -> EventLoopFuture<RedisFacts> {
        self.facts().flatMap { known, admin in
            let access = AccessProbe(role: self.role, keyspace: keyspace).run(self.client)
            let keys = RoleDetector(keyspace: keyspace).roles(at: admin ?? self.client).hop(to: self.client.eventLoop)
            let reload = self.reload(keyspace, known, admin)
            return access.and(keys).and(reload).flatMap { found, reload in
                // Last, because the earlier commands would delay the replies.
                self.clockAhead(tries: Self.clockTries).map { ahead in
                    var facts = known
                    (facts.access, facts.keys, facts.reload) = (found.0, found.1, reload)
                    facts.clockAheadMilliseconds = ahead / 1000
                    return facts
                }
            }
        }
    }

    /// Queries as both users, because either may use an older access list.
    private func reload(
        _ keyspace: Keyspace, _ facts: RedisFacts, _ admin: RedisClient?
    ) -> EventLoopFuture<ReloadFacts?> {
        guard self.role == .ledger, facts.appends == true else {
            return self.client.eventLoop.makeSucceededFuture(nil)
        }
        let probe = ReloadProbe(keyspace: keyspace)
        return probe.run(self.client).flatMap { result in
            guard result == .unknown, let admin else {
                return self.client.eventLoop.makeSucceededFuture(result)
            }
            return probe.run(admin).hop(to: self.client.eventLoop)
        }.map { $0 }
    }

    /// - Returns: `nil` when the user may not read settings.
    private func settings(of reader: RedisClient) -> EventLoopFuture<[String: String]?> {
        let command = ["CONFIG", "GET"] + RedisFacts.settingNames
        return reader.send(RedisCommand(command.map { .text($0) })).map { answer -> [String: String]? in
            let texts = answer.array?.compactMap(\.text) ?? []
            let pairs = stride(from: 0, to: texts.count - 1, by: 2).map { (texts[$0], texts[$0 + 1]) }
            return Dictionary(pairs) { first, _ in first }
        }.flatMapErrorThrowing { error in
            // NOPERM; or ERR, from a version that accepts only one name or from a hosted service without the command.
            guard case RedisError.refused = error else { throw error }
            return nil
        }
    }

    // MARK: clocks

    /// How far the clock of Redis is ahead of this machine's, µs.
    private func clockAhead(tries: Int) -> EventLoopFuture<Int64> {
        self.quickest(of: tries, after: nil).map { -($0?.aheadMicroseconds ?? 0) }
    }

    private func quickest(of tries: Int, after best: ClockReading?) -> EventLoopFuture<ClockReading?> {
        guard tries > 0 else { return self.client.eventLoop.makeSucceededFuture(best) }
        return ClockReading.take(from: self.client, microseconds: self.microseconds).flatMap { reading in
            let isQuicker = best.map { reading.roundTrip < $0.roundTrip } ?? true
            return self.quickest(of: tries - 1, after: isQuicker ? reading : best)
        }
    }
}
