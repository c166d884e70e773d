// The command line. Each subcommand is a role that the process can have.

import ArgumentParser
import EnrouteWire

@main
struct Enroute: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enroute",
        abstract: "Live tracking of deliveries and service visits.",
        discussion: wrappable(
            """
            Exit codes: 0 success, 1 failure while running, 64 invalid command line, 65 unusable input (a file, a token or a
            link), 69 a required service is unavailable (Redis, a port, redis-server or the gateway), 77 the token does not
            permit it, 78 invalid configuration.

            Examples:
              enroute demo                          show a live trip in your browser
              enroute dev                           run a gateway to develop an app with
              enroute job follow visit-1            follow a job of a running gateway
              enroute rider online                  set a rider online
              enroute serve                         run a gateway
              enroute config                        print the effective configuration
              enroute check                         check the configuration and Redis
              enroute probe                         check whether a gateway is ready
              enroute explain job-1                 explain what followers of a job see
              enroute webhooks list                 list the webhooks, and how they respond
              enroute audit --job job-1             print who followed a job, and when
              enroute token --role rider rider-7    make a token for development
              enroute revoke user customer-1        revoke a user's tokens and sessions
              enroute replay trip.gpx --job job-1   replay a recorded trip as a rider
              enroute eta-accuracy trip.gpx         measure the accuracy of arrival times
              enroute size --riders 10000           estimate the hardware for a fleet
            """),
        version: EnrouteVersion.current,
        subcommands: [
            ServeCommand.self, ConfigCommand.self, CheckCommand.self, ProbeCommand.self, DemoCommand.self,
            DevCommand.self, JobCommand.self, RiderCommand.self, ReplayCommand.self, TokenCommand.self,
            RevokeCommand.self, ExplainCommand.self, AuditCommand.self, WebhooksCommand.self, ETAAccuracyCommand.self,
            StreetsCommand.self, SizeCommand.self, DemoGatewayCommand.self,
        ])

    static func main() async {
        Output.reserveClosedDescriptors()
        do {
            try self.words.requireValues()
            var command = try self.parseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch {
            self.exit(with: error)
        }
    }

    private static let words = CommandLineWords(words: Array(CommandLine.arguments.dropFirst()))

    /// Prints help and errors of the command line with `Output`. ArgumentParser's own `exit` ignores write errors, so a
    /// truncated shell completion would go unnoticed.
    private static func exit(with error: any Error) -> Never {
        var text = self.fullMessage(for: error)
        while text.hasSuffix("\n") { text.removeLast() }
        var code = self.exitCode(for: error)
        if code != .success {
            if !text.isEmpty { Output.complain(self.words.completing(text, of: self) + "\n") }
        } else {
            // ArgumentParser has no section for settings in its help text.
            if text.contains("USAGE: enroute serve ") { text += "\n\n\(SettingsReference.help)" }
            if !text.isEmpty { say(text) }
            if Output.hasFailed { code = .failure }
        }
        self.exit(withError: code)
    }
}
