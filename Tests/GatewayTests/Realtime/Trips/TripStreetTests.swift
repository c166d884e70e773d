import EnrouteWire
import Synchronization
import Testing

@testable import Realtime
@testable import Tracking

/// How often a report is matched to streets.
@Suite struct TripStreetTests {
    /// One street to the north. Counts the searches.
    private final class OneStreet: StreetSource {
        static let longitude = 12.5
        private let counted = Mutex(0)
        var searches: Int { self.counted.withLock { $0 } }

        func streets(
            near point: Point, within meters: Double, atMost: Int, for vehicle: Vehicle?
        ) -> [StreetCandidate] {
            self.counted.withLock { $0 += 1 }
            let onStreet = Point(latitude: point.latitude, longitude: Self.longitude)
            return [
                StreetCandidate(
                    edge: 1, metersAlong: (point.latitude - 41.9) * 111_195, point: onStreet,
                    meters: point.meters(to: onStreet))
            ]
        }

        func distances(
            from: StreetCandidate, to: [StreetCandidate], within meters: Double, for vehicle: Vehicle?
        ) -> [Double?] {
            to.map { abs($0.metersAlong - from.metersAlong) }
        }
    }

    private static let start: Int64 = 1_795_248_617_611

    /// A ride to the north, 4 m beside the street, one fix each second.
    private static func fixes(_ seconds: Range<Int>) -> [Fix] {
        seconds.map { second in
            Fix(
                at: self.start + Int64(second) * 1000,
                place: Coordinate(
                    latitude: 41.9 + Double(second) * 10 / 111_195, longitude: OneStreet.longitude + 4 / 82_800.0)!,
                accuracyMeters: 8)
        }
    }

    private static func shown(_ trip: inout TripState, _ seconds: Range<Int>) -> Fix? {
        let received = LocationValidator.Receipt(
            monotonic: UInt64(seconds.upperBound) * 1_000_000_000, wall: self.start + Int64(seconds.upperBound) * 1000)
        let report = trip.validate(self.fixes(seconds), received: received)
        guard case .publish(let fix) = report.verdict else { return nil }
        return fix
    }

    @Test func `of the 50 fixes of a report, only the newest are matched, and the last one is shown on its street`() {
        let street = OneStreet()
        var trip = TripState(bounds: .init(), streets: street)
        let fix = Self.shown(&trip, 0..<LocationReport.maxFixes)
        #expect(fix?.isSnapped == true && fix?.place.longitude == OneStreet.longitude)
        #expect(street.searches == ShownMovement.mostMatched)
    }

    @Test func `each fix of a rider who reports one by one is matched`() {
        let street = OneStreet()
        var trip = TripState(bounds: .init(), streets: street)
        for second in 0..<20 { #expect(Self.shown(&trip, second..<(second + 1)) != nil) }
        #expect(street.searches == 20)
    }

    @Test func `matching continues on the street of the last report with the newest fixes of the next one`() {
        let street = OneStreet()
        var trip = TripState(bounds: .init(), streets: street)
        for second in 0..<10 { _ = Self.shown(&trip, second..<(second + 1)) }
        let fix = Self.shown(&trip, 10..<40)
        #expect(fix?.isSnapped == true)
        #expect(street.searches == 10 + ShownMovement.mostMatched)
    }
}
