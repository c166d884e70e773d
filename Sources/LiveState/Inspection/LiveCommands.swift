// The commands that gateways need on the live instance, for `AccessProbe`.

internal import EnrouteWire
internal import Redis

extension AccessProbe {
    static func liveCommands(_ keyspace: Keyspace) -> [[String]] {
        self.positionCommands(keyspace) + self.arrivalCommands(keyspace) + self.validationCommands(keyspace)
            + self.pushCommands(keyspace) + self.gatewayCommands(keyspace) + self.placeCommands(keyspace)
    }

    /// The commands for travel mode, positions, tickets and sign-in codes.
    private static func positionCommands(_ keyspace: Keyspace) -> [[String]] {
        let (travel, position) = (keyspace.travel(of: Self.job), keyspace.position(of: Self.job))
        let channel = keyspace.feed(of: Self.job)
        return [
            ["evalsha", Scripts.openFeed.digest, "3", travel, position, channel],
            ["eval", "", "3", travel, position, channel],
            ["get", travel], ["get", position], ["set", travel, "r", "pxat", "1"],
            ["set", position, "p", "px", "1"], ["del", travel, position], ["mget", travel, position],
            ["set", keyspace.ticket("0"), "h", "px", "1"], ["getdel", keyspace.ticket("0")],
            ["set", keyspace.signIn("0"), "h", "px", "1"], ["getdel", keyspace.signIn("0")],
        ]
    }

    private static func arrivalCommands(_ keyspace: Keyspace) -> [[String]] {
        let (travel, position) = (keyspace.travel(of: Self.job), keyspace.position(of: Self.job))
        let (eta, lease) = (keyspace.eta(of: Self.job), keyspace.etaLease(of: Self.job))
        return [
            ["get", eta], ["set", eta, "e", "px", "1"], ["mget", travel, position, eta], ["del", eta],
            ["set", lease, "1", "nx", "px", "1"],
            ["get", keyspace.stopsBefore(Self.job)], ["set", keyspace.stopsBefore(Self.job), "j", "px", "1"],
            ["incr", keyspace.etaBudget(of: "osrm", day: 0)], ["pexpire", keyspace.etaBudget(of: "osrm", day: 0), "1"],
        ]
    }

    private static func validationCommands(_ keyspace: Keyspace) -> [[String]] {
        let verdicts = keyspace.verdicts(of: Self.job)
        return [
            ["hincrby", verdicts, "f", "1"], ["hset", verdicts, "f", "v"], ["hgetall", verdicts],
            ["pexpire", verdicts, "1"], ["del", verdicts],
        ]
    }

    private static func pushCommands(_ keyspace: Keyspace) -> [[String]] {
        let push = keyspace.push(of: Self.job)
        return [
            ["hexists", push, "f"], ["hlen", push], ["hset", push, "f", "v"], ["hdel", push, "f"], ["hgetall", push],
            ["hvals", push], ["pexpire", push, "1"], ["del", push],
        ]
    }

    /// The commands for the list of running gateways and for their reports.
    private static func gatewayCommands(_ keyspace: Keyspace) -> [[String]] {
        let (gateways, gateway) = (keyspace.gateways, keyspace.gateway(Self.unrelated))
        let followed = keyspace.followed(atGateway: Self.unrelated)
        let connected = keyspace.ridersConnected(atGateway: Self.unrelated)
        return [
            ["zadd", gateways, "1", "g"], ["zrangebyscore", gateways, "-inf", "1"], ["zrem", gateways, "g"],
            ["set", gateway, "h", "px", "1"], ["get", gateway], ["del", gateway],
            ["set", followed, "f", "px", "1"], ["get", followed], ["del", followed],
            ["set", connected, "r", "px", "1"], ["get", connected], ["del", connected],
        ]
    }

    /// The commands for the places of a zone's riders.
    private static func placeCommands(_ keyspace: Keyspace) -> [[String]] {
        let (places, seen) = (keyspace.places(in: Self.zone), keyspace.placesSeen(in: Self.zone))
        return [
            ["geoadd", places, "0", "0", "r"],
            ["geosearch", places, "fromlonlat", "0", "0", "byradius", "1", "m", "asc"],
            ["zrem", places, "r"], ["pexpire", places, "1"], ["zadd", seen, "1", "r"],
            ["zrangebyscore", seen, "-inf", "1"], ["zrem", seen, "r"], ["pexpire", seen, "1"],
        ]
    }
}
