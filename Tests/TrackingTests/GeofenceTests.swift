import Testing

@testable import Tracking

@Suite struct GeofenceTests {
    private static let door = Reading(at: Recordings.start, point: Point(latitude: 48.2, longitude: 16.4))

    /// What is found while readings come a second apart, these metres from the door.
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

    @Test func `who comes near approaches, and who stays at the door 20 s has arrived, each once`() {
        #expect(Self.found(Self.approach + Array(repeating: 5, count: 60)) == [.approaching, .arrived])
        #expect(Self.found(Self.approach + Array(repeating: 5, count: 20)) == [.approaching])
    }

    @Test func `who drives past the door has not arrived`() {
        let past = Self.approach + stride(from: 0, to: -600.0, by: -10)
        #expect(Self.found(past) == [.approaching])
        // However slowly its phone says it goes by.
        #expect(Self.found(Array(repeating: 30, count: 40), speed: 8) == [.approaching])
    }

    @Test func `jitter at a line finds nothing twice`() {
        #expect(Self.found((0..<100).map { $0.isMultiple(of: 2) ? 495 : 505 }) == [.approaching])
        let atDoor = (0..<60).map { $0.isMultiple(of: 2) ? 50.0 : 80 }
        #expect(Self.found(atDoor, speed: 0) == [.approaching, .arrived])
    }

    @Test func `what was found is so until something else is`() {
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

    @Test func `a reading that is less exact than the door is no arrival`() {
        #expect(Self.found(Array(repeating: 0, count: 60), speed: 0, accuracy: 100) == [.approaching])
    }

    @Test func `who goes away again has left, and may come back`() {
        let away = stride(from: 0.0, to: 800, by: 20).map { $0 }
        let stay = Array(repeating: 5.0, count: 30)
        #expect(
            Self.found(stay + away + away.reversed() + stay)
                == [.approaching, .arrived, .left, .approaching, .arrived])
    }

    @Test(arguments: 0..<10)
    func `a made-up trip approaches once and, having stood at its end, has arrived`(seed: UInt64) throws {
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
    func `the technician of the long recording arrives long before the cap, and is found to have`() throws {
        let trip = try Recordings.real("amsterdam-over-four-hours")
        var fence = Geofence(destination: try #require(trip.last).point)
        let found = trip.compactMap { reading in fence.observe(reading).map { ($0, (reading.at - trip[0].at) / 60_000) }
        }
        #expect(found.map(\.0).prefix(2) == [.approaching, .arrived])
        #expect(found[1].1 < 120)
    }
}
