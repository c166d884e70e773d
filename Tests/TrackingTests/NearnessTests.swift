import EnrouteWire
import Testing

@testable import Tracking

/// When a rider counts as about two minutes away.
@Suite struct NearnessTests {
    private static let door = Point(latitude: 41.9, longitude: 12.5)

    /// Drives straight to the door, and returns the seconds before the arrival at which the rider was reported.
    private static func reports(_ vehicle: Vehicle?, metersPerSecond speed: Double, from meters: Double) -> [Double] {
        var (nearness, reports) = (Nearness(), [Double]())
        for second in 0..<Int(meters / speed) {
            let left = meters - Double(second) * speed
            let place = Point(latitude: door.latitude - left / 111_195, longitude: door.longitude)
            let reading = Reading(at: 1_800_000_000_000 + Int64(second) * 1000, point: place)
            let seconds = nearness.observe(
                reading, to: door, metersToGo: place.meters(to: door), vehicle: vehicle)
            if seconds != nil { reports.append(left / speed) }
        }
        return reports
    }

    @Test(arguments: [(Vehicle.car, 6.0), (.bicycle, 4.0), (.foot, 1.3)])
    func `a rider is reported when it is some two minutes away, and again every 15 s`(vehicle: Vehicle, speed: Double)
        throws
    {
        let reports = Self.reports(vehicle, metersPerSecond: speed, from: 3_000)
        let first = try #require(reports.first)
        #expect((30...240).contains(first), "\(first)")
        for (one, next) in zip(reports, reports.dropFirst()) { #expect(abs(one - next - 15) < 1.5) }
    }

    @Test func `a rider that is far away is never reported`() {
        var nearness = Nearness()
        let far = Point(latitude: 42.2, longitude: 12.5)
        #expect(
            nearness.observe(
                Reading(at: 1_800_000_000_000, point: far), to: Self.door, metersToGo: far.meters(to: Self.door),
                vehicle: .car) == nil)
    }
}
