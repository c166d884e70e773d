// Whether a ledger can load its append-only file. While loading, Redis executes each transaction (every script with two
// or more writes) as the user `default`. If an access list does not allow that user the commands, Redis 7.0 skips the
// transaction and starts without it (redis #14541, valkey #3983). ACL DRYRUN shows what `default` may do; it executes
// nothing and reveals no password.

package import NIOCore
package import Redis

/// Whether the append-only file can be loaded.
package enum ReloadFacts: Sendable, Hashable {
    /// Neither user may run ACL DRYRUN.
    case unknown
    /// Commands of the file that would be refused while loading; empty when none would be.
    case refused([String])
}

/// The checks for the user as which Redis loads the file.
package struct ReloadProbe: Sendable, Hashable {
    /// The writing commands to check, each with its arguments.
    package var changes: [[String]]

    private static let user = "default"
    /// Commands that scripts leave in the file. Reads and published messages are not in it.
    private static let writing: Set = [
        "set", "del", "hset", "hdel", "sadd", "xadd", "xtrim", "zadd", "zrem", "zremrangebyscore", "zremrangebyrank",
        "pexpire", "pexpireat",
    ]

    package init(keyspace: Keyspace) {
        self.changes = AccessProbe(role: .ledger, keyspace: keyspace).needed.filter {
            Self.writing.contains($0.first ?? "")
        }
    }

    /// Checks the commands on the server that `client` is connected to.
    package func run(_ client: RedisClient) -> EventLoopFuture<ReloadFacts> {
        let answers = self.changes.map { command in
            client.send(RedisCommand((["ACL", "DRYRUN", Self.user] + command).map { .text($0) })).map {
                $0.text == "OK"
            }
        }
        return EventLoopFuture.whenAllSucceed(answers, on: client.eventLoop).map { answers in
            let refused = zip(self.changes, answers).filter { !$0.1 }.compactMap { $0.0.first?.uppercased() }
            return .refused(Set(refused).sorted())
        }.flatMapErrorThrowing { error in
            guard case RedisError.refused = error else { throw error }
            return .unknown
        }
    }
}

extension RedisFacts {
    /// Whether the ledger still has its jobs after a restart.
    func ledgerReload(in mode: DeploymentMode) -> Finding? {
        guard self.appends == true, let reload else { return nil }
        let rule = "ACL SETUSER default off resetpass ~* &* +@all"
        let remedy =
            "\(self.connection.commandLine) --user admin --askpass \(rule); then ACL SAVE, then BGREWRITEAOF, all before any "
            + "restart (deploy/redis/README.md, Upgrading)"
        switch reload {
        case .refused([]): return self.ok(.reload, "Redis can reload its append-only file.")
        case .refused(let commands):
            return self.finding(
                mode == .production ? .error : .warning, .reload,
                "The next restart loses all jobs: the user `default` lacks permission for \(commands.joined(separator: ", ")).",
                why:
                    "Redis loads its append-only file as that user and skips every transaction that the user may not execute.",
                remedy: remedy)
        // ACL DRYRUN also fails for a command that Redis does not know. That is another finding.
        case .unknown where self.access?.unknown.isEmpty == false: return nil
        case .unknown:
            return self.finding(
                .warning, .reload,
                "Could not check whether Redis can reload its append-only file, because ACL DRYRUN is not permitted.",
                why: "If the user `default` lacks permissions, the next restart loses all jobs.",
                remedy: "install the current deploy/redis/ledger.acl; or " + remedy)
        }
    }
}
