// enroute revoke: takes back what was granted, straight at Redis: also when no gateway answers.

import Access
import ArgumentParser
import EnrouteWire
import LiveState
import NIOCore
import NIOPosix
import Redis

struct RevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Makes a user's tokens, one token, a job or a tracking link good no more.",
        usage: "enroute revoke <kind> <id> [<options>]",
        discussion: wrappable(
            """
            Reads the same settings as serve and writes into Redis what every gateway acts upon within a second: sessions
            end with 4502, followers of a job are told that it is over. A user may come back with a token that was issued
            after this second. Safe to repeat. Exit codes: 0 revoked, 69 Redis is not there or holds no more, 78 something
            is set wrong.

            Examples:
              enroute revoke user customer-1
              enroute revoke token 8d1c3f0a-5b1e-4d7e-9a51-0f3c2b7a9e11 \\
                --reason "lost phone"
              enroute revoke job job-7 --config /etc/enroute.env
              enroute revoke link 0123456789abcdef0123456789abcdef
            """))

    @Argument(help: "One of \(RevocationSubject.Kind.allCases.map(\.rawValue).joined(separator: ", ")).")
    var kind: String

    @Argument(help: "The person, the token's jti, the job, or the link's id.")
    var id: String

    @Option(help: "Why, for whoever looks later: at most \(RevocationLog.longestReason) bytes.")
    var reason = "command"

    @Option(help: "Who revokes: 1 to 64 of [A-Za-z0-9_-].")
    var actor = "operator"

    @Option(help: configurationFileHelp)
    var config: String?

    func validate() throws {
        guard let kind = RevocationSubject.Kind(rawValue: self.kind) else {
            let kinds = RevocationSubject.Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("\(self.kind) can not be revoked: it must be one of \(kinds).")
        }
        guard RevocationSubject(kind, id: self.id) != nil else {
            throw ValidationError("The id of a \(kind.rawValue) must be \(kind.form).")
        }
        guard PersonID(self.actor) != nil else { throw ValidationError("--actor must be 1 to 64 of [A-Za-z0-9_-].") }
        guard self.reason.utf8.count <= RevocationLog.longestReason,
            self.reason.utf8.allSatisfy({ $0 >= 32 && $0 != 127 })
        else {
            throw ValidationError(
                "--reason must be at most \(RevocationLog.longestReason) bytes without control characters.")
        }
    }

    func run() async throws {
        try await exitingCleanly {
            let configuration = try ProcessConfiguration(file: self.config)
            let (ledger, state) = (try configuration.redis().ledger, try configuration.liveState())
            let logger = try configuration.logger()
            let loop = MultiThreadedEventLoopGroup.singleton.next()
            let client = try await loop.submit {
                RedisClient(address: ledger, eventLoop: loop, logger: logger)
            }.get()
            defer { client.stop() }
            try await client.start().get()
            // All were checked by `validate`.
            let subject = RevocationSubject(RevocationSubject.Kind(rawValue: self.kind)!, id: self.id)!
            let answer = try await RevocationLog(ledger: client, settings: state)
                .revoke(subject, by: PersonID(self.actor)!, because: self.reason).get()
            guard answer.value == .revoked else {
                throw Unavailable(
                    description: "Too much was revoked lately, and nothing of it may be forgotten: nothing was done. "
                        + "Entries go when ENROUTE_JOB_RETENTION_SECONDS, or 48 h, are over.")
            }
            say(
                "revoked \(self.kind) \(self.id)"
                    + (answer.isReplicationUnconfirmed
                        ? "; no replica is known to have it: repeat it after a failover" : ""))
        }
    }
}
