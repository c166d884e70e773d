// Whether a ledger gets back what it has appended. While Redis loads its append-only file it runs each transaction, which
// is every script with two writes, as the user `default`; where an access list refuses that user, Redis 7.0 skips the
// transaction and starts without it (redis #14541, valkey #3983). So `default` is asked about: with ACL DRYRUN, which
// carries nothing out and shows no password.

package import NIOCore
package import Redis

/// What is known about loading the append-only file.
package enum ReloadFacts: Sendable, Hashable {
    /// Nobody we sign in as may ask.
    case unseen
    /// Commands of the file that are refused while it is loaded; none when all is well.
    case refused([String])
}

/// The user that Redis loads a file as.
package struct ReloadQuestions: Sendable, Hashable {
    /// Each as its words, all of them changes.
    package var changes: [[String]]

    private static let user = "default"
    /// What scripts leave in the file: reads and messages do not reach it.
    private static let writing: Set = [
        "set", "del", "hset", "hdel", "sadd", "xadd", "xtrim", "zadd", "zrem", "zremrangebyscore", "zremrangebyrank",
        "pexpire", "pexpireat",
    ]

    package init(keyspace: Keyspace) {
        self.changes = AccessQuestions(role: .ledger, keyspace: keyspace).needed.filter {
            Self.writing.contains($0.first ?? "")
        }
    }

    /// Asks the server that `client` is connected to.
    package func ask(_ client: RedisClient) -> EventLoopFuture<ReloadFacts> {
        let answers = self.changes.map { words in
            client.send(RedisCommand((["ACL", "DRYRUN", Self.user] + words).map { .text($0) })).map { $0.text == "OK" }
        }
        return EventLoopFuture.whenAllSucceed(answers, on: client.eventLoop).map { answers in
            let refused = zip(self.changes, answers).filter { !$0.1 }.compactMap { $0.0.first?.uppercased() }
            return .refused(Set(refused).sorted())
        }.flatMapErrorThrowing { error in
            guard case RedisError.refused = error else { throw error }
            return .unseen
        }
    }
}

extension RedisFacts {
    /// Whether the ledger knows its jobs again after a restart.
    func ledgerReload(in mode: DeploymentMode) -> Finding? {
        guard self.appends == true, let reload else { return nil }
        let rule = "ACL SETUSER default off resetpass ~* &* +@all"
        let remedy =
            "\(self.place.commandLine) --user admin --askpass \(rule); then ACL SAVE, then BGREWRITEAOF, all before any "
            + "restart (deploy/redis/README.md, Upgrading)"
        switch reload {
        case .refused([]): return self.ok(.reload, "Redis may load again what it has appended.")
        case .refused(let commands):
            return self.finding(
                mode == .production ? .error : .warning, .reload,
                "The next restart loses every job: the user `default` may not run \(commands.joined(separator: ", ")).",
                why: "Redis loads its append-only file as that user, and skips every transaction that it may not run.",
                remedy: remedy)
        case .unseen:
            return self.finding(
                .warning, .reload,
                "It was not possible to see whether Redis may load again what it has appended (ACL DRYRUN is refused).",
                why: "If the user `default` may not run its transactions, the next restart loses every job.",
                remedy: "take deploy/redis/ledger.acl as it is now; or " + remedy)
        }
    }
}
