import EnrouteClient
import EnrouteWire
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import HTTPValues
@testable import Realtime

/// A trip that continues in another session of the same phone, usually at another gateway.
@Suite struct ReconnectedTripTests {
    private typealias Answers = GatewayConnection.Messages.AsyncIterator

    /// Meters per degree of latitude.
    private static let metersOfDegree = 111_195.0
    private static let job = OneDeviceTests.job

    /// Switches travel mode on with a new session, runs `body`, and ends the session.
    private static func session(
        at gateway: RunningGateway, _ body: (GatewayConnection, inout Answers) async throws -> Void
    ) async throws {
        try await OneDeviceTests.device(gateway, OneDeviceTests.phone, body)
        try await gateway.waitForSessions(0)
    }

    /// Continues with a new session, runs `body`, and ends the session.
    private static func resumed(
        at gateway: RunningGateway, _ body: (GatewayConnection, inout Answers) async throws -> Void
    ) async throws {
        try await gateway.connect("rider-1", .rider) { connection, answers in
            try await Self.resume(connection, &answers)
            try await body(connection, &answers)
        }
    }

    private static func resume(_ connection: GatewayConnection, _ answers: inout Answers) async throws {
        #expect(try await OneDeviceTests.resume(connection, OneDeviceTests.phone, &answers) == nil)
    }

    private static func report(_ connection: GatewayConnection, _ step: Int, _ answers: inout Answers) async throws {
        #expect(try await OneDeviceTests.report(connection, step, &answers) == nil)
    }

    /// Reports a position this many meters south of the destination, captured this many ms ago.
    private static func report(
        _ connection: GatewayConnection, south meters: Double, ago: Int64
    ) async throws {
        let place = Coordinate(latitude: 41.9 - meters / Self.metersOfDegree, longitude: 12.5)!
        let fix = Fix(at: WallClock.nowMilliseconds - ago, place: place, accuracyMeters: 5, speedMetersPerSecond: 1)
        try await connection.send(.location(LocationReport(job: Self.job, sequence: 1, fixes: [fix])))
    }

    private static func proximity(_ answers: inout Answers) async throws -> ProximityState {
        try await answers.first { if case .proximity(_, let state) = $0 { state } else { nil } }
    }

    private static func summary(_ gateway: RunningGateway) async throws -> ValidationSummary {
        try await ValidationSummaryStore(live: gateway.client, settings: gateway.settings.liveState).read(Self.job)
            .get()
    }

    private static func reasonBecomes(_ reason: UnavailableReason?, _ gateway: RunningGateway) async throws {
        try await becomes("followers see \(reason?.rawValue ?? "no reason")") {
            try await Self.summary(gateway).unavailable == reason
        }
    }

    private static func proximityBecomes(_ state: ProximityState, _ gateway: RunningGateway) async throws {
        try await becomes("the proximity is \(state)") {
            try await Self.summary(gateway).proximity == state
        }
    }

    /// The stream for other systems has exactly these events of a kind.
    private static func appends(_ data: [String], as kind: LedgerEvent.Kind, _ gateway: RunningGateway) async throws {
        try await becomes("\(kind) is in the stream: \(data)") {
            try await gateway.events(about: Self.job).filter { $0.kind == kind }.map(\.data) == data
        }
    }

    private static let network = #"{"available":false,"reason":"network"}"#
    private static let isAvailable = #"{"available":true}"#

    // MARK: unavailable reasons

