import EnrouteWire
import TestSupport
import Testing
import Tracking

@testable import ETA
@testable import Routing

/// The route ahead of one rider between two calculations.
@Suite struct HeldRouteTests {
    private static let way = ProviderFixtures.way.map { Coordinate(latitude: $0.0, longitude: $0.1)! }
    private static let door = way[4]
    private static let second: UInt64 = 1_000_000_000
    private static let epoch: Int64 = 1_795_000_000_000

    private static func ns(_ seconds: Int) -> UInt64 { UInt64(seconds + 1000) * self.second }

    private static func fix(_ place: Coordinate, at seconds: Int) -> Fix {
        Fix(at: self.epoch + Int64(seconds) * 1000, place: place)
    }

    private static func route() throws -> SourcedRoute {
        SourcedRoute(
            answer: try RouteAnswer(seconds: 600, meters: 8000, knowsTraffic: false, line: self.way), source: .osrm)
    }

    private static func calculate(
        _ arrival: inout FollowedArrival, _ seconds: Int, by route: SourcedRoute?
    ) -> ArrivalEstimate? {
        let wall = self.epoch + Int64(seconds) * 1000
        guard case .calculate(let calculation) = arrival.next(now: self.ns(seconds), wall: wall) else { return nil }
        return arrival.finish(calculation, by: route, now: self.ns(seconds), wall: wall)
    }

    private static func arrival(before: [Coordinate?] = []) -> FollowedArrival {
        var arrival = FollowedArrival(
            rider: PersonID("rider-1")!, destination: self.door, bounds: ArrivalSettings().bounds())
        arrival.before = before
        return arrival
    }

    @Test func `the route begins at the rider and ends at the destination`() throws {
        var arrival = Self.arrival()
        let start = Coordinate(latitude: 48.187, longitude: 16.3773)!
        arrival.observe(Self.fix(start, at: 0), now: Self.ns(0))
        let eta = try #require(Self.calculate(&arrival, 0, by: try Self.route()))
        let line = try #require(eta.route?.line)
        #expect(line.nearest(to: start).along < 30 && line.nearest(to: Self.way[0]).away > 200)
        #expect(line.nearest(to: Self.door).away < 2)
        #expect(try #require(eta.route).seconds < 600)
    }

    @Test func `new followers receive what is still ahead`() throws {
        var arrival = Self.arrival()
        arrival.observe(Self.fix(Self.way[0], at: 0), now: Self.ns(0))
        let eta = try #require(Self.calculate(&arrival, 0, by: try Self.route()))
        arrival.received(eta, now: Self.ns(0))
        arrival.observe(Self.fix(Self.way[2], at: 20), now: Self.ns(20))
        let shown = try #require(arrival.shown?.route)
        #expect(shown.meters < (eta.route?.meters ?? 0) - 1000)
        #expect(try #require(shown.line).nearest(to: Self.way[0]).away > 500)
    }

    @Test func `a rider who leaves the route by 80 m loses it, and the arrival is calculated sooner`() throws {
        var arrival = Self.arrival()
        arrival.observe(Self.fix(Self.way[0], at: 0), now: Self.ns(0))
        let eta = try #require(Self.calculate(&arrival, 0, by: try Self.route()))
        arrival.received(eta, now: Self.ns(0))
        let near = Coordinate(latitude: 48.187, longitude: 16.3778)!
        arrival.observe(Self.fix(near, at: 2), now: Self.ns(2))
        #expect(arrival.shown?.route != nil)
        let aside = Coordinate(latitude: 48.187, longitude: 16.3785)!
        arrival.observe(Self.fix(aside, at: 4), now: Self.ns(4))
        #expect(arrival.shown != nil && arrival.shown?.route == nil)
        let early = arrival.next(now: Self.ns(9), wall: Self.epoch + 9000)
        #expect(early == .wait)
        let again = try #require(Self.calculate(&arrival, 11, by: nil))
        #expect(again.state == .ok && again.route == nil)
    }

