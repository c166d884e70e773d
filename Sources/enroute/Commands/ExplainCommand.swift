// enroute explain: why followers of a job see what they see, and why a rider does or does not get tasks.

import ArgumentParser
import EnrouteWire
import Foundation
import HTTPValues
import Jobs
import LiveState
import Logging
import NIOCore
import NIOPosix
import Redis

extension ProcessConfiguration {
    /// The settings of `liveState` on which explanations depend.
    fileprivate func explainedState() throws -> LiveStateSettings {
        var state = LiveStateSettings()
        state.keyspace = try self.keyspace()
        state.positionLifetime = try self.seconds("ENROUTE_TRACKING_POSITION_LIFETIME_SECONDS")
        state.maxSharingDuration = try self.seconds("ENROUTE_TRACKING_MAX_SHARING_SECONDS")
        state.heartbeatTimeout = try self.seconds("ENROUTE_RIDER_HEARTBEAT_TIMEOUT_SECONDS")
        state.autoOfflineDelay = try self.seconds("ENROUTE_RIDER_AUTO_OFFLINE_AFTER_SECONDS")
        state.accessEntries = try self.integer("ENROUTE_AUDIT_ACCESS_MAX_ENTRIES")
        return state
    }
}

struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Explains what followers of a job see, or the state of a rider.",
        usage: """
            enroute explain <job> [<options>]
            enroute explain rider <rider> [<options>]
            """,
        discussion: wrappable(
            """
            Uses the same configuration as serve. It reads both Redis instances and needs no gateway. It works with either of
            the Redis users `enroute` and `operations` of deploy/redis. Each section ends with a sentence that says what it
            means. Times are UTC. If one Redis instance is unavailable, the explanation says so and uses the other.

            Positions are shown only with --positions. The audit trail in the ledger records that; if it cannot, nothing is
            shown. Exit codes: 0 explained, 1 there is no such job or rider, 69 a Redis instance is unavailable, 78 invalid
            configuration.

            Examples:
              enroute explain job-7
              enroute explain rider rider-7 --json
              enroute explain job-7 --config /etc/enroute/gateway.env
            """))

    @Argument(
        help: ArgumentHelp("The id of the job, or `rider` and the id of the rider.", valueName: "job"))
    var subject: [String]

    @Flag(help: "Print JSON, as GET /api/v1/jobs/{job}/explanation returns it.")
    var json = false

    @Flag(help: "Show where the rider is. The audit trail records it.")
    var positions = false

    @Option(help: "Who reads it, for the audit trail: 1 to 64 characters of A-Z a-z 0-9 _ -.")
    var actor = "operator"

    @Option(help: configurationFileHelp)
    var config: String?

    private func parsed() throws -> ExplainedSubject {
        let form = "must be 1 to \(JobID.longest) characters of A-Z a-z 0-9 _ -."
        switch (self.subject.count, self.subject.first) {
        case (1, let id?):
            guard let job = JobID(id) else { throw ValidationError("The job \(form)") }
            return .job(job)
        case (2, "job"?):
            guard let job = JobID(self.subject[1]) else { throw ValidationError("The job \(form)") }
            return .job(job)
        case (2, "rider"?):
            guard let rider = PersonID(self.subject[1]) else { throw ValidationError("The rider \(form)") }
            return .rider(rider)
        default:
            throw ValidationError("Name one job, or `rider` and one rider: enroute explain job-7.")
        }
    }

    func validate() throws {
        let subject = try self.parsed()
        guard PersonID(self.actor) != nil else {
            throw ValidationError("--actor must be 1 to 64 characters of A-Z a-z 0-9 _ -.")
        }
        if case .rider = subject, self.positions { throw ValidationError("--positions needs a job.") }
    }

    func run() async throws {
        try await exitingCleanly {
            let configuration = try ProcessConfiguration(file: self.config, command: "explain")
            let addresses = try configuration.redis(
                withDev: "send GET /api/v1/jobs/<job>/explanation (or riders/<rider>/explanation) with the token of ops"
            )
            let state = try configuration.explainedState()
            let freshness = try configuration.seconds("ENROUTE_TRACKING_STALE_AFTER_SECONDS")
            let early = try configuration.earlyArrivals()
            let (live, ledger) = (try await Self.client(addresses.live), try await Self.client(addresses.ledger))
            defer {
                live.stop()
                ledger.stop()
            }
            let collector = FactsCollector(
                live: live, ledger: ledger, settings: state, accessPages: FactsCollector.pagesOfCommand,
                now: { WallClock.nowMilliseconds })
            let explanation: Explanation
            switch try self.parsed() {
            case .job(let job):
                if self.positions { try await self.record(job, AuditStreams(ledger: ledger, settings: state)) }
                explanation =
                    JobExplanation(
                        try await collector.facts(of: job), settings: state, freshness: freshness, early: early,
                        showsPosition: self.positions
                    ).document
            case .rider(let rider):
                explanation = RiderExplanation(try await collector.facts(of: rider), settings: state).document
            }
            if explanation.found == false {
                Output.complain("enroute: \(try await Self.unknown(explanation, collector))\n")
                throw explanation.isUnavailable ? ExitCode.unavailable : ExitCode.failure
            }
            say(self.json ? try Self.json(explanation) : ExplanationScreen(explanation).text)
            if explanation.isUnavailable { throw ExitCode.unavailable }
        }
    }

    private static func json(_ explanation: Explanation) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(explanation), as: UTF8.self)
    }

    /// Returns a client that is connected, unless its Redis is unavailable. Then every command fails at once, and the
    /// explanation reports it.
    ///
    /// - Throws: an error that does not pass by itself, such as a wrong password.
    private static func client(_ address: RedisAddress) async throws -> RedisClient {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let quiet = Logger(label: "enroute") { _ in SwiftLogNoOpLogHandler() }
        let client = try await loop.submit { RedisClient(address: address, eventLoop: loop, logger: quiet) }.get()
        do {
            try await client.start().get()
        } catch let error as RedisError where error.isOutage {
            return client
        }
        return client
    }

    private func record(_ job: JobID, _ streams: AuditStreams) async throws {
        var entry = AuditEntry.explained(
            .job(job), to: PersonID(self.actor)!, via: "command", showsPosition: true)
        entry.stamp(gateway: "command", at: WallClock.nowMilliseconds, number: UUID().uuidString.lowercased())
        do {
            try await streams.append(entry).get()
        } catch let error as RedisError {
            throw Unavailable(
                description: "The position is not shown, because the audit trail could not record it: \(error) Repeat "
                    + "without --positions, or with a Redis user that may write.")
        }
    }

    /// Maximum number of bytes of an id in a message; ids are shorter.
    private static func unknown(_ explanation: Explanation, _ collector: FactsCollector) async throws -> String {
        let id = explanation.id
        switch explanation.subject {
        case .job:
            var text = "There is no job \(id): it never existed, or its record has expired after its last change."
            if try await collector.isRider(id) {
                text += " \(id) is a rider: enroute explain rider \(id)"
            } else if let near = id.nearest(of: try await collector.openJobs()) {
                text += " Did you mean \(near)?"
            }
            return text
        case .rider:
            var text = "There is no rider \(id): it is in no zone and has no session."
            if try await collector.isJob(id) {
                text += " \(id) is a job: enroute explain \(id)"
            } else if let near = id.nearest(of: try await collector.onlineRiders()) {
                text += " Did you mean \(near)?"
            }
            return text
        }
    }
}
