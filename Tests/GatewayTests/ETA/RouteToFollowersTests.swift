import Access
import EnrouteClient
import EnrouteWire
import Foundation
import Routing
import TestSupport
import Testing

@testable import ETA
@testable import Gateway

/// The remaining route, from an OSRM server to followers: who receives it, and when it ends.
@Suite struct RouteToFollowersTests {
    private static let start = Coordinate(latitude: 48.185, longitude: 16.377)!
    private static let door = Coordinate(latitude: 48.2351, longitude: 16.4138)!

    private static func run(_ body: @escaping @Sendable (RunningGateway) async throws -> Void) async throws {
        try await within {
            try await ProviderServer.running(ProviderFixtures.osrm) { server in
                let service = ArrivalService(try OSRM(url: server.url), dailyBudget: nil)
                try await RunningGateway.run(isSecure: false, ArrivalServiceTests.settings([service]), body)
            }
        }
    }

    @Test
    func `followers receive the route to their destination, at first from the rider's position, and none at the end`()
        async throws
    {
        try await Self.run { gateway in
            let job = try await ArrivalServiceTests.visit(gateway)
            try await ArrivalTimesTests.trip(gateway, job) { _, messages, rider in
                try await ArrivalServiceTests.move(rider, job, 0)
                let route = try #require(try await messages.knownETA().route)
                let line = try #require(route.line)
                #expect(line.nearest(to: Self.start).along < 5 && line.nearest(to: Self.door).away < 2)
                #expect(route.meters > 5000 && (600...732).contains(route.seconds))
                // 222 m farther.
                try await ArrivalServiceTests.move(rider, job, 1)
                _ = try await messages.location()
                let snapshot = try await gateway.connect("anna", .customer) { connection, messages in
                    try await connection.send(.subscribe(job: job, since: nil))
                    return try await messages.subscribed()
                }
                let shown = try #require(snapshot.eta?.route)
                #expect(try #require(shown.line).nearest(to: Self.start).away > 150)
                let read = try await gateway.rest("GET", "/api/v1/jobs/job-1", by: "anna", .customer)
                #expect(read.text.contains(#""route":{"polyline":""#))
                try await rider.send(.travel(job: job, active: false))
                _ = try await messages.first { if case .tracking(_, .paused, _) = $0 { true } else { nil } }
                let after = try await gateway.rest("GET", "/api/v1/jobs/job-1", by: "anna", .customer)
                #expect(!after.text.contains("polyline"))
            }
        }
    }

    @Test func `with an earlier stop, operations and the rider see the route and the customer does not`() async throws {
        try await Self.run { gateway in
            let first = try await gateway.travellingJob("job-1", kind: .delivery, at: Self.door)
            let second = try await ArrivalServiceTests.visit(gateway, "job-2")
            try await ArrivalTimesTests.trip(gateway, second) { _, messages, rider in
                try await rider.send(.travel(job: first, active: true))
                try await gateway.connect("olga", .ops) { operations, seen in
                    try await operations.send(.subscribe(job: second, since: nil))
                    _ = try await seen.subscribed()
                    var number = 0
                    while true {
                        try await rider.send(
                            .location(
                                LocationReport(
                                    job: first, otherJobs: [second], sequence: Int64(number),
                                    fixes: [
                                        Fix(
                                            at: Int64(Date.now.timeIntervalSince1970 * 1000) + Int64(number),
                                            place: Self.start)
                                    ])))
                        number += 1
                        let whole = try await seen.knownETA()
                        let own: ArrivalEstimate = try await messages.first { message in
                            if case .eta(_, let eta) = message, eta.at == whole.at { eta } else { nil }
                        }
                        guard whole.stopsBefore == 1, whole.route != nil else { continue }
                        #expect(own.stopsBefore == 1 && own.route == nil && own.arrivesAt == whole.arrivesAt)
                        break
                    }
                    for (person, role, isShown) in [
                        ("anna", Role.customer, false), ("olga", .ops, true), ("rider-1", .rider, true),
                    ] {
                        let read = try await gateway.rest("GET", "/api/v1/jobs/job-2", by: person, role)
                        #expect(read.text.contains("polyline") == isShown, "\(role)")
                    }
                }
            }
        }
    }
}
