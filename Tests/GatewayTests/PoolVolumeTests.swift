import EnrouteClient
import EnrouteWire
import LiveState
import TestSupport
import Testing

@testable import Gateway

/// Many changes, from many hands, with the channel cut in the middle.
@Suite(.serialized) struct PoolVolumeTests {
    private static let (riders, rounds) = (50, 50)

    @Test func `5,000 changes from many hands arrive in order without loss, through a cut of the channel`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                // The client shares two cores with all else here.
                $0.limits.stallSeconds = 120
            } _: { gateway in
                for number in 0..<Self.riders { try await gateway.register(.rider(number)) }
                try await gateway.connect("allocation", .service) { connection, messages in
                    var witness = PoolWitness()
                    try await connection.send(.watch(zone: RunningGateway.rome, since: nil))
                    try await messages.watch(&witness) { $0.snapshots == 1 }
                    let start = witness.version
                    async let written: Void = Self.change(gateway)
                    try await messages.watch(&witness) { $0.changes.count >= 2 * Self.riders * Self.rounds }
                    try await written
                    let versions = try await gateway.versions(since: start)
                    #expect(versions.count == 5_000)
                    #expect(witness.changes.map(\.version) == versions)
                    #expect(witness.snapshots == 1 && witness.violations == [])
                    #expect(witness.members == [])
                }
            }
        }
    }

    private static func change(_ gateway: RunningGateway) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for hand in 0..<10 {
                group.addTask {
                    for round in 0..<Self.rounds {
                        if hand == 0, round == Self.rounds / 2 {
                            try await gateway.client.run("CLIENT", "KILL", "TYPE", "pubsub")
                        }
                        for number in stride(from: hand, to: Self.riders, by: 10) {
                            try await gateway.goOnline(.rider(number))
                            try await gateway.goOffline(.rider(number))
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
