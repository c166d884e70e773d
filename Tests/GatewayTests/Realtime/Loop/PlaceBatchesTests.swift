import EnrouteWire
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

@testable import Realtime

/// Places of riders, collected and stored together.
@Suite struct PlaceBatchesTests {
    private static let zone = ZoneID("vienna")!
    private static let here = Coordinate(latitude: 48.2, longitude: 16.4)!
    private static let there = Coordinate(latitude: 48.3, longitude: 16.4)!

    private static func rider(_ number: Int) -> PersonID { PersonID("rider-\(number)")! }

    /// Lets two seconds of ticks pass after `changes`.
    private static func tick(_ client: RedisClient, _ changes: @escaping @Sendable (PlaceBatches) -> Void) async throws
    {
        let index = GeoIndex(live: client, settings: LiveStateSettings())
        try await client.eventLoop.submit {
            let batches = PlaceBatches(index: index)
            changes(batches)
            for _ in 0..<20 { batches.tick() }
        }.get()
    }

    private static func riders(near place: Coordinate, _ client: RedisClient) async throws -> Set<PersonID> {
        let index = GeoIndex(live: client, settings: LiveStateSettings())
        return Set(try await index.near(place, in: Self.zone, within: 1_000, limit: 500).get().map(\.rider))
    }

    @Test func `every rider of a batch is stored, at its newest place`() async throws {
        try await withRedis { client, _ in
            try await Self.tick(client) { batches in
                for number in 0..<150 {
                    batches.add(Self.rider(number), in: Self.zone, at: Self.here)
                    batches.add(Self.rider(number), in: Self.zone, at: Self.there)
                }
            }
            try await becomes("all riders are stored") {
                try await Self.riders(near: Self.there, client).count == 150
            }
            #expect(try await Self.riders(near: Self.here, client).isEmpty)
        }
    }

    @Test func `a rider that went offline before the batch is not stored`() async throws {
        try await withRedis { client, _ in
            try await Self.tick(client) { batches in
                for number in 0..<3 { batches.add(Self.rider(number), in: Self.zone, at: Self.here) }
                batches.drop(Self.rider(1), in: Self.zone)
            }
            try await becomes("the others are stored") {
                try await Self.riders(near: Self.here, client) == [Self.rider(0), Self.rider(2)]
            }
        }
    }

    @Test func `between two batches nothing is sent`() async throws {
        try await withRedis { client, _ in
            let index = GeoIndex(live: client, settings: LiveStateSettings())
            try await client.eventLoop.submit {
                let batches = PlaceBatches(index: index)
                batches.add(Self.rider(0), in: Self.zone, at: Self.here)
                for _ in 0..<19 { batches.tick() }
            }.get()
            #expect(try await index.near(Self.here, in: Self.zone, within: 1_000, limit: 500).get().isEmpty)
        }
    }
}
