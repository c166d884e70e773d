// enroute demo: a complete installation on this machine, for as long as the command runs.

import ArgumentParser
import Embedded
import Foundation
import Journeys
import NIOCore
import NIOPosix

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Shows a live trip in your browser.",
        usage: "enroute demo [<options>]",
        discussion: wrappable(
            """
            Starts two redis-servers on unix sockets, two gateways behind one port, a job and a rider. Prints links to the
            customer's, the rider's and the operations page, and to a panel that simulates faults: GPS loss, a denied
            permission, a network failure, a restart of Redis, the loss of a gateway. The certificate is made for this run,
            so the browser warns about it once; with --no-tls there is none. Ctrl-C stops all of it and removes its files.

            Examples:
              enroute demo
              enroute demo --trip trip.gpx.gz --streets streets.geojson.gz --speed 4
              enroute demo --no-tls --port 8080
            """))

    @Option(
        help: ArgumentHelp(
            "Recorded trip instead of a generated one: .gpx, .csv or .nmea, also with .gz.", valueName: "file"))
    var trip: String?

    @Option(help: ArgumentHelp("Streets to draw: GeoJSON, also with .gz.", valueName: "file"))
    var streets: String?

    @Option(help: "Speed as a multiple of the recorded one, 0.25 to 8.")
    var speed: Double = 1

    @Option(help: "Port to listen on. If it is in use, the next free one.")
    var port = 8443

    @Option(help: "Seed of the generated streets and trip.")
    var seed: UInt64 = 1

    @Flag(help: "Without TLS, so the browser shows no warning. Listens on loopback only.")
    var noTLS = false

    /// Number of ports to try.
    static let maxPorts = 20

    func validate() throws {
        guard DemoControls.speeds.contains(self.speed) else { throw ValidationError("--speed must be 0.25 to 8.") }
        guard (1...65_535).contains(self.port) else { throw ValidationError("--port must be 1 to 65535.") }
    }

    func run() async throws {
        try await exitingCleanly {
            let scene = try DemoScene(trip: self.trip, streets: self.streets, seed: self.seed)
            let relay = DemoRelay()
            let (listener, port) = try await self.listen(relay)
            do {
                try await TemporaryFolder.holding("enroute-demo") { folder in
                    let certificate =
                        self.noTLS ? nil : try DevelopmentCertificate(name: "enroute demo").write(to: folder)
                    let stage = DemoStage(
                        scene: scene, speed: self.speed, folder: folder, certificate: certificate, listener: listener,
                        relay: relay, port: port)
                    try await untilSignal { try await stage.run() }
                }
            } catch let failure as RedisServer.Failure {
                throw Unavailable(description: failure.description)
            }
            try? await listener.close()
            say("enroute demo: stopped; all servers and files are gone.")
        }
    }

    private func listen(_ relay: DemoRelay) async throws -> (any Channel, Int) {
        for port in self.port..<min(self.port + Self.maxPorts, 65_536) {
            do {
                let group = MultiThreadedEventLoopGroup.singleton
                return (try await relay.listen(host: "127.0.0.1", port: port, group: group), port)
            } catch let error as IOError where error.errnoCode == EADDRINUSE {
                say("enroute demo: port \(port) is in use; trying \(port + 1).")
            }
        }
        throw Unavailable(
            description:
                "Ports \(self.port) to \(self.port + Self.maxPorts - 1) are in use. Choose another one with --port.")
    }
}
