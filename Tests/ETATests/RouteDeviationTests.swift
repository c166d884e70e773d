import EnrouteWire
import Routing
import Testing
import Tracking

@testable import ETA
@testable import Routing

/// When a rider with a known route deviates from it, the next estimate, and when a provider is queried again.
@Suite struct RouteDeviationTests {
    private static let epoch: Int64 = 1_795_000_000_000
    private static let bounds = ArrivalSettings().bounds()

    /// A place these meters north and east of the destination.
    private static func place(_ north: Double, _ east: Double = 0) -> Coordinate {
        Coordinate(latitude: 41.91 + north / 111_195.08, longitude: 12.5 + east / 82_751)!
    }

    private static let door = place(0)
    /// A line from 1 km south of the destination, over a bridge 4 km east of it: 9 km long.
    private static let bridge = [place(-1000), place(-1000, 4000), place(0, 4000), door]

    /// The place on a line after some meters.
    private static func along(_ line: [Coordinate], _ meters: Double) -> Coordinate {
        var rest = meters
        for (from, to) in zip(line, line.dropFirst()) {
            let length = Point(from).meters(to: Point(to))
            if rest <= length {
                let share = rest / length
                return Coordinate(
                    latitude: from.latitude + (to.latitude - from.latitude) * share,
                    longitude: from.longitude + (to.longitude - from.longitude) * share)!
            }
            rest -= length
        }
        return line[line.count - 1]
    }

    /// A rider with a position every second, and one loop that follows it.
    private struct Trip {
        var arrival = FollowedArrival(
            rider: PersonID("rider-1")!, destination: RouteDeviationTests.door, bounds: RouteDeviationTests.bounds)
        var second = 0
        /// The lease of Redis, in seconds.
        var leasedUntil = 0
        /// The response of a provider; `nil` if it fails.
        var answer: (Coordinate) -> SourcedRoute? = { _ in nil }
        /// When a provider was queried, why calculations started, and what was published.
        var asked: [Int] = []
        var reasons: [Int: ArrivalTime.Calculation.Reason] = [:]
        var published: [Int: ArrivalEstimate] = [:]

        var now: UInt64 { UInt64(self.second + 1000) * 1_000_000_000 }
        var wall: Int64 { RouteDeviationTests.epoch + Int64(self.second) * 1000 }

        mutating func pass(_ seconds: Int, at place: (Int) -> Coordinate) {
            for _ in 0..<seconds {
                self.arrival.observe(Fix(at: self.wall, place: place(self.second)), now: self.now)
                self.calculate(from: place(self.second))
                self.second += 1
            }
        }

        private mutating func calculate(from place: Coordinate) {
            guard case .calculate(let calculation) = self.arrival.next(now: self.now, wall: self.wall) else { return }
            self.reasons[self.second] = calculation.reason
            var route: SourcedRoute?
            if FollowedArrival.isShared(calculation) {
                let isOurs = self.second >= self.leasedUntil
                if isOurs { self.leasedUntil = self.second + 58 }
                switch self.arrival.turn(calculation, isOurs: isOurs, now: self.now) {
                case .cede: return
                case .estimate: break
                case .ask:
                    self.asked.append(self.second)
                    route = self.answer(place)
                }
            }
            let found = self.arrival.finish(calculation, by: route, now: self.now, wall: self.wall)
            guard let found else { return }
            self.published[self.second] = found
            self.arrival.received(found, now: self.now)
        }
    }

    /// A provider that knows the route from any place of a line, at 10 m/s.
    private static func osrm(_ line: [Coordinate], from start: Coordinate) -> SourcedRoute? {
        guard let whole = RouteLine(line) else { return nil }
        let rest = whole.places(from: whole.nearest(to: start))
        guard let meters = RouteLine(rest)?.meters,
            let answer = try? RouteAnswer(seconds: meters / 10, meters: meters, knowsTraffic: false, line: rest)
        else { return nil }
        return SourcedRoute(answer: answer, source: .osrm)
    }

