// enroute job: creates, reads, changes and follows jobs of a running gateway, as an order system does.

import ArgumentParser
import EnrouteWire
import Foundation
import OutboundHTTP

struct JobCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "job",
        abstract: "Creates, reads, changes and follows jobs of a gateway.",
        discussion: wrappable(
            """
            Uses the gateway that --url or ENROUTE_CLIENT_URL names, with the token of ENROUTE_CLIENT_TOKEN,
            ENROUTE_CLIENT_TOKEN_FILE or --token-file. In a folder in which `enroute dev` runs, no option is needed. Exit
            codes: 0 success, 1 the gateway refused the request, 69 the gateway is unreachable or busy, 77 the token does
            not permit it, 78 no gateway or token is set.

            Examples:
              enroute job create visit-1 --customer anna --destination 41.9,12.5
              enroute job status visit-1 on_the_way
              enroute job correct visit-1 --status on_the_way \\
                --reason "completed by mistake"
              enroute job follow visit-1 --json
              enroute job link visit-1
            """),
        subcommands: [Create.self, Show.self, Status.self, Correct.self, Follow.self, Link.self])

    /// The job that every command names.
    struct Subject: ParsableArguments {
        @Argument(help: "The id of the job: 1 to 64 characters of A-Z a-z 0-9 _ -.")
        var job: String

        func validate() throws {
            guard JobID(self.job) != nil else {
                throw ValidationError("\(self.job) is not a job id: it must be 1 to 64 characters of A-Z a-z 0-9 _ -.")
            }
        }
    }

    // MARK: show, status

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints the state of a job.",
            usage: "enroute job show <job> [<options>]",
            discussion: wrappable("Examples:\n  enroute job show visit-1 --as customer"))

        @OptionGroup var subject: Subject
        @OptionGroup var options: ClientOptions

        func run() async throws {
            try await exitingCleanly {
                let answer = try await self.options.client(as: .service).send(.get, "jobs/\(self.subject.job)")
                try DocumentScreen.show(answer, self.options)
            }
        }
    }

    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Changes the status of a job, or prints its statuses so far.",
            usage: "enroute job status <job> [<status>] [<options>]",
            discussion: wrappable(
                """
                Examples:
                  enroute job status visit-1 on_the_way
                  enroute job status visit-1
                """))

        @OptionGroup var subject: Subject

        @Argument(help: "The new status. Without it, the statuses so far are printed.")
        var status: String?

        @OptionGroup var options: ClientOptions

        private struct Body: Encodable { var status: String }

        private struct Log: Decodable {
            struct Entry: Decodable {
                var status: String
                var at: Int64
                var late: Bool?
                var assigned: Assignment?
                var corrected: String?
                var reason: String?

                struct Assignment: Decodable {
                    var rider: String?
                    var customer: String?
                }

                var line: String {
                    var line = "\(DocumentScreen.time(self.at))  \(self.status)"
                    if let corrected { line += "  (corrects \(corrected)\(self.reason.map { ": \($0)" } ?? ""))" }
                    guard self.late == true else { return line }
                    guard let assigned else { return line + "  (late)" }
                    let (rider, customer) = (assigned.rider ?? "-", assigned.customer ?? "-")
                    return line + "  (late assignment: rider \(rider), customer \(customer))"
                }
            }
            var events: [Entry]
        }

        func validate() throws {
            if let status { try JobCommand.checkStatus(status) }
        }

        func run() async throws {
            try await exitingCleanly {
                let client = try self.options.client(as: .service)
                let path = "jobs/\(self.subject.job)"
                guard let status else {
                    let answer = try await client.send(.get, "\(path)/log")
                    guard !self.options.json else { return say(answer.pretty) }
                    for event in try answer.decoded(as: Log.self).events { say(event.line) }
                    return
                }
                let answer = try await client.send(.post, "\(path)/status", Body(status: status))
                say(self.options.json ? answer.pretty : "\(self.subject.job) is \(status).")
            }
        }
    }

    // MARK: follow

    struct Follow: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Follows a job until it ends, and reconnects.",
            usage: "enroute job follow <job> [<options>]",
            discussion: wrappable(
                """
                Prints a line for each change. With --json, each line is a message of the gateway (/asyncapi.json). Ctrl-C
                stops it.

                Examples:
                  enroute job follow visit-1 --as customer
                """))

        @OptionGroup var subject: Subject
        @OptionGroup var options: ClientOptions

        func run() async throws {
            try await exitingCleanly {
                // `Subject` has checked it.
                let job = JobID(self.subject.job)!
                let isJSON = self.options.json
                let follower = JobFollower(client: try self.options.client(as: .service), job: job) { message in
                    if isJSON {
                        say(String(decoding: message.encoded, as: UTF8.self))
                    } else if let line = JobScreen.line(message) {
                        say(line)
                    }
                }
                try await untilSignal { try await follower.run() }
            }
        }
    }

    // MARK: link

    struct Link: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Creates a tracking link: a page that needs no sign-in.",
            usage: "enroute job link <job> [<options>]",
            discussion: wrappable(
                """
                Anyone with the link can follow the job until the link expires.

                Examples:
                  enroute job link visit-1 --viewers 2 --expires-in 3600
                """))

        @OptionGroup var subject: Subject

        @Option(help: "How many people may use the link at the same time, 1 to 100.")
        var viewers: Int?

        @Option(help: ArgumentHelp("Seconds until the link expires, 1 to 14400.", valueName: "seconds"))
        var expiresIn: Int?

        @OptionGroup var options: ClientOptions

        private struct Body: Encodable {
            var viewers: Int?
            var expiresInSeconds: Int?
        }

        private struct Answer: Decodable { var url: String }

        func run() async throws {
            try await exitingCleanly {
                let client = try self.options.client(as: .service)
                let answer = try await client.send(
                    .post, "jobs/\(self.subject.job)/links",
                    Body(viewers: self.viewers, expiresInSeconds: self.expiresIn))
                say(self.options.json ? answer.pretty : client.url + (try answer.decoded(as: Answer.self).url))
            }
        }
    }
}
