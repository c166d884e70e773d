import TestSupport
import Testing

@testable import EnrouteWire

/// Lines along streets: as text, their lengths, the part that is ahead, and the part that customers may see.
@Suite struct RouteLineTests {
    private static let rome = Coordinate(latitude: 41.9, longitude: 12.5)!

    /// A place these meters north and east of Rome.
    private static func place(_ north: Double, _ east: Double = 0) -> Coordinate {
        Coordinate(latitude: 41.9 + north / 111_195.08, longitude: 12.5 + east / 82_764)!
    }

    private static let bend = RouteLine([place(0), place(200), place(200, 100)])!

    @Test func `the example of Google's description is encoded and decoded`() throws {
        let places = [(38.5, -120.2), (40.7, -120.95), (43.252, -126.453)].map {
            Coordinate(latitude: $0.0, longitude: $0.1)!
        }
        #expect(EncodedPolyline.text(places) == "_p~iF~ps|U_ulLnnqC_mqNvxq`@")
        #expect(EncodedPolyline.line("_p~iF~ps|U_ulLnnqC_mqNvxq`@", most: 3) == places)
        #expect(EncodedPolyline.line("_p~iF~ps|U_ulLnnqC_mqNvxq`@", most: 2) == nil)
    }

    @Test(arguments: 0..<50 as Range<UInt64>)
    func `any line survives encoding with 5 decimals, and random text never traps`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let places = (0..<50).map { _ in
            Coordinate(
                latitude: Double.random(in: -90...90, using: &generator).rounded(),
                longitude: Double.random(in: 1...180, using: &generator).rounded())!
        }
        #expect(EncodedPolyline.line(EncodedPolyline.text(places), most: 50) == places)
        let bytes = (0..<40).map { _ in UInt8.random(in: 50...127, using: &generator) }
        _ = EncodedPolyline.line(String(decoding: bytes, as: UTF8.self), most: 50)
    }

    @Test(arguments: ["_p~iF", "_p~iF~ps|U_", "~~~~~~~~~~~~~~", "é", "_p~iF ~ps|U", "??", "_gsia@???"])
    func `malformed text is not a line`(text: String) {
        #expect(EncodedPolyline.line(text, most: 100) == nil)
    }

    @Test func `the nearest point has its distances from the start of the line and from the place`() throws {
        #expect(abs(Self.bend.meters - 300) < 1)
        let spot = Self.bend.nearest(to: Self.place(50, 12))
        #expect(abs(spot.along - 50) < 0.5 && abs(spot.away - 12) < 0.5)
        #expect(Self.bend.places(from: spot).count == 3 && Self.bend.places(to: spot).count == 2)
    }

    @Test func `places within the tolerance are left out, and the ends stay`() throws {
        let line = try #require(
            RouteLine([Self.place(0), Self.place(50, 3), Self.place(100), Self.place(200), Self.place(200, 100)]))
        #expect(line.simplified(tolerance: 5) == [Self.place(0), Self.place(200), Self.place(200, 100)])
        #expect(line.simplified(tolerance: 1).count == 5)
    }

    @Test func `a route of hundreds of bends fits into 1,500 bytes`() throws {
        let places = (0..<600).map { Self.place(Double($0) * 35, $0.isMultiple(of: 2) ? 40 : 0) }
        let line = try #require(RouteLine(places))
        let route = try #require(RemainingRoute(line, seconds: 600))
        #expect(route.polyline.utf8.count <= RemainingRoute.longestPolyline)
        #expect(try #require(route.line).places.count <= RemainingRoute.maxPlaces)
        let eta = ArrivalEstimate(state: .ok, arrivesAt: 1, seconds: 1, at: 1, route: route)
        #expect(ServerMessage.eta(job: JobID("j")!, eta).encoded.count < RelayedMessage.longest)
    }

    @Test func `only the part ahead of the rider remains, and nothing for a rider who has left the line`() throws {
        let route = try #require(RemainingRoute(Self.bend, seconds: 60))
        let rest = try #require(route.ahead(of: Self.place(150, 10)))
        #expect(rest.meters == 150 && rest.seconds == 30)
        #expect(try #require(rest.line).nearest(to: Self.rome).away > 140)
        #expect(route.ahead(of: Self.place(100, -90)) == nil)
        #expect(try #require(route.ahead(of: Self.place(200, 100))).meters == 0)
    }

    /// 500 m east, and back 12 m beside it.
    private static let thereAndBack = RouteLine([place(0), place(0, 500), place(12, 500), place(12)])!

    @Test func `where a line leads there and back, the previous position decides which pass is chosen`() {
        // The receiver is off by 8 m, toward the other pass.
        #expect(abs(Self.thereAndBack.nearest(to: Self.place(8, 300), near: 250).along - 300) < 1)
        #expect(abs(Self.thereAndBack.nearest(to: Self.place(4, 300), near: 650).along - 712) < 1)
        #expect(abs(Self.thereAndBack.nearest(to: Self.place(8, 300), near: 0).along - 300) < 1)
        // If both passes are far from the previous position, the nearer one counts, so a rider on the line has never
        // left it.
        let long = RouteLine([Self.place(0), Self.place(0, 9000), Self.place(75, 9000), Self.place(75)])!
        #expect(long.nearest(to: Self.place(75), near: 0).away < 1)
    }

    @Test func `a rider who turns at the end of the line is on its way back, however rarely there are positions`() {
        let line = RouteLine([Self.place(0), Self.place(0, 1000), Self.place(0)])!
        for (step, offset) in [(20.0, 0.0), (70, 35), (100, 1), (100, 99), (150, 75)] {
            var (along, driven) = (0.0, offset)
            while driven < 2000 {
                let east = driven <= 1000 ? driven : 2000 - driven
                along = line.nearest(to: Self.place(0, east), near: along).along
                driven += step
            }
            #expect(abs(along - (driven - step)) < 1, "a position every \(step) m, first at \(offset) m")
        }
    }

    @Test func `on a line there and back, a snapshot contains the part that is ahead at the speed of the estimate`()
        throws
    {
        let route = try #require(RemainingRoute(Self.thereAndBack, seconds: 101))
        let eta = ArrivalEstimate(state: .ok, arrivesAt: 101_000, seconds: 101, at: 0, route: route)
        let out = try #require(eta.ahead(of: Self.place(8, 300), at: 30_000).route)
        let back = try #require(eta.ahead(of: Self.place(4, 300), at: 71_000).route)
        #expect(abs(out.meters - 712) < 2 && abs(back.meters - 300) < 2)
    }

    @Test func `customers do not see the route to the stops before theirs`() {
        let route = RemainingRoute(Self.bend, seconds: 60)
        let direct = ArrivalEstimate(state: .ok, arrivesAt: 1, seconds: 1, at: 1, route: route)
        let later = ArrivalEstimate(state: .ok, arrivesAt: 1, seconds: 1, at: 1, stopsBefore: 1, route: route)
        #expect(direct.forCustomers == direct && later.forCustomers.route == nil)
        #expect(later.forCustomers.arrivesAt == 1 && direct.ahead(of: nil, at: 1).route == nil)
    }

    @Test func `a route is redacted in logs`() {
        let eta = ArrivalEstimate(
            state: .ok, arrivesAt: 1, seconds: 1, at: 1, route: RemainingRoute(Self.bend, seconds: 60))
        var dumped = ""
        dump(eta, to: &dumped)
        let polyline = eta.route?.polyline ?? "?"
        #expect(!dumped.contains(polyline) && !"\(eta)".contains(polyline) && !"\(eta)".contains("41.9"))
    }
}
