import EnrouteWire
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import HTTPValues
@testable import Realtime

/// What customers receive about the arrival before the rider is on the way.
@Suite struct EarlyArrivalGatewayTests {
    private static let job = JobID("job-1")!
    private static let service = PersonID("service")!

    private static func order(_ gateway: RunningGateway, rider: PersonID? = PersonID("rider-1")) async throws {
        _ = try await gateway.ledger.create(
            NewJob(
                job: Self.job, kind: .delivery, customer: PersonID("anna")!, rider: rider,
                destination: Coordinate(latitude: 41.92, longitude: 12.51)!,
                vendor: PickupPlace(place: Coordinate(latitude: 41.9, longitude: 12.5)!, name: "Da Gino"),
                actor: Self.service), epoch: "epoch-1"
        ).get()
    }

    private static func move(_ gateway: RunningGateway, to status: JobStatus) async throws {
        _ = try await gateway.ledger.publish(status, of: Self.job, by: Self.service, source: "event").get()
    }

    @Test func `a follower receives an estimate with the state, and a closer one with the next step`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                try await Self.order(gateway)
                try await Self.move(gateway, to: .accepted)
                try await gateway.connect("anna", .customer) { connection, messages in
                    try await connection.send(.subscribe(job: Self.job, since: nil))
                    let snapshot = try await messages.subscribed()
                    #expect(snapshot.tracking == .waiting && snapshot.position == nil)
                    let first = try #require(snapshot.eta)
                    #expect(first.state == .ok && first.confidence == .low && first.source == "built_in")
                    #expect(
                        first.earliestAt ?? .max < first.arrivesAt ?? 0 && first.latestAt ?? 0 > first.arrivesAt ?? .max
                    )
                    try await Self.move(gateway, to: .preparing)
                    try await Self.move(gateway, to: .readyForPickup)
                    let arrival = try #require(first.arrivesAt)
                    let next = try await messages.first { message -> ArrivalEstimate? in
                        guard case .eta(Self.job, let estimate) = message, let at = estimate.arrivesAt else {
                            return nil
                        }
                        return at < arrival - 600_000 ? estimate : nil
                    }
                    // REST readers calculate the same.
                    let read = try await gateway.rest("GET", "/api/v1/jobs/job-1", by: "anna", .customer)
                    #expect(read.text.contains(#""arrivesAt":\#(next.arrivesAt ?? 0)"#), "\(read)")
                    #expect(!read.text.contains(#""vendorAddress""#) && !read.text.contains(#""position":{"#))
                }
            }
        }
    }

    @Test func `the start of the preparation does not postpone the arrival, for followers and for readers`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                func arrivesAt() async throws -> Int64 {
                    let answer = try await gateway.rest("GET", "/api/v1/jobs/job-1", by: "anna", .customer)
                    let digits = try #require(answer.text.firstMatch(of: /"arrivesAt":([0-9]+)/)?.1)
                    return try #require(Int64(digits))
                }
                try await Self.order(gateway)
                let accepted = WallClock.nowMilliseconds - 600_000
                _ = try await gateway.ledger.publish(
                    .accepted, of: Self.job, by: Self.service, source: "event", occurredAt: accepted
                ).get()
                let promise = try await arrivesAt()
                try await Self.move(gateway, to: .preparing)
                #expect(try await arrivesAt() == promise)
                try await gateway.connect("anna", .customer) { connection, messages in
                    try await connection.send(.subscribe(job: Self.job, since: nil))
                    #expect(try await messages.subscribed().eta?.arrivesAt == promise)
                }
            }
        }
    }

    @Test func `without a rider, before the acceptance and if it is switched off, there is no estimate`() async throws {
        for isOn in [true, false] {
            try await within {
                try await RunningGateway.run(isSecure: false, { $0.arrivals.early.isOn = isOn }) { gateway in
                    func read() async throws -> String {
                        try await gateway.rest("GET", "/api/v1/jobs/job-1", by: "anna", .customer).text
                    }
                    try await Self.order(gateway, rider: nil)
                    #expect(try await !read().contains("arrivesAt"))
                    try await Self.move(gateway, to: .accepted)
                    #expect(try await !read().contains("arrivesAt"))
                    _ = try await gateway.rest(
                        "PUT", "/api/v1/jobs/job-1/assignment", by: "orders", .service, #"{"rider":"rider-1"}"#)
                    #expect(try await read().contains("arrivesAt") == isOn)
                    try await Self.move(gateway, to: .cancelled)
                    #expect(try await !read().contains("arrivesAt"))
                }
            }
        }
    }

    @Test func `the vehicle of a job replaces that of its rider, for arrival, navigation and the icon`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let rider = try await gateway.rest(
                    "PUT", "/api/v1/riders/rider-1", by: "orders", .service,
                    #"{"zone":"rome","approved":true,"card":{"name":"Rosa","vehicle":"car"}}"#)
                #expect([200, 201].contains(rider.status), "\(rider)")
                _ = try await gateway.rest(
                    "PATCH", "/api/v1/riders/me/status", by: "rider-1", .rider, #"{"status":"online"}"#)
                let places = #""destination":{"lat":41.92,"lon":12.51},"vendor":{"lat":41.9,"lon":12.5}"#
                func write(_ display: String) async throws {
                    let job = #"{"kind":"delivery","customer":"anna","rider":"rider-1",\#(places)\#(display)}"#
                    let answer = try await gateway.rest("PUT", "/api/v1/jobs/job-1", by: "orders", .service, job)
                    #expect([200, 201].contains(answer.status), "\(answer)")
                }
                func arrival() async throws -> (seconds: Double, text: String) {
                    let answer = try await gateway.rest("GET", "/api/v1/jobs/job-1", by: "anna", .customer)
                    let seconds = try #require(answer.text.firstMatch(of: /"seconds":([0-9]+)/)?.1)
                    return (Double(seconds) ?? 0, answer.text)
                }
                try await write("")
                try await Self.move(gateway, to: .accepted)
                let car = try await arrival()
                #expect(car.text.contains(#""vehicle":"car""#), "\(car)")
                try await write(#","display":{"vehicle":"foot"}"#)
                let foot = try await arrival()
                #expect(
                    foot.seconds > car.seconds + 300 && foot.text.contains(#""name":"Rosa","vehicle":"foot""#),
                    "\(foot)")
                let way = try await gateway.rest(
                    "GET", "/api/v1/jobs/job-1/navigation?to=vendor", by: "rider-1", .rider)
                #expect(way.text.contains("walking"), "\(way)")
            }
        }
    }
}
