import EnrouteWire
import Foundation
import Testing

@testable import Tracking

/// Streets every 100 m, to the east and north of a corner; one edge for each side of a block.
private struct GridStreets: StreetSource {
    static let block = 100.0
    /// Blocks in each direction.
    static let size = 40
    var plane: LocalPlane { LocalPlane(Point(latitude: 41.9, longitude: 12.5)) }

    /// The two streets beside a place, and the next ones.
    func streets(near point: Point, within meters: Double, atMost: Int, for vehicle: Vehicle?) -> [StreetCandidate] {
        let place = self.plane.offset(of: point)
        var found: [StreetCandidate] = []
        for axis in 0...1 {
            let (along, across) = (place[axis], place[1 - axis])
            for line in Int((across / Self.block).rounded(.down))...Int((across / Self.block).rounded(.up)) {
                let block = Int((along / Self.block).rounded(.down))
                var onStreet = place
                onStreet[1 - axis] = Double(line) * Self.block
                let distance = abs(across - onStreet[1 - axis])
                guard distance <= meters, block >= 0, line >= 0 else { continue }
                found.append(
                    StreetCandidate(
                        edge: UInt32((axis * Self.size + line) * Self.size + block),
                        metersAlong: along - Double(block) * Self.block, point: self.plane.point(at: onStreet),
                        meters: distance))
            }
        }
        return Array(found.sorted { $0.meters < $1.meters }.prefix(atMost))
    }

    func distances(
        from: StreetCandidate, to: [StreetCandidate], within meters: Double, for vehicle: Vehicle?
    ) -> [Double?] {
        let start = self.plane.offset(of: from.point)
        return to.map { target in
            let away = self.plane.offset(of: target.point) - start
            let way = abs(away.x) + abs(away.y)
            return way <= meters ? way : nil
        }
    }
}

/// No streets at all.
private struct Nowhere: StreetSource {
    func streets(near: Point, within: Double, atMost: Int, for vehicle: Vehicle?) -> [StreetCandidate] { [] }
    func distances(
        from: StreetCandidate, to: [StreetCandidate], within: Double, for vehicle: Vehicle?
    ) -> [Double?] {
        []
    }
}

@Suite struct StreetMatcherTests {
    private static let streets = GridStreets()

    private static func fix(_ second: Int, _ east: Double, _ north: Double, accuracy: Double = 8) -> Fix {
        let point = Self.streets.plane.point(at: SIMD2(east, north))
        return Fix(
            at: Recordings.start + Int64(second) * 1000,
            place: Coordinate(latitude: point.latitude, longitude: point.longitude)!, accuracyMeters: accuracy)
    }

    /// The offset of a shown fix on the plane of the grid.
    private static func offset(_ fix: Fix) -> SIMD2<Double> { Self.streets.plane.offset(of: Point(fix.place)) }

    /// A drive of 600 m east and 300 m north, beside the middle of the streets and with noise.
    private static func drive(_ vehicle: Vehicle?, deviation: Double = 4) -> [(real: SIMD2<Double>, shown: Fix)] {
        var movement = ShownMovement(streets: Self.streets)
        movement.setVehicle(vehicle)
        var random = NoisyRide.Random(state: 7)
        return (0..<90).map { second in
            let way = Double(second) * 10
            let real = way <= 600 ? SIMD2(way + 20, 500) : SIMD2(620, way - 100)
            // The crossing is at 600 m, so only in the first part the last street is 20 m beside the true path.
            let onStreet = way <= 580 ? real : SIMD2(600, 500 + max(0, way - 580))
            let read = onStreet + SIMD2(random.normal(), random.normal()) * deviation
            return (onStreet, movement.show(Self.fix(second, read.x, read.y), isAnew: false))
        }
    }

    @Test func `a car is shown on its street, and turns with it`() {
        let shown = Self.drive(.car)
        let snapped = shown.filter { $0.shown.isSnapped }
        #expect(snapped.count >= 80)
        for (real, fix) in snapped {
            let place = Self.offset(fix)
            let toStreet = min(
                abs(place.y - (place.y / 100).rounded() * 100), abs(place.x - (place.x / 100).rounded() * 100))
            #expect(toStreet < 0.1)
            let away = place - real
            #expect((away * away).sum().squareRoot() < 25)
        }
        // At crossings, the other street is as likely.
        #expect(snapped.allSatisfy { $0.real.x > 560 || abs(Self.offset($0.shown).y - 500) < 12 })
    }

    @Test func `a place in the middle of a block is not moved to a street`() {
        var movement = ShownMovement(streets: Self.streets)
        for second in 0..<30 {
            let fix = Self.fix(second, 250 + Double(second), 550)
            #expect(!movement.show(fix, isAnew: false).isSnapped)
        }
    }

    @Test func `a rider on foot is moved less far than a car`() {
        func snapped(_ vehicle: Vehicle) -> Bool {
            var movement = ShownMovement(streets: Self.streets)
            movement.setVehicle(vehicle)
            return (0..<20).map { movement.show(Self.fix($0, 230 + Double($0), 511), isAnew: false).isSnapped }.last!
        }
        #expect(snapped(.car) && !snapped(.foot))
    }

    @Test(arguments: [15, 50, 100] as [Double])
    func `the marker is never far from the filter's estimate, however vague the phone is`(accuracy: Double) {
        var (movement, other) = (ShownMovement(streets: Self.streets), ShownMovement())
        var random = NoisyRide.Random(state: 5)
        // Errors that last for 20 s.
        let (lasting, deviation) = (0.95, accuracy / 1.5)
        var error = SIMD2(0.0, 0.0)
        var (furthest, count) = (0.0, 0)
        for second in 0..<600 {
            let fresh = SIMD2(random.normal(), random.normal()) * deviation * (1 - lasting * lasting).squareRoot()
            error = error * lasting + fresh
            // Standing for half of the time.
            let read = SIMD2(Double(min(second, 300)) * 8, 500) + error
            let fix = Self.fix(second, read.x, read.y, accuracy: accuracy)
            let (shown, filtered) = (movement.show(fix, isAnew: false), other.show(fix, isAnew: false))
            guard shown.isSnapped else { continue }
            let away = Self.offset(shown) - Self.offset(filtered)
            furthest = max(furthest, (away * away).sum().squareRoot())
            count += 1
        }
        #expect(count > 50 && furthest <= StreetMatcher.furthestSnap + 0.1, "\(count) \(furthest) m")
    }

    @Test func `without streets nothing is marked as moved`() {
        var (movement, other) = (ShownMovement(streets: Nowhere()), ShownMovement())
        for second in 0..<10 {
            let fix = Self.fix(second, Double(second) * 10, 0)
            let (shown, same) = (movement.show(fix, isAnew: false), other.show(fix, isAnew: false))
            #expect(!shown.isSnapped && shown == same)
        }
    }

    @Test func `a phone cannot claim that its place is on a street`() {
        var movement = ShownMovement()
        var fix = Self.fix(0, 0, 0)
        fix.isSnapped = true
        #expect(!movement.show(fix, isAnew: false).isSnapped)
    }

    @Test func `an inaccurate reading between two streets is not moved`() {
        var movement = ShownMovement(streets: Self.streets)
        let shown = movement.show(Self.fix(0, 50, 50, accuracy: 60), isAnew: false)
        #expect(!shown.isSnapped)
    }
}
