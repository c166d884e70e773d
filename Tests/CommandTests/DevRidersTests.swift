import Access
import AsyncHTTPClient
import EnrouteWire
import Foundation
import LiveState
import NIOSSL
import Subprocess
import TestSupport
import Testing

@testable import enroute

/// The heartbeats of the rider whose token `enroute dev` prints.
@Suite struct DevRidersTests {
    /// A gateway that accepts two heartbeats a second, and waits three seconds for one.
    private static let heartbeat = Duration.milliseconds(500)
    private static let settings: [Environment.Key: String] = [
        "ENROUTE_RIDER_HEARTBEAT_TIMEOUT_SECONDS": "3", "ENROUTE_TOKEN_ISSUER": "dev", "ENROUTE_TOKEN_AUDIENCE": "dev",
    ]

    @Test func `the rider of enroute dev stays available for longer than a heartbeat counts`() async throws {
        try await Self.withOrders { orders in
            let riders = DevRiders(orders: orders, heartbeat: Self.heartbeat)
            let silent = DemoOrders.Party(person: PersonID("rider-2")!, role: .rider)
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer { group.cancelAll() }
                try await riders.describe(DevGuide.rider)
                group.addTask { try await riders.keepReachable(DevGuide.rider) }
                // This heartbeat was sent later. So when its rider is unreachable, the other one would be too.
                try await riders.describe(silent)
                try await becomes("only the rider without heartbeats is unreachable", every: .milliseconds(250)) {
                    let other = try await orders.send(.GET, "riders/\(silent.person)", by: DevGuide.operations)
                    let kept = try await orders.send(.GET, "riders/\(DevGuide.rider.person)", by: DevGuide.operations)
                    return other["reachable"] as? Bool == false && kept["available"] as? Bool == true
                }
            }
        }
    }

    @Test func `the rider of enroute dev stays reachable although one heartbeat is lost`() {
        #expect(DevRiders.usualHeartbeat * 2 < LiveStateSettings().heartbeatTimeout)
    }

    /// Runs a gateway, and an order system like that of `enroute dev`.
    private static func withOrders(_ body: @escaping @Sendable (DemoOrders) async throws -> Void) async throws {
        try await RoadTests.withFolder { folder in
            try await withServer { redis in
                try await RoadTests.withGateway(folder, redis, settings: self.settings) { port, _ in
                    var configuration = HTTPClient.Configuration()
                    configuration.tlsConfiguration = .makeClientConfiguration()
                    configuration.tlsConfiguration?.certificateVerification = .none
                    let client = HTTPClient(configuration: configuration)
                    defer { client.shutdown { _ in } }
                    let mint = try await TokenMint(secret: RoadTests.secret, issuer: "dev", audience: "dev")
                    try await body(
                        DemoOrders(mint: mint, url: "https://localhost:\(port)", client: client, report: { _ in }))
                }
            }
        }
    }
}
