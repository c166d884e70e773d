// Which commands the gateway's Redis user may run, determined without running any of them: since Redis 7 a script can ask
// whether its caller may call a command with these keys and channels (redis.acl_check_cmd). Nothing is read, written or
// published.

internal import EnrouteWire
package import NIOCore
package import Redis

/// The permissions of the user that gateways sign in as.
package struct AccessFacts: Sendable, Hashable {
    /// Commands that gateways need and the user lacks.
    package var missing: [String]
    /// Commands that no gateway needs and the user has.
    package var excessive: [String]

    package init(missing: [String] = [], excessive: [String] = []) {
        self.missing = missing
        self.excessive = excessive
    }
}

/// The commands to check for one role.
package struct AccessProbe: Sendable, Hashable {
    /// Each command with its arguments.
    package var needed: [[String]]
    package var excessive: [[String]]

    /// The ids used in the keys; none of them needs to exist.
    private static let job = JobID("enroute-check")!
    private static let rider = PersonID("enroute-check")!
    private static let zone = ZoneID("enroute-check")!
    /// A key and a channel that no gateway uses.
    private static let unrelated = "enroute-check-foreign"

    package init(role: RedisRole, keyspace: Keyspace) {
        let digest = Scripts.openFeed.digest
        let channel: String
        switch role {
        case .live:
            let (travel, position) = (keyspace.travel(of: Self.job), keyspace.position(of: Self.job))
            channel = keyspace.feed(of: Self.job)
            self.needed = [
                ["evalsha", digest, "3", travel, position, channel], ["eval", "", "3", travel, position, channel],
                ["get", travel], ["get", position], ["set", travel, "r", "pxat", "1"],
                ["set", position, "p", "px", "1"], ["del", travel, position], ["mget", travel, position],
                ["set", keyspace.ticket("0"), "h", "px", "1"], ["getdel", keyspace.ticket("0")],
                ["set", keyspace.signIn("0"), "h", "px", "1"], ["getdel", keyspace.signIn("0")],
            ]
            let (eta, lease) = (keyspace.eta(of: Self.job), keyspace.etaLease(of: Self.job))
            self.needed += [
                ["get", eta], ["set", eta, "e", "px", "1"], ["mget", travel, position, eta], ["del", eta],
                ["set", lease, "1", "nx", "px", "1"],
                ["set", keyspace.etaBudget(of: "osrm", day: 0), "0", "nx", "px", "1"],
                ["get", keyspace.stopsBefore(Self.job)], ["set", keyspace.stopsBefore(Self.job), "j", "px", "1"],
                ["incr", keyspace.etaBudget(of: "osrm", day: 0)],
            ]
            let verdicts = keyspace.verdicts(of: Self.job)
            self.needed += [
                ["hincrby", verdicts, "f", "1"], ["hset", verdicts, "f", "v"], ["hgetall", verdicts],
                ["pexpire", verdicts, "1"], ["del", verdicts],
            ]
            let push = keyspace.push(of: Self.job)
            self.needed += [
                ["hexists", push, "f"], ["hlen", push], ["hset", push, "f", "v"],
                ["hdel", push, "f"], ["hgetall", push],
                ["hvals", push], ["pexpire", push, "1"], ["del", push],
            ]
            let (places, seen) = (keyspace.places(in: Self.zone), keyspace.placesSeen(in: Self.zone))
            let (gateways, gateway) = (keyspace.gateways, keyspace.gateway(Self.unrelated))
            self.needed += [
                ["zadd", gateways, "1", "g"], ["zrangebyscore", gateways, "-inf", "1"], ["zrem", gateways, "g"],
                ["set", gateway, "h", "px", "1"], ["get", gateway], ["del", gateway],
                ["set", keyspace.followed(atGateway: Self.unrelated), "f", "px", "1"],
                ["get", keyspace.followed(atGateway: Self.unrelated)],
                ["del", keyspace.followed(atGateway: Self.unrelated)],
                ["set", keyspace.ridersConnected(atGateway: Self.unrelated), "r", "px", "1"],
                ["get", keyspace.ridersConnected(atGateway: Self.unrelated)],
                ["del", keyspace.ridersConnected(atGateway: Self.unrelated)],
            ]
            self.needed += [
                ["geoadd", places, "0", "0", "r"],
                ["geosearch", places, "fromlonlat", "0", "0", "byradius", "1", "m", "asc"],
                ["zrem", places, "r"], ["pexpire", places, "1"], ["zadd", seen, "1", "r"],
                ["zrangebyscore", seen, "-inf", "1"], ["zrem", seen, "r"], ["pexpire", seen, "1"],
            ]
        case .ledger:
            let (record, log) = (keyspace.job(Self.job), keyspace.log(of: Self.job))
            let (link, viewers) = (keyspace.link("0"), keyspace.viewers(ofLink: "0"))
            channel = keyspace.events(of: Self.job)
            self.needed = [
                ["evalsha", digest, "3", record, log, channel], ["eval", "", "3", record, log, channel],
                ["hmget", record, "f"], ["hset", record, "f", "v"], ["pexpire", record, "1"], ["pexpire", log, "1"],
                ["del", log], ["xadd", log, "*", "f", "v"], ["xrange", log, "-", "+"], ["xrevrange", log, "+", "-"],
                ["xadd", keyspace.control, "*", "f", "v"], ["xtrim", keyspace.control, "MINID", "1"],
                ["xlen", keyspace.control], ["xrange", keyspace.control, "-", "+"],
                ["pexpire", keyspace.control, "1"], ["spublish", keyspace.control, ""],
                ["ssubscribe", keyspace.control],
                ["hmget", link, "f"], ["hset", link, "f", "v"], ["pexpireat", link, "1"], ["pexpire", link, "1"],
                ["del", link, viewers],
                ["zadd", viewers, "1", "s"], ["zcard", viewers], ["zscore", viewers, "s"], ["zrem", viewers, "s"],
                ["zrangebyscore", viewers, "1", "+inf"],
                ["zremrangebyscore", viewers, "-inf", "1"], ["pexpireat", viewers, "1"],
            ]
            let idempotency = keyspace.idempotency("0")
            self.needed += [
                ["hmget", idempotency, "f"], ["hset", idempotency, "f", "v"], ["hdel", idempotency, "f"],
                ["pexpire", idempotency, "1"], ["del", idempotency],
            ]
            let links = keyspace.links(of: Self.job)
            self.needed += [
                ["zadd", links, "1", "l"], ["zrange", links, "0", "1"], ["zremrangebyscore", links, "-inf", "1"],
                ["zrem", links, "l"], ["zcard", links], ["pexpire", links, "1"], ["del", links],
            ]
            for list in [keyspace.jobs(ofRider: Self.rider), keyspace.jobs(ofCustomer: Self.rider)] {
                self.needed += [
                    ["zadd", list, "1", "j"], ["zrange", list, "0", "1"], ["zscore", list, "j"], ["zrem", list, "j"],
                    ["zremrangebyscore", list, "-inf", "1"], ["zremrangebyrank", list, "0", "1"],
                    ["pexpire", list, "1"],
                ]
            }
            self.needed += Self.riderCommands(keyspace) + Self.eventCommands(keyspace)
            for stream in AuditEntry.Stream.allCases.map({ keyspace.stream($0) }) {
                self.needed += [
                    ["xadd", stream, "*", "f", "v"], ["xrange", stream, "-", "+"], ["xrevrange", stream, "+", "-"],
                ]
            }
        }
        self.needed += [
            ["spublish", channel, ""], ["pubsub", "shardnumsub", channel], ["ssubscribe", channel],
            ["sunsubscribe", channel], ["time"], ["ping"], ["info"],
            ["role"], ["wait", "1", "1"], ["cluster", "slots"], ["asking"],
        ]
        self.excessive = [
            ["keys", "*"], ["config", "set", "save", ""], ["flushall"], ["flushdb"], ["script", "flush"], ["shutdown"],
            ["debug", "sleep", "0"], ["acl", "setuser", Self.unrelated], ["psubscribe", "*"], ["monitor"],
            ["get", Self.unrelated], ["set", Self.unrelated, "v"], ["subscribe", Self.unrelated],
            ["ssubscribe", Self.unrelated], ["publish", Self.unrelated, ""], ["spublish", Self.unrelated, ""],
        ]
    }

    /// The commands for events and webhooks.
    private static func eventCommands(_ keyspace: Keyspace) -> [[String]] {
        let (shard, outbox) = (keyspace.events(shard: 0), keyspace.outbox(tag: 0))
        let (id, record) = ("0", keyspace.webhook("0"))
        let (due, waiting) = (keyspace.due(ofWebhook: id), keyspace.waiting(of: "0", ofWebhook: id))
        let (lease, dead) = (keyspace.lease(ofWebhook: id), keyspace.dead(ofWebhook: id))
        return [
            ["hincrby", keyspace.job(Self.job), "f", "1"], ["xadd", shard, "*", "f", "v"], ["xrange", shard, "-", "+"],
            ["xrevrange", shard, "+", "-"], ["xadd", outbox, "*", "f", "v"], ["xrange", outbox, "-", "+"],
            ["xdel", outbox, "1-1"], ["xlen", outbox], ["hgetall", keyspace.eventCursors],
            ["hset", keyspace.eventCursors, "f", "v"], ["get", keyspace.eventLease],
            ["set", keyspace.eventLease, "h", "px", "1"], ["del", keyspace.eventLease],
            ["sadd", keyspace.webhooks, "0"], ["srem", keyspace.webhooks, "0"], ["smembers", keyspace.webhooks],
            ["hset", record, "f", "v"], ["hget", record, "f"], ["hgetall", record], ["exists", record],
            ["del", record], ["get", lease], ["set", lease, "h", "px", "1"], ["zadd", due, "1", "j"],
            ["zrem", due, "j"], ["zrangebyscore", due, "-inf", "1"], ["rpush", waiting, "e"], ["lpop", waiting],
            ["lindex", waiting, "0"], ["llen", waiting], ["lpos", waiting, "e"], ["del", waiting],
            ["hmget", keyspace.attempts(ofWebhook: id), "f"], ["hincrby", keyspace.attempts(ofWebhook: id), "f", "1"],
            ["hdel", keyspace.attempts(ofWebhook: id), "f"], ["xadd", dead, "*", "f", "v"], ["xrange", dead, "-", "+"],
            ["xdel", dead, "1-1"],
        ]
    }

    /// The commands of the scripts for a zone's riders, and of the calls without a script.
    private static func riderCommands(_ keyspace: Keyspace) -> [[String]] {
        let (rider, tasks) = (keyspace.rider(Self.rider, in: Self.zone), keyspace.tasks(of: Self.rider, in: Self.zone))
        let (pool, due) = (keyspace.available(in: Self.zone), keyspace.due(in: Self.zone))
        let (log, changes) = (keyspace.changeLog(of: Self.zone), keyspace.changes(in: Self.zone))
        let (owners, home) = (keyspace.taskOwners(in: Self.zone), keyspace.home(of: Self.rider))
        let moving = keyspace.moving(Self.rider)
        let request = keyspace.request("0", of: Self.rider, in: Self.zone)
        return [
            ["hmget", rider, "f"], ["hset", rider, "f", "v"], ["del", rider], ["hgetall", tasks], ["hkeys", tasks],
            ["hlen", tasks], ["hset", tasks, "f", "v"], ["hdel", tasks, "f"], ["hmget", owners, "f"],
            ["hset", owners, "f", "v"], ["hdel", owners, "f"], ["hgetall", owners], ["zadd", pool, "1", "r"],
            ["zrem", pool, "r"], ["zcard", pool], ["zrange", pool, "0", "1"], ["zmscore", pool, "r"],
            ["zadd", due, "1", "r"], ["zrem", due, "r"], ["zrangebyscore", due, "-inf", "1"],
            ["xadd", log, "*", "f", "v"], ["xrange", log, "-", "+"], ["xrevrange", log, "+", "-"],
            ["spublish", changes, ""], ["ssubscribe", changes], ["get", request], ["set", request, "v", "px", "1"],
            ["get", home], ["set", home, "v"], ["get", moving], ["set", moving, "v", "px", "1"], ["del", moving],
            ["sadd", keyspace.zones, "z"], ["smembers", keyspace.zones],
            ["zrange", due, "0", "1"], ["zcard", due],
        ]
            + [keyspace.jobs(in: Self.zone), keyspace.zonesOfJobs].flatMap { list in
                [
                    ["zadd", list, "1", "j"], ["zrange", list, "0", "1"], ["zcard", list], ["zrem", list, "j"],
                    ["zremrangebyscore", list, "-inf", "1"], ["zremrangebyrank", list, "0", "1"],
                ]
            }
    }

    /// Checks the commands on the server that `client` is connected to, for the user it signed in as.
    ///
    /// - Returns: `nil` when the server cannot tell, because it is older than 7.0 or the user may not call any script without
    ///   keys.
    package func run(_ client: RedisClient) -> EventLoopFuture<AccessFacts?> {
        let answers = (self.needed + self.excessive).map { command in
            client.evaluate(Self.permissionScript, keys: [], arguments: command.map { .text($0) }).map {
                answer -> Bool? in
                answer.integer.flatMap { $0 < 0 ? nil : $0 == 1 }
            }
        }
        return EventLoopFuture.whenAllSucceed(answers, on: client.eventLoop).map { answers -> AccessFacts? in
            guard answers.contains(where: { $0 != nil }) else { return nil }
            let texts = (self.needed + self.excessive).map { Self.text($0) }
            let all = zip(texts, answers)
            return AccessFacts(
                missing: all.prefix(self.needed.count).filter { $0.1 == false }.map { $0.0 },
                excessive: all.dropFirst(self.needed.count).filter { $0.1 == true }.map { $0.0 })
        }.flatMapErrorThrowing { error in
            guard case RedisError.refused(let code, _) = error else { throw error }
            // With NOPERM the user may not run scripts, so nothing else can be checked and no gateway would work. Any other
            // refusal comes from an older server, which does not know this first line.
            return code == "NOPERM" ? AccessFacts(missing: ["EVAL, EVALSHA"]) : nil
        }
    }

    /// Returns 1 if the command is allowed, 0 if not, -1 if the server cannot tell or does not know the command. The flags
    /// let the script run where writes are refused: on a replica, when memory is full, or without the required replicas.
    private static let permissionScript = RedisScript(
        name: "may_call",
        source: Array(
            """
            #!lua flags=no-writes,allow-stale
            if not redis.acl_check_cmd then return -1 end
            local isKnown, may = pcall(redis.acl_check_cmd, unpack(ARGV))
            if not isKnown then return -1 end
            return may and 1 or 0
            """.utf8))

    /// For people: the command in capitals, without the arguments that do not matter.
    private static func text(_ command: [String]) -> String {
        switch command[0] {
        case "eval", "evalsha": return command[0].uppercased()
        case "config", "script", "acl", "debug", "cluster", "pubsub":
            return command.prefix(2).joined(separator: " ").uppercased()
        default: return ([command[0].uppercased()] + command.dropFirst().prefix(1)).joined(separator: " ")
        }
    }
}
