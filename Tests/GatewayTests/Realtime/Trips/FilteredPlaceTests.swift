import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import Streets
import TestSupport
import Testing

@testable import Gateway
@testable import HTTPValues
@testable import Realtime

/// What followers see of inaccurate, invented and matched places.
@Suite struct FilteredPlaceTests {
    private static let metersOfDegree = 111_195.0

    private static func place(north: Double, east: Double = 0) -> Coordinate {
        Coordinate(
            latitude: 41.9 + north / Self.metersOfDegree,
            longitude: 12.5 + east / (Self.metersOfDegree * cos(41.9 * .pi / 180)))!
    }

    private static func meters(_ a: Coordinate, _ b: Coordinate) -> Double {
        let north = (a.latitude - b.latitude) * Self.metersOfDegree
        let east = (a.longitude - b.longitude) * Self.metersOfDegree * cos(41.9 * .pi / 180)
        return (north * north + east * east).squareRoot()
    }

    private static func unbounded(_ settings: inout GatewaySettings) {
        settings.limits.allowManyMessages()
        (settings.limits.positionsPerSecond, settings.limits.positionsBurst) = (1_000_000, 1_000_000)
    }

    /// A rider reports one fix after the other; each is published before the next one is sent.
    ///
    /// - Returns: what the customer saw.
    private static func ride(_ gateway: RunningGateway, _ fixes: [Fix]) async throws -> [Fix] {
        let job = try await gateway.travellingJob()
        var shown: [Fix] = []
        try await gateway.connect("anna", .customer) { customer, seen in
            try await customer.send(.subscribe(job: job, since: nil))
            _ = try await seen.subscribed()
            try await gateway.connect("rider-1", .rider) { rider, answers in
                try await rider.send(.travel(job: job, active: true))
                _ = try await answers.travelAnswer()
                for (index, fix) in fixes.enumerated() {
                    try await rider.send(.location(LocationReport(job: job, sequence: Int64(index), fixes: [fix])))
                    shown.append(try await seen.location().fix)
                }
            }
        }
        return shown
    }

    @Test func `a follower sees an inaccurate rider at a bounded distance, and an accurate one where it is`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false, Self.unbounded) { gateway in
                let start = WallClock.nowMilliseconds - 40_000
                // Every other reading is 60 m aside.
                let inaccurate = (0..<30).map { second in
                    Fix(
                        at: start + Int64(second) * 1000,
                        place: Self.place(north: Double(second) * 2, east: second.isMultiple(of: 2) ? 0 : 60),
                        accuracyMeters: 60)
                }
                let shown = try await Self.ride(gateway, inaccurate)
                #expect(shown.map(\.at) == inaccurate.map(\.at))
                let steps = zip(shown, shown.dropFirst()).map { Self.meters($0.place, $1.place) }
                #expect(steps.dropFirst(5).allSatisfy { $0 < 15 }, "\(steps)")
                #expect(shown.last?.speedMetersPerSecond ?? 0 < 20)
            }
        }
        try await within {
            try await RunningGateway.run(isSecure: false, Self.unbounded) { gateway in
                let start = WallClock.nowMilliseconds - 40_000
                let accurate = (0..<20).map { second in
                    Fix(
                        at: start + Int64(second) * 1000, place: Self.place(north: Double(second) * 10),
                        accuracyMeters: 5)
                }
                let shown = try await Self.ride(gateway, accurate)
                for (fix, seen) in zip(accurate, shown) { #expect(Self.meters(fix.place, seen.place) < 5) }
                #expect(shown.allSatisfy { !$0.isSnapped })
                let last = try #require(shown.last)
                #expect(abs((last.speedMetersPerSecond ?? 0) - 10) < 1 && last.headingDegrees ?? 180 < 5)
            }
        }
    }

    @Test func `with streets a follower sees the rider on its street`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-streets-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let lines = [(-200.0, 0.0, 1000.0, 0.0), (-200, 150, 1000, 150)].map { south, east, north, _ in
            let (from, to) = (Self.place(north: south, east: east), Self.place(north: north, east: east))
            return """
                {"type":"Feature","properties":{"highway":"residential"},"geometry":{"type":"LineString","coordinates":\
                [[\(from.longitude),\(from.latitude)],[\(to.longitude),\(to.latitude)]]}}
                """
        }
        let map = folder.appending(path: "town.geojson")
        try Data(#"{"type":"FeatureCollection","features":[\#(lines.joined(separator: ","))]}"#.utf8).write(to: map)
        let compiled = folder.appending(path: "town.streets").path
        _ = try StreetCompiler.compile(inputs: [map.path], output: compiled)
        let streets = NetworkStreets(try StreetNetwork(path: compiled))
        try await within {
            try await RunningGateway.run(
                isSecure: false,
                {
                    Self.unbounded(&$0)
                    $0.streetSource = streets
                }
            ) { gateway in
                let start = WallClock.nowMilliseconds - 40_000
                let shown = try await Self.ride(
                    gateway,
                    (0..<20).map { second in
                        Fix(
                            at: start + Int64(second) * 1000,
                            place: Self.place(north: Double(second) * 10, east: second.isMultiple(of: 2) ? 4 : 8),
                            accuracyMeters: 8)
                    })
                let snapped = shown.filter(\.isSnapped)
                #expect(snapped.count >= 18)
                for fix in snapped { #expect(abs(fix.place.longitude - 12.5) < 1e-6) }
            }
        }
    }

    @Test func `an invented place is refused, counted, and reported to operations`() async throws {
        try await within {
            try await RunningGateway.run(
                isSecure: false,
                {
                    Self.unbounded(&$0)
                    $0.freshness = .seconds(1)
                }
            ) { gateway in
                let job = try await gateway.travellingJob()
                let notes = ValidationSummaryStore(live: gateway.client, settings: gateway.settings.liveState)
                try await gateway.connect("rider-1", .rider) { rider, answers in
                    try await rider.send(.travel(job: job, active: true))
                    _ = try await answers.travelAnswer()
                    let fix = Fix(
                        at: WallClock.nowMilliseconds, place: Self.place(north: 0), accuracyMeters: 5, isMocked: true)
                    try await rider.send(.location(LocationReport(job: job, sequence: 1, fixes: [fix])))
                    let refusal = try await answers.first { message in
                        if case .error(let refusal) = message { refusal } else { nil }
                    }
                    #expect(refusal.code == .implausiblePosition && refusal.reason == "mocked")
                    #expect(refusal.message.contains("mock locations"))
                    try await becomes("the refusal is counted", every: .milliseconds(10)) {
                        try await notes.read(job).get().counts["mocked"] == 1
                    }
                }
                try await gateway.waitForMetric(#"enroute_locations_validated_total{verdict="mocked"} 1"#)
            }
        }
    }
}
