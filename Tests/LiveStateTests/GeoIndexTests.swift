import EnrouteWire
import Redis
import TestSupport
import Testing

@testable import LiveState

/// The places of all riders of a zone.
@Suite struct GeoIndexTests {
    /// The number is in the id, so the ids are in its order.
    private static func rider(_ number: Int) -> PersonID { PersonID("rider-\(10_000 + number)")! }

    /// Places the riders with these numbers, the ones with the highest numbers furthest in the south.
    private static func place(_ numbers: some Sequence<Int>, _ index: GeoIndex) async throws {
        let riders = numbers.map { number in
            (
                rider: self.rider(number),
                place: Coordinate(latitude: 52.5 - Double(number) / 10_000, longitude: 13.4)!
            )
        }
        #expect(try await index.place(riders, in: ZoneStage.zone).get() == riders.count)
    }

    @Test func `of more riders than can be listed, those whose ids come first are listed, whoever moves`() async throws
    {
        try await ZoneStage.set { stage in
            let index = GeoIndex(live: stage.base.client, settings: stage.base.settings)
            try await Self.place(0..<(GeoIndex.maxListed + 300), index)
            let listed = Set((0..<GeoIndex.maxListed).map(Self.rider))
            for moved in [0..<1, 2_000..<2_500, GeoIndex.maxListed..<(GeoIndex.maxListed + 300)] {
                try await Self.place(moved, index)
                let all = try await index.all(in: ZoneStage.zone, now: stage.base.now()).get()
                #expect(Set(all.keys) == listed)
            }
        }
    }

    @Test func `a place that has expired is not listed, and makes room for another one`() async throws {
        try await ZoneStage.set { stage in
            let index = GeoIndex(live: stage.base.client, settings: stage.base.settings)
            try await Self.place(0..<(GeoIndex.maxListed + 1), index)
            let seen = stage.keyspace.placesSeen(in: ZoneStage.zone)
            _ = try await stage.client.send(["ZADD", .text(seen), "1", .text(Self.rider(0).text)]).get()
            let all = try await index.all(in: ZoneStage.zone, now: stage.base.now()).get()
            #expect(Set(all.keys) == Set((1...GeoIndex.maxListed).map(Self.rider)))
        }
    }

    @Test func `a place that is stored while it is deleted expires: it never remains without its time`() async throws {
        try await ZoneStage.set { stage in
            let index = GeoIndex(live: stage.base.client, settings: stage.base.settings)
            let here = Coordinate(latitude: 52.5, longitude: 13.4)!
            let keys = [stage.keyspace.places(in: ZoneStage.zone), stage.keyspace.placesSeen(in: ZoneStage.zone)]
            for _ in 0..<20 {
                _ = try await index.place(Self.rider(1), in: ZoneStage.zone, at: here).get()
                // The client sends the new place while the first reply to the deletion is on its way.
                let forgotten = index.forget(Self.rider(1), in: ZoneStage.zone)
                let placed = index.place(Self.rider(1), in: ZoneStage.zone, at: here)
                try await forgotten.get()
                _ = try await placed.get()
                var scores: [RESPValue] = []
                for key in keys { scores.append(try await stage.client.run("ZSCORE", key, Self.rider(1).text)) }
                #expect(scores[0] == .null || scores[1] != .null, "\(scores)")
            }
        }
    }
}
