import EnrouteClient
import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// Many concurrent changes at the maximum rate.
@Suite(.serialized, .needsMachine(for: .volume)) struct PoolVolumeTests {
    private static let (riders, rounds) = (50, 50)

    @Test func `5,000 concurrent changes arrive at two watchers in order and without loss`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                // The client shares two cores with everything else in this test.
                $0.limits.writeStallSeconds = 120
            } _: { gateway in
                for number in 0..<Self.riders { try await gateway.register(.rider(number)) }
                let start = try await gateway.pool.read(RunningGateway.rome).get().version
                let witnesses = try await withThrowingTaskGroup(of: PoolWitness.self) { group in
                    let (watching, isWatching) = AsyncStream.makeStream(of: Void.self)
                    for _ in 0..<2 { group.addTask { try await Self.watch(gateway) { isWatching.yield() } } }
                    var watchers = watching.makeAsyncIterator()
                    for _ in 0..<2 { _ = await watchers.next() }
                    try await Self.change(gateway)
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                // A change in flight is never treated as lost, whenever a check runs.
                let metrics = try await gateway.manage("/metrics").text
                #expect(metrics.contains("enroute_resyncs_total{kind=\"zone\",reason=\"repair\"} 0\n"))
                let versions = try await gateway.versions(since: start)
                #expect(versions.count == 2 * Self.riders * Self.rounds)
                for witness in witnesses {
                    #expect(witness.changes.map(\.version) == versions)
                    #expect(witness.snapshots == 1 && witness.violations == [] && witness.members == [])
                }
            }
        }
    }

    /// What one watcher receives until it has seen all changes, or something is wrong.
    private static func watch(
        _ gateway: RunningGateway, _ began: () -> Void
    ) async throws -> PoolWitness {
        try await gateway.connect("allocation", .service) { connection, messages in
            var witness = PoolWitness()
            try await connection.send(.watch(zone: RunningGateway.rome, since: nil))
            try await messages.watch(&witness) { $0.snapshots == 1 }
            began()
            try await messages.watch(&witness) {
                $0.changes.count >= 2 * Self.riders * Self.rounds || $0.snapshots > 1 || !$0.violations.isEmpty
            }
            return witness
        }
    }

    private static func change(_ gateway: RunningGateway) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for hand in 0..<10 {
                group.addTask {
                    for _ in 0..<Self.rounds {
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

    @Test func `pools larger than the normal send queue are sent completely, one after the other`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let (zones, count) = ((0..<4).map { ZoneID("zone-\($0)")! }, 5_000)
                let keyspace = gateway.settings.liveState.keyspace
                for zone in zones {
                    let members = (0..<count).flatMap { ["\(1_700_000_000_000 + $0)", "rider-\($0)"] }
                    let arguments = ["ZADD", keyspace.available(in: zone)] + members
                    _ = try await gateway.client.send(RedisCommand(arguments.map { .text($0) })).get()
                }
                try await gateway.connect("allocation", .service) { connection, messages in
                    for zone in zones { try await connection.send(.watch(zone: zone, since: nil)) }
                    var shown: [ZoneID] = []
                    while shown.count < zones.count {
                        let view = try await messages.pool()
                        guard case .riders(let riders, count) = view.content else { throw Missing() }
                        #expect(riders.count == count && riders[0].rider == .rider(count - 1))
                        #expect(view.encoded.count > gateway.settings.limits.queueBytes)
                        shown.append(view.zone)
                    }
                    #expect(Set(shown) == Set(zones))
                }
            }
        }
    }
}