    @Test func `the built-in estimator keeps a route that the rider follows`() throws {
        var arrival = Self.arrival()
        arrival.observe(Self.fix(Self.way[0], at: 0), now: Self.ns(0))
        let eta = try #require(Self.calculate(&arrival, 0, by: try Self.route()))
        arrival.received(eta, now: Self.ns(0))
        arrival.observe(Self.fix(Self.way[1], at: 60), now: Self.ns(60))
        let again = try #require(Self.calculate(&arrival, 60, by: nil))
        #expect(again.source == "built_in" && again.route != nil)
        #expect((again.route?.meters ?? 0) < (eta.route?.meters ?? 0))
    }

    @Test func `a route over another stop is not shown once the stop is done`() throws {
        var arrival = Self.arrival(before: [Self.way[2]])
        arrival.observe(Self.fix(Self.way[0], at: 0), now: Self.ns(0))
        let eta = try #require(Self.calculate(&arrival, 0, by: try Self.route()))
        #expect(eta.stopsBefore == 1 && eta.route != nil && eta.forCustomers.route == nil)
        arrival.received(eta, now: Self.ns(0))
        arrival.before = []
        arrival.observe(Self.fix(Self.way[1], at: 60), now: Self.ns(60))
        let again = try #require(Self.calculate(&arrival, 60, by: nil))
        #expect(again.stopsBefore == nil && again.route == nil)
    }

    @Test func `the route is removed with the rider's positions and with another destination`() throws {
        for change in 0..<2 {
            var arrival = Self.arrival()
            arrival.observe(Self.fix(Self.way[0], at: 0), now: Self.ns(0))
            let eta = try #require(Self.calculate(&arrival, 0, by: try Self.route()))
            arrival.received(eta, now: Self.ns(0))
            #expect(arrival.shown?.route != nil)
            if change == 0 { arrival.ended() } else { arrival.setDestination(Self.way[3]) }
            #expect(arrival.shown == nil)
        }
    }

    @Test func `a late result for the former destination does not replace that for the new one`() throws {
        var arrival = Self.arrival()
        arrival.observe(Self.fix(Self.way[0], at: 0), now: Self.ns(0))
        guard case .calculate(let former) = arrival.next(now: Self.ns(0), wall: Self.epoch) else {
            Issue.record("no calculation")
            return
        }
        arrival.setDestination(Self.way[3])
        let eta = try #require(Self.calculate(&arrival, 1, by: nil))
        arrival.received(eta, now: Self.ns(1))
        let late = arrival.finish(former, by: try Self.route(), now: Self.ns(2), wall: Self.epoch + 2000)
        #expect(late == nil && arrival.shown == eta)
    }

    @Test func `a result after the timeout is ignored, although the previous arrival time is still valid`() throws {
        var arrival = Self.arrival()
        arrival.observe(Self.fix(Self.way[0], at: 0), now: Self.ns(0))
        let eta = try #require(Self.calculate(&arrival, 0, by: nil))
        arrival.received(eta, now: Self.ns(0))
        arrival.observe(Self.fix(Self.way[0], at: 60), now: Self.ns(60))
        guard case .calculate(let slow) = arrival.next(now: Self.ns(60), wall: Self.epoch + 60_000) else {
            Issue.record("no calculation")
            return
        }
        let waiting = arrival.next(now: Self.ns(71), wall: Self.epoch + 71_000)
        #expect(waiting == .wait)
        let late = arrival.finish(slow, by: try Self.route(), now: Self.ns(72), wall: Self.epoch + 72_000)
        #expect(late == nil && arrival.shown == eta)
    }

    @Test func `a line that leads to another place is not a route of the job`() throws {
        let far = Coordinate(latitude: 48.3, longitude: 16.5)!
        let answer = try Self.route().answer
        #expect(HeldRoute(answer, from: Self.way[0], to: far, stopsBefore: nil) == nil)
        #expect(HeldRoute(answer, from: far, to: Self.door, stopsBefore: nil) == nil)
    }
}
