// enroute job correct: changes a job from a wrong status to the correct one.

import ArgumentParser
import EnrouteWire
import Foundation
import OutboundHTTP

extension JobCommand {
    struct Correct: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Corrects a job's status, even if its lifecycle does not allow the change.",
            usage: "enroute job correct <job> --status <status> --reason <text> [<options>]",
            discussion: wrappable(
                """
                For services and operations staff. The correction is a new entry of the job's log; followers see the job as
                it is now. The reason is stored in the log and in the audit trail: do not name people in it.

                Examples:
                  enroute job correct order-7 --status in_transit \\
                    --reason "delivered was set for the wrong order"
                """))

        @OptionGroup var subject: Subject

        @Option(help: "The correct status.")
        var status: String

        @Option(help: "Why the status was wrong: one line of at most 200 characters.")
        var reason: String

        @OptionGroup var options: ClientOptions

        private struct Body: Encodable {
            var status: String
            var reason: String
        }

        private struct Answer: Decodable {
            var corrected: String
            var rider: String?
        }

        func validate() throws {
            try JobCommand.checkStatus(self.status)
            guard CorrectedStatus.isReason(self.reason) else {
                throw ValidationError(
                    "--reason must be one line of 1 to \(CorrectedStatus.longestReason) characters, not only spaces.")
            }
        }

        func run() async throws {
            try await exitingCleanly {
                let client = try self.options.client(as: .service)
                let answer = try await client.send(
                    .post, "jobs/\(self.subject.job)/corrections", Body(status: self.status, reason: self.reason))
                guard !self.options.json else { return say(answer.pretty) }
                let corrected = try answer.decoded(as: Answer.self)
                let rider = corrected.rider.map { "Its rider is \($0)." } ?? "It has no rider."
                say("\(self.subject.job) is \(self.status), no longer \(corrected.corrected). \(rider)")
            }
        }
    }

    /// - Throws: `ValidationError` for an unknown status.
    static func checkStatus(_ status: String) throws {
        guard JobStatus(rawValue: status) == nil else { return }
        let known = JobStatus.allCases.map(\.rawValue)
        let advice =
            status.nearest(of: known).map { "Did you mean \($0)?" }
            ?? "It must be one of \(known.joined(separator: ", "))."
        throw ValidationError("\(status) is not a status. \(advice)")
    }
}