    @Test func `a rider on a route that first leads away from the destination has not deviated`() {
        var trip = Trip()
        trip.answer = { Self.osrm(Self.bridge, from: $0) }
        trip.pass(400) { Self.along(Self.bridge, Double($0) * 10) }
        #expect(trip.reasons.values.allSatisfy { $0 == .due }, "\(trip.reasons)")
        #expect(trip.published.values.allSatisfy { $0.source == "osrm" } && trip.published.count == 7)
    }

    @Test func `a rider who turns round has deviated, on a route or without one`() {
        var trip = Trip()
        trip.answer = { Self.osrm(Self.bridge, from: $0) }
        trip.pass(40) { Self.along(Self.bridge, 1000 + Double(min($0, 20) * 20 - max(0, $0 - 20) * 20)) }
        #expect(trip.reasons[33] == .deviation && trip.reasons.count == 2, "\(trip.reasons)")
        var without = Trip()
        without.pass(60) { Self.along(Self.bridge, 2000 + Double($0) * 10) }
        #expect(without.reasons.values.contains(.deviation), "\(without.reasons)")
    }

    @Test func `a rider whose route passes a place twice is located on the right pass`() {
        // 300 m out and back on the same street, then 500 m on.
        let line = [Self.place(-500), Self.place(-500, 300), Self.place(-500), Self.door]
        var trip = Trip()
        trip.answer = { _ in Self.osrm(line, from: line[0]) }
        trip.pass(55) { Self.along(line, Double($0) * 10) }
        #expect(Set(trip.reasons.keys) == [0], "\(trip.reasons)")
        // 540 m of 1,100 m are behind the rider, also in the route that a new follower receives.
        let meters = trip.arrival.shown?.route?.meters ?? 0
        #expect(abs(meters - 560) < 3, "\(meters)")
    }

    @Test func `a provider is queried when the interval is over, and not later because of a deviation`() {
        var trip = Trip()
        trip.answer = { Self.osrm([$0, Self.door], from: $0) }
        trip.pass(130) { Self.place(-6000 + Double($0) * 6, $0 < 45 ? 0 : min(200, Double($0 - 45) * 13)) }
        #expect(trip.reasons.values.filter { $0 == .deviation }.count == 1, "\(trip.reasons)")
        #expect(trip.asked == [0, 60, 120])
    }

    @Test func `after a provider has failed, the route that is still followed takes as long as the estimate says`()
        throws
    {
        var trip = Trip()
        trip.answer = { Self.osrm(Self.bridge, from: $0) }
        trip.pass(59) { Self.along(Self.bridge, Double($0) * 10) }
        trip.answer = { _ in nil }
        trip.pass(62) { Self.along(Self.bridge, Double($0) * 10) }
        for second in [60, 120] {
            let estimate = try #require(trip.published[second])
            #expect(estimate.source == "built_in" && estimate.route?.seconds == estimate.seconds, "\(second)")
            #expect(abs(Double(estimate.route?.meters ?? 0) - (9000 - Double(second) * 10)) < 20)
        }
    }

    @Test func `another vehicle is calculated at once, without the former route`() throws {
        var trip = Trip()
        trip.arrival.vehicle = .car
        trip.answer = { Self.osrm(Self.bridge, from: $0) }
        trip.pass(5) { Self.along(Self.bridge, Double($0) * 10) }
        #expect(trip.arrival.shown?.route != nil)
        trip.arrival.vehicle = .foot
        #expect(trip.arrival.shown != nil && trip.arrival.shown?.route == nil)
        trip.pass(6) { Self.along(Self.bridge, Double($0) * 10) }
        let again = try #require(trip.published[10])
        #expect(again.source == "built_in" && again.route == nil)
        var walker = TravelEstimator(vehicle: .foot)
        for second in 0...10 {
            walker.observe(
                Reading(Fix(at: Self.epoch + Int64(second) * 1000, place: Self.along(Self.bridge, Double(second) * 10)))
            )
        }
        let expected = try #require(walker.seconds(to: Point(Self.door)))
        #expect(abs(Double(again.seconds ?? 0) - expected) <= 1)
    }

