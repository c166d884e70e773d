// The ports of the demo: four in a row for the stage and its three pages, and any free port for the town.

import Foundation
import NIOCore
import NIOPosix

/// The relay and the ports it listens on, all on loopback.
struct DemoPorts: Sendable {
    let relay: DemoRelay
    /// Forwards to the stage's own server, so that the port is in use from the start.
    let stageRelay: DemoRelay
    let stage: Int
    let customer, rider, desk, town: Int
    let riderDoor: DemoDoor
    private let listeners: [any Channel]

    /// Number of first ports to try.
    static let maxTries = 20
    private static let host = "127.0.0.1"
    private static let inARow = 4
    /// The highest first port.
    static let maxFirst = 65_536 - Self.inARow

    /// - Throws: `Unavailable` if there are no free ports.
    static func open(from first: Int) async throws -> DemoPorts {
        for stage in first...min(first + self.maxTries - 1, self.maxFirst) {
            do {
                return try await Self(stage: stage)
            } catch let error as IOError where error.errnoCode == EADDRINUSE {
                guard stage == first else { continue }
                say("enroute demo: port \(first) or one of the next three is in use; trying the next ones.")
            }
        }
        throw Unavailable(
            description:
                "There are no four free ports in a row from \(first) on. Choose another first one with --port.")
    }

    private init(stage: Int) async throws {
        let (relay, stageRelay, riderDoor) = (DemoRelay(), DemoRelay(), DemoDoor(preferredGateway: 1))
        let group = MultiThreadedEventLoopGroup.singleton
        var listeners: [any Channel] = []
        func listen(_ port: Int, _ door: DemoDoor) async throws -> Int {
            let channel = try await relay.listen(host: Self.host, port: port, group: group, door: door)
            listeners.append(channel)
            return channel.localAddress?.port ?? port
        }
        do {
            listeners.append(try await stageRelay.listen(host: Self.host, port: stage, group: group))
            // The customer's gateway and the rider's differ, so every location passes through Redis.
            self.customer = try await listen(stage + 1, DemoDoor(preferredGateway: 0))
            self.rider = try await listen(stage + 2, riderDoor)
            self.desk = try await listen(stage + 3, DemoDoor(preferredGateway: 1))
            self.town = try await listen(0, DemoDoor())
        } catch {
            for listener in listeners { try? await listener.close() }
            throw error
        }
        (self.relay, self.stageRelay, self.stage) = (relay, stageRelay, stage)
        (self.riderDoor, self.listeners) = (riderDoor, listeners)
    }

    func origins(isSecure: Bool) -> DemoOrigins {
        // Certificates contain the host name.
        func origin(_ port: Int) -> String { isSecure ? "https://localhost:\(port)" : "http://\(Self.host):\(port)" }
        return DemoOrigins(
            stage: "http://\(isSecure ? "localhost" : Self.host):\(self.stage)", customer: origin(self.customer),
            rider: origin(self.rider), desk: origin(self.desk))
    }

    func close() async {
        for listener in self.listeners { try? await listener.close() }
    }
}
