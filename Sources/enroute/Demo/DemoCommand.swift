// enroute demo: a complete installation on this machine, for as long as the command runs.

import ArgumentParser
import Embedded
import Foundation
import Journeys

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Shows deliveries in a town, live, in your browser.",
        usage: "enroute demo [<options>]",
        discussion: wrappable(
            """
            Starts two redis-servers on unix sockets, two gateways, and a town with \(DemoTown.riders) riders and
            \(DemoTown.orders) orders. Prints one link, to a stage with the customer's phone, the rider's phone and the desk side
            by side. Your order starts when you open it. Buttons kill a gateway, restart Redis, or break the rider's phone; each
            says what to expect and measures what happened. Everything listens on 127.0.0.1 only, over plain HTTP; with --tls the
            pages use a certificate made for this run, which the browser warns about. Ctrl-C stops all of it and removes its
            files.

            Examples:
              enroute demo
              enroute demo --trip trip.gpx.gz --streets streets.geojson.gz --speed 4
              enroute demo --tls --port 8443
            """))

    @Option(
        help: ArgumentHelp(
            "Recorded trip instead of a generated one: .gpx, .csv or .nmea, plain or .gz.", valueName: "file"))
    var trip: String?

    @Option(help: ArgumentHelp("Streets to draw: GeoJSON, plain or .gz.", valueName: "file"))
    var streets: String?

    @Option(help: "Speed of your rider as a multiple of the recorded one, 0.25 to 8.")
    var speed: Double = 1

    @Option(
        help:
            "First of four ports to listen on, 1 to \(DemoPorts.maxFirst). If one is in use, the next free ones are used."
    )
    var port = 8080

    @Option(help: "Seed of the generated town and trip: a whole number from 0.")
    var seed: UInt64 = 1

    @Flag(help: "Pages over TLS, with a certificate that the browser warns about.")
    var tls = false

    @Flag(help: .hidden)
    var noTLS = false

    func validate() throws {
        guard DemoControls.speeds.contains(self.speed) else { throw ValidationError("--speed must be 0.25 to 8.") }
        guard (1...DemoPorts.maxFirst).contains(self.port) else {
            throw ValidationError("--port must be 1 to \(DemoPorts.maxFirst): the demo needs four ports in a row.")
        }
        guard !(self.tls && self.noTLS) else { throw ValidationError("--tls and --no-tls exclude each other.") }
    }

    func run() async throws {
        try await exitingCleanly {
            if self.noTLS { Output.complain("enroute demo: --no-tls is the default now and not needed.\n") }
            let scene = try DemoScene(trip: self.trip, streets: self.streets, seed: self.seed)
            let ports = try await DemoPorts.open(from: self.port)
            do {
                try await TemporaryFolder.holding("enroute-demo") { folder in
                    let certificate =
                        self.tls ? try DevelopmentCertificate(name: "enroute demo").write(to: folder) : nil
                    let stage = DemoStage(
                        scene: scene, speed: self.speed, seed: self.seed, folder: folder, certificate: certificate,
                        ports: ports)
                    try await untilSignal { try await stage.run() }
                }
            } catch let failure as RedisServer.Failure {
                throw Unavailable(description: failure.description)
            }
            await ports.close()
            say("enroute demo: stopped; all servers and files are gone.")
        }
    }
}
