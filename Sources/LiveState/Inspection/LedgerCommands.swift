// The commands that gateways need on the ledger, for `AccessProbe`.

internal import EnrouteWire
internal import Redis

extension AccessProbe {
    static func ledgerCommands(_ keyspace: Keyspace) -> [[String]] {
        self.jobCommands(keyspace) + self.revocationCommands(keyspace) + self.linkCommands(keyspace)
            + self.idempotencyCommands(keyspace) + self.listCommands(keyspace) + self.riderCommands(keyspace)
            + self.eventCommands(keyspace) + self.auditCommands(keyspace)
    }

    private static func jobCommands(_ keyspace: Keyspace) -> [[String]] {
        let (record, log) = (keyspace.job(Self.job), keyspace.log(of: Self.job))
        let channel = keyspace.events(of: Self.job)
        return [
            ["evalsha", Scripts.openFeed.digest, "3", record, log, channel], ["eval", "", "3", record, log, channel],
            ["hmget", record, "f"], ["hset", record, "f", "v"], ["pexpire", record, "1"], ["pexpire", log, "1"],
            ["del", log], ["xadd", log, "*", "f", "v"], ["xrange", log, "-", "+"], ["xrevrange", log, "+", "-"],
        ]
    }

    private static func revocationCommands(_ keyspace: Keyspace) -> [[String]] {
        [
            ["xadd", keyspace.control, "*", "f", "v"], ["xtrim", keyspace.control, "MINID", "1"],
            ["xlen", keyspace.control], ["xrange", keyspace.control, "-", "+"],
            ["pexpire", keyspace.control, "1"], ["spublish", keyspace.control, ""],
            ["ssubscribe", keyspace.control],
        ]
    }

    /// The commands for tracking links, their viewers, and the links of a job.
    private static func linkCommands(_ keyspace: Keyspace) -> [[String]] {
        let (link, viewers) = (keyspace.link("0"), keyspace.viewers(ofLink: "0"))
        let links = keyspace.links(of: Self.job)
        return [
            ["hmget", link, "f"], ["hset", link, "f", "v"], ["pexpireat", link, "1"], ["pexpire", link, "1"],
            ["del", link, viewers],
            ["zadd", viewers, "1", "s"], ["zcard", viewers], ["zscore", viewers, "s"], ["zrem", viewers, "s"],
            ["zrangebyscore", viewers, "1", "+inf"],
            ["zremrangebyscore", viewers, "-inf", "1"], ["pexpireat", viewers, "1"],
            ["zadd", links, "1", "l"], ["zrange", links, "0", "1"], ["zremrangebyscore", links, "-inf", "1"],
            ["zrem", links, "l"], ["zcard", links], ["pexpire", links, "1"], ["del", links],
        ]
    }

    private static func idempotencyCommands(_ keyspace: Keyspace) -> [[String]] {
        let idempotency = keyspace.idempotency("0")
        return [
            ["hmget", idempotency, "f"], ["hset", idempotency, "f", "v"], ["hdel", idempotency, "f"],
            ["pexpire", idempotency, "1"], ["del", idempotency],
        ]
    }

    /// The commands for the lists of a rider's and of a customer's jobs.
    private static func listCommands(_ keyspace: Keyspace) -> [[String]] {
        [keyspace.jobs(ofRider: Self.rider), keyspace.jobs(ofCustomer: Self.rider)].flatMap { list in
            [
                ["zadd", list, "1", "j"], ["zrange", list, "0", "1"], ["zscore", list, "j"], ["zrem", list, "j"],
                ["zremrangebyscore", list, "-inf", "1"], ["zremrangebyrank", list, "0", "1"],
                ["pexpire", list, "1"],
            ]
        }
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
            ["hmget", rider, "f"], ["hset", rider, "f", "v"], ["hdel", rider, "f"], ["del", rider],
            ["hgetall", tasks], ["hkeys", tasks],
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

    /// The commands for events and webhooks.
    private static func eventCommands(_ keyspace: Keyspace) -> [[String]] {
        let (shard, outbox) = (keyspace.events(shard: 0), keyspace.outbox(tag: 0))
        let (id, record) = ("0", keyspace.webhook("0"))
        let erased = keyspace.erased(fromShard: 0)
        let (due, waiting) = (keyspace.due(ofWebhook: id), keyspace.waiting(of: "0", ofWebhook: id))
        let (lease, dead) = (keyspace.lease(ofWebhook: id), keyspace.dead(ofWebhook: id))
        return [
            ["hincrby", keyspace.job(Self.job), "f", "1"], ["xadd", shard, "*", "f", "v"], ["xrange", shard, "-", "+"],
            ["xrevrange", shard, "+", "-"], ["xadd", outbox, "*", "f", "v"], ["xrange", outbox, "-", "+"],
            ["xdel", shard, "1-1"], ["zadd", erased, "1", "j"], ["zscore", erased, "j"],
            ["zremrangebyscore", erased, "-inf", "1"],
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

    private static func auditCommands(_ keyspace: Keyspace) -> [[String]] {
        AuditEntry.Stream.allCases.map { keyspace.stream($0) }.flatMap { stream in
            [["xadd", stream, "*", "f", "v"], ["xrange", stream, "-", "+"], ["xrevrange", stream, "+", "-"]]
        }
    }
}
