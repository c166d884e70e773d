import EnrouteWire
import Testing

@testable import Jobs

/// Where a zone is, from the places of its riders and jobs.
@Suite struct ZoneExtentTests {
    private static let zone = ZoneID("rome")!

    private static func place(_ latitude: Double, _ longitude: Double) -> Coordinate {
        Coordinate(latitude: latitude, longitude: longitude)!
    }

    private static func around(_ latitude: Double, _ longitude: Double, count: Int) -> [Coordinate] {
        (0..<count).map { Self.place(latitude + Double($0) * 0.002, longitude - Double($0) * 0.003) }
    }

    private static func fault(
        _ places: [Coordinate], _ latitude: Double, _ longitude: Double, bound: Int = 200
    ) throws -> String? {
        try #require(ZoneExtent(of: places)).fault(
            of: Self.place(latitude, longitude), "destination", in: Self.zone, bound: bound)
    }

    @Test func `a zone with fewer than three known places accepts everything`() {
        #expect(ZoneExtent(of: []) == nil)
        #expect(ZoneExtent(of: Self.around(41.9, 12.5, count: 2)) == nil)
        #expect(ZoneExtent(of: Self.around(41.9, 12.5, count: 3)) != nil)
    }

    @Test func `a distant place is refused with the distance, the limit and what to check`() throws {
        let rome = Self.around(41.9, 12.5, count: 5)
        #expect(try Self.fault(rome, 42.5, 12.1) == nil)
        let sydney = try #require(try Self.fault(rome, -33.9, 151.2))
        #expect(sydney.contains("km from the riders and jobs of zone rome; at most 200 km is accepted"))
        #expect(sydney.hasSuffix("Check lat, lon and zone."))
        #expect(try Self.fault(rome, -33.9, 151.2, bound: 0) == nil)
    }

    @Test func `swapped coordinates are recognized if the swapped place is in the zone`() throws {
        let fault = try #require(try Self.fault(Self.around(41.9, 12.5, count: 3), 12.5, 41.9))
        #expect(fault.contains("Latitude and longitude seem to be swapped"))
    }

    @Test func `one wrong place among three does not move the zone`() throws {
        let places = Self.around(41.9, 12.5, count: 2) + [Self.place(12.5, 41.9)]
        #expect(try Self.fault(places, 41.95, 12.4) == nil)
        #expect(try Self.fault(places, 12.5, 41.9) != nil)
    }

    @Test func `a zone of two cities accepts jobs in both, and none elsewhere`() throws {
        let places = Self.around(52.5, 13.4, count: 16) + Self.around(48.1, 11.6, count: 4)
        #expect(try Self.fault(places, 52.4, 13.3) == nil)
        #expect(try Self.fault(places, 48.2, 11.5) == nil)
        #expect(try Self.fault(places, 13.4, 52.5) != nil)
    }

    @Test func `a zone of a country accepts the whole country`() throws {
        let places = (0..<30).map { Self.place(33 + Double($0 % 5) * 3, -118 + Double($0) * 1.5) }
        #expect(try Self.fault(places, 25.8, -80.2) == nil)
        #expect(try Self.fault(places, 47.6, -122.3) == nil)
        #expect(try Self.fault(places, -33.9, 151.2) != nil)
    }

    @Test func `a zone on the date line is in one piece`() throws {
        let places = [179.9, -179.9, 179.8, -179.8].map { Self.place(-16.5, $0) }
        #expect(try Self.fault(places, -16.6, -179.7) == nil)
        #expect(try Self.fault(places, -16.6, 179.6) == nil)
        #expect(try Self.fault(places, -16.6, 0.1) != nil)
    }
}
