import Testing

@testable import Tracking

@Suite struct GeofenceTests {
    private static let door = Reading(at: Recordings.start, point: Point(latitude: 48.2, longitude: 16.4))

    /// The proximities for readings one second apart, at these distances from the door.
    private static func found(_ meters: [Double], speed: Double? = nil, accuracy: Double? = nil) -> [Proximity] {
        var fence = Geofence(destination: self.door.point)
        return meters.enumerated().compactMap { second, meters in
            var reading = self.door.moved(northMeters: meters)
            reading.at += Int64(second) * 1000
            (reading.speedMetersPerSecond, reading.accuracyMeters) = (speed, accuracy)
            return fence.observe(reading)
        }
    }

    private static let approach = stride(from: 600.0, to: 0, by: -10).map { $0 }

    @Test func `a rider within 500 m is approaching, and one at the door for 20 s has arrived, each once`() {
        #expect(Self.found(Self.approach + Array(repeating: 5, count: 60)) == [.approaching, .arrived])
        #expect(Self.found(Self.approach + Array(repeating: 5, count: 20)) == [.approaching])
    }

    @Test func `a rider who drives past the door has not arrived`() {
        let past = Self.approach + stride(from: 0, to: -600.0, by: -10)
        #expect(Self.found(past) == [.approaching])
        // However slow the speed is that its phone reports.
        #expect(Self.found(Array(repeating: 30, count: 40), speed: 8) == [.approaching])
    }

    @Test func `jitter at a boundary reports nothing twice`() {
        #expect(Self.found((0..<100).map { $0.isMultiple(of: 2) ? 495 : 505 }) == [.approaching])
        let atDoor = (0..<60).map { $0.isMultiple(of: 2) ? 50.0 : 80 }
        #expect(Self.found(atDoor, speed: 0) == [.approaching, .arrived])
    }

    @Test(
        arguments: [
            (Proximity.approaching, 300.0, nil), (.arrived, 5, nil), (.left, 300, .approaching),
            (.approaching, 900, .left),
            (.arrived, 900, .left), (.left, 900, nil), (nil, 300, .approaching),
        ] as [(Proximity?, Double, Proximity?)])
    func `a geofence continues from the proximity that another one reported`(
        earlier: Proximity?, meters: Double, next: Proximity?
    ) {
        var fence = Geofence(destination: Self.door.point, proximity: earlier)
        let observed = fence.observe(Self.door.moved(northMeters: meters))
        #expect(observed == next)
    }

    @Test func `the current proximity applies until it changes`() {
        var fence = Geofence(destination: Self.door.point)
        var current: [Proximity?] = [fence.current]
        let away = stride(from: 0.0, to: 800, by: 100).map { $0 }
        for (second, meters) in (Self.approach + Array(repeating: 5, count: 30) + away).enumerated() {
            var reading = Self.door.moved(northMeters: meters)
            reading.at += Int64(second) * 1000
            _ = fence.observe(reading)
            if fence.current != current.last { current.append(fence.current) }
        }
        #expect(current == [nil, .approaching, .arrived, nil])
    }

    @Test func `a reading less accurate than the radius of the door is not an arrival`() {
        #expect(Self.found(Array(repeating: 0, count: 60), speed: 0, accuracy: 100) == [.approaching])
    }

    @Test func `a rider who moves away has left, and can return`() {
        let away = stride(from: 0.0, to: 800, by: 20).map { $0 }
        let stay = Array(repeating: 5.0, count: 30)
        #expect(
            Self.found(stay + away + away.reversed() + stay)
                == [.approaching, .arrived, .left, .approaching, .arrived])
    }

    @Test(arguments: 0..<10)
    func `a generated trip approaches once and has arrived after standing at its end`(seed: UInt64) throws {
        var trip = Recordings.generated(seed: seed)
        let last = try #require(trip.last)
        for second in 1...30 {
            var standing = last
            standing.at += Int64(second) * 1000
            standing.speedMetersPerSecond = 0
            trip.append(standing)
        }
        var fence = Geofence(destination: last.point)
        #expect(trip.compactMap { fence.observe($0) } == [.approaching, .arrived])
    }

    @Test(.enabled(if: Recordings.areThere, "../shared/data is not there"))
    func `the arrival of the technician in the long recording is detected`() throws {
        let trip = try Recordings.real("amsterdam-over-four-hours")
        var fence = Geofence(destination: try #require(trip.last).point)
        let found = trip.compactMap { reading in fence.observe(reading).map { ($0, (reading.at - trip[0].at) / 60_000) }
        }
        #expect(found.map(\.0).prefix(2) == [.approaching, .arrived])
        #expect(found[1].1 < 120)
    }
}
