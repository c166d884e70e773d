// Which commands Redis knows and the gateway's user may run. Nothing is read, written or published: since Redis 7, a
// script can query whether its caller may call a command with given keys and channels (redis.acl_check_cmd).

internal import EnrouteWire
package import NIOCore
package import Redis

/// The permissions of the user that gateways sign in as.
package struct AccessFacts: Sendable, Hashable {
    /// Commands that gateways need and the user lacks.
    package var missing: [String]
    /// Commands that no gateway needs and the user has.
    package var excessive: [String]
    /// Commands that gateways need and Redis does not know, for example because its configuration renames them. No permission
    /// helps.
    package var unknown: [String]

    package init(missing: [String] = [], excessive: [String] = [], unknown: [String] = []) {
        self.missing = missing
        self.excessive = excessive
        self.unknown = unknown
    }
}

/// The commands to check for one role.
package struct AccessProbe: Sendable, Hashable {
    /// Each command with its arguments.
    package var needed: [[String]]
    package var excessive: [[String]]

    /// The ids used in the keys; none of them needs to exist.
    static let job = JobID("enroute-check")!
    static let rider = PersonID("enroute-check")!
    static let zone = ZoneID("enroute-check")!
    /// A key and a channel that no gateway uses.
    static let unrelated = "enroute-check-foreign"

    package init(role: RedisRole, keyspace: Keyspace) {
        switch role {
        case .live:
            self.needed = Self.liveCommands(keyspace) + Self.channelCommands(keyspace.feed(of: Self.job))
        case .ledger:
            self.needed = Self.ledgerCommands(keyspace) + Self.channelCommands(keyspace.events(of: Self.job))
        }
        self.excessive = [
            ["keys", "*"], ["config", "set", "save", ""], ["flushall"], ["flushdb"], ["script", "flush"], ["shutdown"],
            ["debug", "sleep", "0"], ["acl", "setuser", Self.unrelated], ["psubscribe", "*"], ["monitor"],
            ["get", Self.unrelated], ["set", Self.unrelated, "v"], ["subscribe", Self.unrelated],
            ["ssubscribe", Self.unrelated], ["publish", Self.unrelated, ""], ["spublish", Self.unrelated, ""],
        ]
        if !keyspace.prefix.isEmpty { self.excessive.append(["get", Self.unprefixedKey(of: role)]) }
    }

    /// A key of an installation without a prefix. Those of other installations are not known.
    private static func unprefixedKey(of role: RedisRole) -> String {
        switch role {
        case .live: Keyspace().travel(of: Self.job)
        case .ledger: Keyspace().job(Self.job)
        }
    }

    /// The commands that both roles need: messages on a channel, and the state of the server.
    private static func channelCommands(_ channel: String) -> [[String]] {
        [
            ["spublish", channel, ""], ["pubsub", "shardnumsub", channel], ["ssubscribe", channel],
            ["sunsubscribe", channel], ["time"], ["ping"], ["info"],
            ["role"], ["wait", "1", "1"], ["cluster", "slots"], ["asking"],
        ]
    }

    /// Checks the commands on the server that `client` is connected to, for the user that it signed in as.
    ///
    /// - Returns: `nil` when the server cannot check permissions, because it is older than 7.0 or the user may not call
    ///   any script without keys.
    package func run(_ client: RedisClient) -> EventLoopFuture<AccessFacts?> {
        let answers = (self.needed + self.excessive).map { command in
            client.evaluate(Self.permissionScript, keys: [], arguments: command.map { .text($0) }).map {
                Permission(rawValue: $0.integer ?? 0)
            }
        }
        return EventLoopFuture.whenAllSucceed(answers, on: client.eventLoop).map { answers -> AccessFacts? in
            guard answers.contains(where: { $0 != nil }) else { return nil }
            let texts = (self.needed + self.excessive).map { Self.text($0) }
            let needed = zip(texts, answers).prefix(self.needed.count)
            let unknown = zip(self.needed, answers).filter { $0.1 == .unknownCommand }.map { Self.name($0.0) }
            return AccessFacts(
                missing: needed.filter { $0.1 == .refused }.map { $0.0 },
                excessive: zip(texts, answers).dropFirst(self.needed.count).filter { $0.1 == .granted }.map { $0.0 },
                unknown: Set(unknown).sorted())
        }.flatMapErrorThrowing { error in
            guard case RedisError.refused(let code, _) = error else { throw error }
            // The user may not run scripts, or Redis does not support them. Nothing else can be checked then, and no
            // gateway would work. Any other refusal comes from an older server, which does not know the first line of
            // the script.
            let scripts = ["EVAL, EVALSHA"]
            if code == "NOPERM" { return AccessFacts(missing: scripts) }
            return (error as? RedisError)?.isUnknownCommand == true ? AccessFacts(unknown: scripts) : nil
        }
    }

    /// The results of the script.
    private enum Permission: Int64 {
        case unknownCommand = -1
        case refused = 1
        case granted = 2
    }

    /// Returns a `Permission`, or 0 if the server cannot check permissions. The flags let the script run where writes
    /// are refused: on a replica, when memory is full, or without the required replicas.
    private static let permissionScript = RedisScript(
        name: "may_call",
        source: Array(
            """
            #!lua flags=no-writes,allow-stale
            if not redis.acl_check_cmd then return 0 end
            local isKnown, may = pcall(redis.acl_check_cmd, unpack(ARGV))
            if not isKnown then return -1 end
            return may and 2 or 1
            """.utf8))

    /// The command for people: in capitals, without the arguments that do not matter.
    private static func text(_ command: [String]) -> String {
        let name = Self.name(command)
        if ["EVAL", "EVALSHA"].contains(name) || name.contains(" ") { return name }
        return ([name] + command.dropFirst().prefix(1)).joined(separator: " ")
    }

    /// The command in capitals, with its subcommand and without arguments.
    private static func name(_ command: [String]) -> String {
        let hasSubcommand = ["config", "script", "acl", "debug", "cluster", "pubsub"].contains(command[0])
        return command.prefix(hasSubcommand ? 2 : 1).joined(separator: " ").uppercased()
    }
}
