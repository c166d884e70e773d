import EnrouteWire
import Foundation
import Testing

@testable import Streets

/// Routes, streets near a place and distances, in small towns.
@Suite struct StreetNetworkTests {
    private let folder: TemporaryPlace

    init() throws { self.folder = try TemporaryPlace() }

    /// A square of four streets, 500 m from south to north and 370 m from west to east. The southern one has `tags`.
    private func square(_ tags: [String: String]) throws -> StreetNetwork {
        let (a, b, c, d) = ((48.0, 16.0), (48.0, 16.005), (48.0045, 16.005), (48.0045, 16.0))
        return try Town.network(
            [
                TestStreet(places: [a, b], tags: tags), TestStreet(places: [b, c]), TestStreet(places: [c, d]),
                TestStreet(places: [d, a]),
            ], in: self.folder)
    }

    private func meters(_ network: StreetNetwork, _ vehicle: Vehicle?, isReversed: Bool = false) throws -> Double? {
        let places = [try place(48.0, 16.001), try place(48.0, 16.004)]
        return network.route(through: isReversed ? places.reversed() : places, by: vehicle)?.meters
    }

    @Test func `a one-way street is used in its direction by vehicles, and in both on foot`() throws {
        let network = try self.square(["highway": "residential", "oneway": "yes"])
        for vehicle in [Vehicle.car, .truck, .moped, .bicycle] {
            #expect(try abs(#require(try self.meters(network, vehicle)) - 223) < 3)
            #expect(try #require(try self.meters(network, vehicle, isReversed: true)) > 1_300)
        }
        #expect(try abs(#require(try self.meters(network, .foot, isReversed: true)) - 223) < 3)
        let opposite = try self.square(["highway": "residential", "oneway": "-1"])
        #expect(try #require(try self.meters(opposite, .car)) > 1_300)
        #expect(try abs(#require(try self.meters(opposite, .car, isReversed: true)) - 223) < 3)
        let contraflow = try self.square(["highway": "residential", "oneway": "yes", "oneway:bicycle": "no"])
        #expect(try abs(#require(try self.meters(contraflow, .cargoBike, isReversed: true)) - 223) < 3)
        #expect(try #require(try self.meters(contraflow, nil, isReversed: true)) > 1_300)
    }

    @Test(arguments: [
        (["highway": "footway"], [Vehicle.foot]), (["highway": "steps"], [.foot]),
        (["highway": "cycleway"], [.foot, .bicycle, .cargoBike]),
        (["highway": "motorway", "oneway": "no"], [.car, .van, .truck]),
        (["highway": "residential", "access": "private"], []),
        (["highway": "residential", "access": "no", "bicycle": "yes"], [.bicycle, .cargoBike]),
        (["highway": "residential", "motor_vehicle": "no"], [.foot, .bicycle, .cargoBike]),
        (["highway": "footway", "bicycle": "yes"], [.foot, .bicycle, .cargoBike]),
        (["highway": "residential", "bicycle": "no"], [.foot, .moped, .car, .van, .truck]),
        (["highway": "residential"], Vehicle.allCases), (["class": "minor"], Vehicle.allCases), ([:], Vehicle.allCases),
        (["highway": "construction"], []), (["railway": "tram"], []), (["class": "rail"], []),
    ]) func `a street is used by the vehicles that its tags allow`(tags: [String: String], allowed: [Vehicle]) throws {
        let rule = StreetRule(tags: tags)
        for vehicle in Vehicle.allCases {
            let isAllowed = rule.map { TravelCosts(vehicle).allows($0.bits, backward: 0) } ?? false
            #expect(isAllowed == allowed.contains(vehicle), "\(vehicle)")
        }
    }