    @Test(arguments: [0.0, 15])
    func `a rider who waits at the door is reported as about to arrive once a minute`(meters: Double) {
        var trip = Trip()
        trip.pass(300) { Self.place(min(-meters, -400 + Double($0) * 10)) }
        let last = trip.published.keys.filter { $0 > 60 }.sorted()
        #expect(last == [120, 180, 240], "\(trip.published.keys.sorted())")
        #expect(last.allSatisfy { trip.published[$0]?.seconds == 0 })
        // A rider that drives on soon has another arrival time.
        trip.pass(30) { Self.place(-Double($0 - 300) * 10) }
        #expect(trip.published.contains { $0.key > 300 && $0.value.seconds ?? 0 > 30 })
    }

    // MARK: close to the destination

    /// A provider that predicts slow traffic: 3 m/s on a straight line, with or without its line.
    private static func slow(from start: Coordinate, hasLine: Bool = true) -> SourcedRoute? {
        let meters = Point(start).meters(to: Point(self.door))
        let answer = try? RouteAnswer(
            seconds: max(1, meters) / 3, meters: max(1, meters), knowsTraffic: true,
            line: hasLine ? [start, self.door] : nil)
        return answer.map { SourcedRoute(answer: $0, source: .osrm) }
    }

    @Test(arguments: [true, false])
    func `a rider who is faster than predicted is about to arrive at the door, without a query`(hasProvider: Bool) {
        var trip = Trip()
        trip.arrival.vehicle = .car
        if hasProvider { trip.answer = { Self.slow(from: $0) } }
        // A jam, and then 12 m/s: within 150 m of the door after 41 s, and at the door after 53 s.
        let place = { (second: Int) in Self.place(min(0, -400 + Double(max(0, second - 20)) * 12)) }
        trip.pass(53, at: place)
        let shown = trip.published.max { $0.key < $1.key }
        let left = (shown?.value.arrivesAt ?? .max) - trip.wall
        #expect((0..<20_000).contains(left), "\(trip.published.mapValues { $0.seconds })")
        #expect(shown?.value.source == "built_in" && trip.reasons[shown?.key ?? 0] == .near)
        // The line stays as long as the rider follows it.
        #expect((shown?.value.route != nil) == hasProvider)
        #expect(trip.asked == [0])
        // At the door, nothing is sent more often than otherwise.
        trip.pass(120, at: place)
        #expect(trip.published.keys.filter { $0 > 60 }.sorted() == [120], "\(trip.published.keys.sorted())")
        #expect(trip.asked == [0, 60, 120])
    }

    @Test func `a rider on the other bank is not close, nor is one whose route leads past the destination`() {
        var bank = Trip()
        // Another gateway's estimate, whose line was too long to be published.
        bank.answer = { _ in
            (try? RouteAnswer(seconds: 900, meters: 9000, knowsTraffic: false)).map {
                SourcedRoute(answer: $0, source: .osrm)
            }
        }
        bank.pass(60) { Self.place(-100, Double($0)) }
        #expect(bank.reasons == [0: .due] && bank.published.count == 1)
        var past = Trip()
        let line = [Self.place(-300, 90), Self.place(300, 90), Self.place(300), Self.door]
        past.answer = { Self.osrm(line, from: $0) }
        past.pass(40) { Self.along(line, Double($0) * 10) }
        #expect(Set(past.reasons.values) == [.due], "\(past.reasons)")
    }

    @Test func `a rider who waits close to the destination does not cause messages`() {
        var trip = Trip()
        trip.answer = { Self.slow(from: $0) }
        trip.pass(30) { Self.place(-400 + Double($0) * 10) }
        trip.pass(29) { _ in Self.place(-110) }
        // Earlier arrivals were sent on the way, none while it waits.
        #expect(trip.published.keys.allSatisfy { $0 <= 40 }, "\(trip.published.keys.sorted())")
    }
}
