// enroute revoke: revokes directly in Redis, so it works when no gateway responds.

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
        abstract: "Revokes a user, a token, a job or a tracking link.",
        usage: "enroute revoke <kind> <id> [<options>]",
        discussion: wrappable(
            """
            Uses the same configuration as serve. It writes the revocation to the ledger Redis, and every gateway applies it
            within a second: sessions are closed with code 4502, and followers of a job are notified that access has ended.
            A user can sign in again with a token issued more than 30 s after the revocation. It is safe to repeat. Exit
            codes: 0 revoked, 69 Redis is unavailable or the revocation list is full, 78 wrong configuration.

            Examples:
              enroute revoke user customer-1
              enroute revoke token 8d1c3f0a-5b1e-4d7e-9a51-0f3c2b7a9e11 \\
                --reason "lost phone"
              enroute revoke job job-7 --config /etc/enroute/enroute.env
              enroute revoke link 0123456789abcdef0123456789abcdef
            """))

    @Argument(
        help: "What to revoke: one of \(RevocationSubject.Kind.allCases.map(\.rawValue).joined(separator: ", ")).")
    var kind: String

    @Argument(help: "The user, the token's jti, the job, or the link's id.")
    var id: String

    @Option(help: "Reason for the record: at most \(RevocationLog.longestReason) bytes.")
    var reason = "command"

    @Option(help: "Who revokes, for the record: 1 to 64 characters of A-Z a-z 0-9 _ -.")
    var actor = "operator"

    @Option(help: configurationFileHelp)
    var config: String?

    func validate() throws {
        guard let kind = RevocationSubject.Kind(rawValue: self.kind) else {
            let kinds = RevocationSubject.Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("\(self.kind) cannot be revoked: it must be one of \(kinds).")
        }
        guard RevocationSubject(kind, id: self.id) != nil else {
            throw ValidationError("The id of a \(kind.rawValue) must be \(kind.form).")
        }
        guard PersonID(self.actor) != nil else {
            throw ValidationError("--actor must be 1 to 64 characters of A-Z a-z 0-9 _ -.")
        }
        guard self.reason.utf8.count <= RevocationLog.longestReason,
            self.reason.utf8.allSatisfy({ $0 >= 32 && $0 != 127 })
        else {
            throw ValidationError(
                "--reason must be at most \(RevocationLog.longestReason) bytes without control characters.")
        }
    }

    func run() async throws {
        try await exitingCleanly {
            let configuration = try ProcessConfiguration(file: self.config, command: "revoke")
            let (ledger, state) = (try configuration.redis().ledger, try configuration.liveState())
            let logger = try configuration.logger()
            let loop = MultiThreadedEventLoopGroup.singleton.next()
            let client = try await loop.submit {
                RedisClient(address: ledger, eventLoop: loop, logger: logger)
            }.get()
            defer { client.stop() }
            try await client.start().get()
            // `validate` has checked them.
            let subject = RevocationSubject(RevocationSubject.Kind(rawValue: self.kind)!, id: self.id)!
            let answer = try await RevocationLog(ledger: client, settings: state)
                .revoke(subject, by: PersonID(self.actor)!, because: self.reason).get()
            guard answer.value == .revoked else {
                throw Unavailable(
                    description: "The revocation list is full; nothing was revoked. Entries expire after 48 hours, or "
                        + "after ENROUTE_JOB_RETENTION_SECONDS if that is longer. Retry later.")
            }
            say(
                "revoked \(self.kind) \(self.id)"
                    + (answer.isReplicationUnconfirmed
                        ? "; replication is not confirmed: repeat it after a failover" : ""))
        }
    }
}