    @Test(arguments: [
        "psv", "bus", "taxi", "permit", "agricultural", "forestry", "military", "emergency", "private", "no",
        "agricultural;forestry", "bus; taxi",
    ]) func `a street for a closed group is open to cars only by a more specific key`(group: String) {
        func allowed(_ tags: [String: String]) -> [Vehicle] {
            let rule = StreetRule(tags: tags.merging(["highway": "residential"]) { $1 })
            return Vehicle.allCases.filter { vehicle in
                rule.map { TravelCosts(vehicle).allows($0.bits, backward: 0) } ?? false
            }
        }
        let motor = [Vehicle.moped, .car, .van, .truck]
        #expect(allowed(["access": group]) == [])
        #expect(allowed(["vehicle": group]) == [.foot])
        for key in ["motor_vehicle", "motorcar"] {
            #expect(allowed([key: group]) == [.foot, .bicycle, .cargoBike])
            #expect(allowed(["access": group, key: "yes"]) == motor)
            #expect(allowed(["access": group, key: "\(group);destination"]) == motor)
        }
        #expect(Set(allowed(["access": group, "vehicle": "yes"])) == Set(motor + [.bicycle, .cargoBike]))
        #expect(allowed(["access": "yes", "motor_vehicle": group]) == [.foot, .bicycle, .cargoBike])
        // A footway is not built for cars, so a general key does not open it.
        #expect(
            StreetRule(tags: ["highway": "footway", "vehicle": "yes"]).map {
                TravelCosts(.car).allows($0.bits, backward: 0)
            } == false)
    }

    @Test(arguments: [
        ("no", true), ("private", true), ("destination", true), ("delivery", true), ("agricultural", true),
        ("yes", false), ("designated", false), ("unknown", false),
    ]) func `a street without trucks is slow for trucks, and open to them`(hgv: String, isSlow: Bool) throws {
        let rule = try #require(StreetRule(tags: ["highway": "residential", "hgv": hgv])).bits
        #expect(TravelCosts(.truck).allows(rule, backward: 0))
        #expect((TravelCosts(.truck).slow & rule != 0) == isSlow && TravelCosts(.van).slow & rule == 0)
    }

    @Test(arguments: [
        ["power": "line"], ["natural": "coastline"], ["barrier": "wall"], ["boundary": "administrative"],
        ["building": "yes", "name": "Hall"], ["landuse": "forest"], ["man_made": "pipeline"], ["route": "ferry"],
        ["aeroway": "runway"], ["leisure": "track"], ["waterway": "river"], ["railway": "rail", "class": "street"],
        ["class": "unknown", "power": "cable"],
    ]) func `a line with a key of another feature is not a street`(tags: [String: String]) {
        #expect(RoadClass(line: tags) == nil && StreetRule(tags: tags) == nil)
    }

    @Test(
        arguments: [
            (["highway": "residential", "barrier": "kerb"], .residential),
            (["class": "primary", "place": "Graz"], .primary),
            (["kind": "street", "building": "yes"], .street), (["building": "no"], .street),
            (["emergency": "yes"], .street),
            (["name": "Main Street", "lanes": "2", "surface": "asphalt"], .street), ([:], .street),
        ] as [([String: String], RoadClass)])
    func `a line with the class of a street, or without a key of another feature, is a street`(
        tags: [String: String], road: RoadClass
    ) { #expect(RoadClass(line: tags) == road) }

    @Test(arguments: [
        ("50", 50), ("30 mph", 48), ("none", 0), ("walk", 7), ("DE:urban", 50), ("9999", 0), ("-5", 0), ("", 0),
        ("signals", 0), ("AT:living_street", 7),
    ]) func `a speed limit has many spellings`(text: String, limit: UInt8) {
        #expect(StreetRule(tags: ["highway": "primary", "maxspeed": text])?.limit == limit)
    }

    @Test func `a street for local traffic is used only to reach places in it`() throws {
        let network = try self.square(["highway": "residential", "motor_vehicle": "destination"])
        let (west, east) = (try place(48.002, 16.0), try place(48.002, 16.005))
        // The way around the north is a little longer, but a car would be slower through the local street.
        let around = try #require(network.route(through: [west, east], by: .car))
        let through = try #require(network.route(through: [west, east], by: .foot))
        #expect(around.meters > through.meters)
        #expect(try self.meters(network, .car) != nil)
    }

    @Test func `a route passes through all its places, and its line starts and ends on the street`() throws {
        let network = try self.square(["highway": "residential"])
        let places = [try place(48.0001, 16.001), try place(48.0045, 16.0025), try place(47.9999, 16.002)]
        let route = try #require(network.route(through: places, by: .bicycle))
        let (first, last) = (try #require(route.line.first), try #require(route.line.last))
        #expect(abs(first.latitude - 48) < 1e-6 && abs(first.longitude - 16.001) < 1e-5)
        #expect(abs(last.latitude - 48) < 1e-6 && abs(last.longitude - 16.002) < 1e-5)
        #expect(route.line.contains { abs($0.latitude - 48.0045) < 1e-6 && abs($0.longitude - 16.0025) < 1e-5 })
        let sum = zip(route.line, route.line.dropFirst()).reduce(0) {
            $0 + StreetPoint($1.0).meters(to: StreetPoint($1.1))
        }
        #expect(abs(sum - route.meters) < 1)
        // Some 15 km/h.
        #expect((3.0...5.0).contains(route.meters / route.seconds))
        let none = try #require(network.route(through: [places[0], places[0]], by: .car))
        #expect(none.seconds == 0 && none.meters == 0 && none.line.count == 1)
    }

    @Test func `a place far from streets has no route, and one on an island starts on the mainland`() throws {
        let island = TestStreet(places: [(48.001, 16.0065), (48.002, 16.0065)])
        let (a, b, c, d) = ((48.0, 16.0), (48.0, 16.005), (48.0045, 16.005), (48.0045, 16.0))
        let streets = [[a, b], [b, c], [c, d], [d, a]].map { TestStreet(places: $0) }
        // A street that can be entered but not left.
        let trap = TestStreet(places: [d, (48.006, 16.0)], tags: ["highway": "residential", "oneway": "yes"])
        let network = try Town.network(streets + [island, trap], in: self.folder)
        let route = try #require(
            network.route(through: [try place(48.0015, 16.0066), try place(48.0, 16.001)], by: .car))
        #expect(abs(try #require(route.line.first).longitude - 16.005) < 1e-6)
        let left = try #require(network.route(through: [try place(48.0058, 16.0), try place(48.0, 16.001)], by: .car))
        #expect(abs(try #require(left.line.first).latitude - 48.0045) < 1e-6)
        #expect(network.route(through: [try place(48.02, 16.0), try place(48.0, 16.001)], by: .car) == nil)
        #expect(network.route(through: [try place(48.0, 16.001)], by: .car) == nil)
    }

    @Test func `streets near a place are listed by distance`() throws {
        let network = try self.square(["highway": "footway"])
        let here = try place(48.0003, 16.001)
        let all = network.segments(near: here, within: 100, atMost: 10, for: nil)
        #expect(all.count == 2 && all[0].meters < all[1].meters)
        #expect(abs(all[0].meters - 33.4) < 0.5 && abs(all[0].place.latitude - 48) < 1e-6)
        #expect(network.segments(near: here, within: 100, atMost: 1, for: nil).count == 1)
        // The footway is not for cars.
        #expect(network.segments(near: here, within: 100, atMost: 10, for: .car).count == 1)
        #expect(network.segments(near: here, within: 10, atMost: 10, for: nil).isEmpty)
        #expect(network.segments(near: here, within: .nan, atMost: 10, for: nil).isEmpty)
        #expect(network.segments(near: here, within: .infinity, atMost: 10, for: nil).count == 4)
    }

    @Test(arguments: 1...5) func `distances equal those of the shortest paths`(_ seed: UInt64) throws {
        let network = try Town.network(Town.random(seed: seed, rows: 6, columns: 6), in: self.folder)
        let graph = network.graph
        var random = Seeded(state: seed)
        let positions = (0..<12).map { _ in
            let edge = Int.random(in: 0..<graph.edges.count, using: &random)
            return StreetPosition(
                edge: UInt32(edge), metersAlong: .random(in: 0...graph.meters(of: edge), using: &random))
        }
        for vehicle in [Vehicle.foot, .car, nil] {
            for from in positions.prefix(4) {
                let all = network.distances(from: from, to: positions, within: 10_000, for: vehicle)
                let short = network.distances(from: from, to: positions, within: 400, for: vehicle)
                for (index, length) in all.enumerated() {
                    // One search for all places gives the same results as one search for each.
                    let alone = network.distances(from: from, to: [positions[index]], within: 10_000, for: vehicle)[0]
                    #expect(alone == length)
                    #expect(short[index] == length.flatMap { $0 <= 400 ? $0 : nil })
                    let straight = graph.point(on: Int(from.edge), metersAlong: from.metersAlong).meters(
                        to: graph.point(on: Int(positions[index].edge), metersAlong: positions[index].metersAlong))
                    #expect(length.map { $0 >= straight - 0.5 } ?? true)
                }
                #expect(all[positions.firstIndex(of: from) ?? 0] == 0)
            }
        }
        let foreign = StreetPosition(edge: .max, metersAlong: .nan)
        #expect(network.distances(from: foreign, to: positions, within: 1_000, for: nil).allSatisfy { $0 == nil })
        #expect(network.distances(from: positions[0], to: [foreign], within: 1_000, for: nil) == [nil])
    }

    @Test func `the map has the class, the name and the line of streets, within its size`() throws {
        let network = try Town.network(
            [
                TestStreet(
                    places: [(48, 16), (48, 16.005), (48, 16.01)], tags: ["highway": "primary", "name": "A \"B\" \\"]),
                TestStreet(places: [(48, 16.005), (48.005, 16.005)]),
            ], in: self.folder)
        struct Map: Decodable {
            struct Feature: Decodable {
                struct Geometry: Decodable {
                    var type: String
                    var coordinates: [[Double]]
                }
                var properties: [String: String]
                var geometry: Geometry
            }
            var attribution: String
            var features: [Feature]
        }
        let map = try JSONDecoder().decode(Map.self, from: Data(network.map()))
        #expect(map.attribution == "© the town" && map.features.count == 2)
        #expect(map.features[0].properties == ["class": "major", "name": "A \"B\" \\"])
        let line = map.features[0].geometry
        #expect(line.type == "LineString" && Set(line.coordinates) == [[16, 48], [16.005, 48], [16.01, 48]])
        #expect(map.features[1].properties == ["class": "minor"])
        let main = try JSONDecoder().decode(Map.self, from: Data(network.map(maxBytes: 250)))
        #expect(main.features.map(\.properties["class"]) == ["major"])
        #expect(network.map(maxBytes: 250).count <= 250)
        let none = try JSONDecoder().decode(Map.self, from: Data(network.map(maxBytes: 10)))
        #expect(none.features.isEmpty)
    }
}
