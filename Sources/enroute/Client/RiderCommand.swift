// enroute rider: declares a rider online or offline, and shows riders of a running gateway.

import ArgumentParser
import EnrouteWire
import Foundation
import OutboundHTTP

struct RiderCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rider",
        abstract: "Sets a rider online or offline, and shows riders of a gateway.",
        discussion: wrappable(
            """
            Finds the gateway and the token as `enroute job` does, and has the same exit codes. In a folder in which
            `enroute dev` runs, no option is needed.

            Examples:
              enroute rider online
              enroute rider show
              enroute rider show rider-7 --json
              enroute rider offline
            """),
        subcommands: [Online.self, Offline.self, Show.self])

    private struct Declaration: Encodable { var status: String }

    /// Declares the status of the rider whose token is sent.
    private static func declare(_ status: Availability, _ options: ClientOptions) async throws {
        try await exitingCleanly {
            let answer = try await options.client(as: .rider).send(
                .patch, "riders/me/status", Declaration(status: status.rawValue))
            try DocumentScreen.show(answer, options)
        }
    }

    struct Online: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sets the rider online: available for tasks.",
            usage: "enroute rider online [<options>]",
            discussion: wrappable("Examples:\n  enroute rider online"))

        @OptionGroup var options: ClientOptions

        func run() async throws { try await RiderCommand.declare(.online, self.options) }
    }

    struct Offline: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sets the rider offline. A rider with an active task cannot go offline.",
            usage: "enroute rider offline [<options>]",
            discussion: wrappable("Examples:\n  enroute rider offline"))

        @OptionGroup var options: ClientOptions

        func run() async throws { try await RiderCommand.declare(.offline, self.options) }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints the state of a rider.",
            usage: "enroute rider show [<rider>] [<options>]",
            discussion: wrappable(
                """
                Examples:
                  enroute rider show
                  enroute rider show rider-7
                """))

        @Argument(help: "The rider's user id. Without it, the rider whose token is sent.")
        var rider: String?

        @OptionGroup var options: ClientOptions

        func validate() throws {
            guard let rider, PersonID(rider) == nil else { return }
            throw ValidationError("\(rider) is not a user id: it must be 1 to 64 characters of A-Z a-z 0-9 _ -.")
        }

        func run() async throws {
            try await exitingCleanly {
                let client = try self.options.client(as: self.rider == nil ? .rider : .service)
                try DocumentScreen.show(try await client.send(.get, "riders/\(self.rider ?? "me")"), self.options)
            }
        }
    }
}
