// The command line: one word for each thing the process can be.

import ArgumentParser
import EnrouteWire

@main
struct Enroute: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enroute",
        abstract: "Live tracking of deliveries and service visits.",
        discussion: wrappable(
            """
            Exit codes: 0 done, 1 failed while running, 64 wrong command line, 65 unusable input file,
            69 something it needs is not there (Redis, a port, redis-server), 78 wrong configuration.

            Examples:
              enroute demo                          a live trip in your browser
              enroute serve                         a gateway
              enroute check                         is Redis fit, and what is set?
              enroute audit --job job-1             who followed it, and when
              enroute token --role rider rider-7    a token for development
              enroute revoke user customer-1        ends what this user holds
              enroute replay trip.gpx --job job-1   a rider on a recorded trip
              enroute score trip.gpx                how good arrival times were
            """),
        version: EnrouteVersion.current,
        subcommands: [
            ServeCommand.self, CheckCommand.self, DemoCommand.self, ReplayCommand.self, TokenCommand.self,
            RevokeCommand.self, AuditCommand.self, ScoreCommand.self, DemoGatewayCommand.self,
        ])
}