    @Test func `an old session that ends after its phone has reported in a new one publishes no reason`() async throws {
        try await OneDeviceTests.run { one, other in
            try await other.connect("rider-1", .rider) { current, answers in
                try await Self.session(at: one) { old, earlier in
                    try await Self.report(old, 1, &earlier)
                    try await Self.resume(current, &answers)
                    try await Self.report(current, 2, &answers)
                }
                // A reason of the old session would be in the stream before this one.
                try await current.send(.unavailable(job: Self.job, .hidden))
                try await Self.reasonBecomes(.hidden, other)
                try await Self.report(current, 3, &answers)
                try await Self.reasonBecomes(nil, other)
                try await Self.appends(
                    [#"{"available":false,"reason":"hidden"}"#, Self.isAvailable], as: .trackingChanged, other)
            }
        }
    }

    @Test func `the first position of a new session ends the reason of an old one that ended after it started`()
        async throws
    {
        try await OneDeviceTests.run { one, other in
            try await other.connect("rider-1", .rider) { current, answers in
                try await Self.session(at: one) { old, earlier in
                    try await Self.report(old, 1, &earlier)
                    try await Self.resume(current, &answers)
                }
                try await Self.reasonBecomes(.network, other)
                try await Self.report(current, 2, &answers)
                try await Self.reasonBecomes(nil, other)
                try await Self.appends([Self.network, Self.isAvailable], as: .trackingChanged, other)
            }
        }
    }

    @Test func `after a reconnect, the reason applies until the first position, which other systems are notified of`()
        async throws
    {
        try await OneDeviceTests.run { one, other in
            try await Self.session(at: one) { rider, answers in try await Self.report(rider, 1, &answers) }
            try await Self.reasonBecomes(.network, one)
            let started = try await Self.summary(one).sharingAt
            try await Self.resumed(at: other) { rider, answers in
                try await Self.report(rider, 2, &answers)
                try await Self.reasonBecomes(nil, other)
                try await Self.appends([Self.network, Self.isAvailable], as: .trackingChanged, other)
            }
            #expect(try await Self.summary(other).sharingAt == started)
        }
    }

    @Test func `D17: after a reconnect without a position, followers still see when the rider was last seen`()
        async throws
    {
        try await OneDeviceTests.run { one, other in
            func read() async throws -> String {
                try await other.rest("GET", "/api/v1/jobs/\(Self.job)", by: "anna", .customer).text
            }
            try await Self.session(at: one) { rider, answers in try await Self.report(rider, 1, &answers) }
            try await Self.reasonBecomes(.network, one)
            let position = one.settings.liveState.keyspace.position(of: Self.job)
            try await one.client.run("DEL", position)
            try await becomes("the last time is known") { try await read().contains("lastSeenAt") }
            try await Self.resumed(at: other) { rider, _ in
                // The reason is published after everything that the start of the session publishes.
                try await rider.send(.unavailable(job: Self.job, .hidden))
                try await Self.reasonBecomes(.hidden, other)
                let resumed = try await read()
                #expect(resumed.contains("lastSeenAt"), "\(resumed)")
            }
        }
    }

    // MARK: proximity

    @Test func `US-072: after a reconnect at the door, no proximity is repeated`() async throws {
        try await OneDeviceTests.run { one, other in
            try await Self.session(at: one) { rider, answers in
                for (meters, ago) in [(450.0, 50_000), (20, 40_000), (20, 15_000)] as [(Double, Int64)] {
                    try await Self.report(rider, south: meters, ago: ago)
                }
                let notified = [try await Self.proximity(&answers), try await Self.proximity(&answers)]
                #expect(notified == [.approaching, .arrived])
                try await Self.proximityBecomes(.arrived, one)
            }
            try await Self.resumed(at: other) { rider, answers in
                for (meters, ago) in [(20.0, 5_000), (900, 0)] as [(Double, Int64)] {
                    try await Self.report(rider, south: meters, ago: ago)
                }
                let next = try await Self.proximity(&answers)
                #expect(next == .left)
                try await Self.proximityBecomes(.left, other)
            }
            try await Self.appends(
                ["approaching", "arrived", "left"].map { #"{"state":"\#($0)"}"# }, as: .proximityChanged, other)
        }
    }

    @Test func `US-072: a rider who reconnects far away has left`() async throws {
        try await OneDeviceTests.run { one, other in
            try await Self.session(at: one) { rider, answers in
                try await Self.report(rider, south: 450, ago: 30_000)
                let first = try await Self.proximity(&answers)
                #expect(first == .approaching)
                try await Self.proximityBecomes(.approaching, one)
            }
            try await Self.resumed(at: other) { rider, answers in
                try await Self.report(rider, south: 900, ago: 0)
                let next = try await Self.proximity(&answers)
                #expect(next == .left)
                try await Self.proximityBecomes(.left, other)
            }
        }
    }

    @Test func `US-072: batches at several gateways report a proximity once`() async throws {
        try await OneDeviceTests.run { one, other in
            try await OneDeviceTests.start(one, "phone")
            // Steps of 1.1 m from the destination.
            let near = try await OneDeviceTests.post(one, 400, device: "phone", secondsAgo: 20)
            #expect(near.text.contains("approaching"), "\(near)")
            try await Self.proximityBecomes(.approaching, one)
            let nearer = try await OneDeviceTests.post(other, 390, device: "phone", secondsAgo: 10)
            #expect(nearer.text.contains("approaching"), "\(nearer)")
            let away = try await OneDeviceTests.post(other, 900, device: "phone")
            #expect(away.status == 200, "\(away)")
            try await Self.proximityBecomes(.left, other)
            try await Self.appends(
                ["approaching", "left"].map { #"{"state":"\#($0)"}"# }, as: .proximityChanged, other)
        }
    }
}
