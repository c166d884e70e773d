import EnrouteWire
import Jobs
import LiveState
import Testing

@testable import Gateway

/// An order system sends a rider in its data, and operations staff change the rider.
@Suite struct JobHandOverTests {
    private static let path = "/api/v1/jobs/job-1"
    private static let job = #"{"kind":"delivery","customer":"anna","rider":"rider-1"}"#

    private static func put(
        _ gateway: RunningGateway, _ body: String, headers: [String] = []
    ) async throws -> RESTResponse {
        try await gateway.rest("PUT", Self.path, by: "orders", .service, body, headers: headers)
    }

    private static func handOver(_ gateway: RunningGateway, to rider: String, from former: String) async throws {
        let answer = try await gateway.rest(
            "PUT", "\(Self.path)/assignment", by: "olga", .ops, #"{"rider":"\#(rider)","insteadOf":"\#(former)"}"#)
        #expect(answer.status == 200, "\(answer)")
    }

    private static func record(_ gateway: RunningGateway) async throws -> JobRecord {
        try #require(try await gateway.ledger.recover(JobID("job-1")!).get()).record
    }

    private static func tag(_ gateway: RunningGateway) async throws -> String {
        let answer = try await gateway.rest("GET", Self.path, by: "orders", .service)
        return "If-Match: \(try #require(answer.headers["etag"]))"
    }

    private static func run(_ body: @escaping @Sendable (RunningGateway) async throws -> Void) async throws {
        try await within { try await RunningGateway.run(isSecure: false) { try await body($0) } }
    }

    @Test func `a repeated PUT with the former rider does not undo a hand-over, and changes nothing`() async throws {
        try await Self.run { gateway in
            #expect(try await Self.put(gateway, Self.job).status == 201)
            try await Self.handOver(gateway, to: "rider-2", from: "rider-1")
            let before = try await Self.record(gateway)
            let former = #"{"kind":"delivery","customer":"bert","rider":"rider-1","display":{"note":"new"}}"#
            let status = "If-Match: \"\(before.head)\""
            // A status event and `*` identify no rider.
            for headers in [[], [status], ["If-Match: *"]] {
                let refused = try await Self.put(gateway, former, headers: headers)
                #expect(refused.status == 409 && refused.member("code") == "conflict", "\(refused)")
                #expect(refused.text.contains("rider-2") && refused.text.contains("Leave rider out"), "\(refused)")
            }
            #expect(try await Self.record(gateway) == before)
        }
    }

    @Test func `a PUT without a rider, or with the current one, changes a job that was handed over`() async throws {
        try await Self.run { gateway in
            #expect(try await Self.put(gateway, Self.job).status == 201)
            try await Self.handOver(gateway, to: "rider-2", from: "rider-1")
            for (rider, note) in [("", "first"), (#""rider":"rider-2","#, "second")] {
                let answer = try await Self.put(gateway, #"{"kind":"delivery",\#(rider)"display":{"note":"\#(note)"}}"#)
                #expect(answer.status == 200 && answer.text.contains(note), "\(answer)")
            }
            #expect(try await Self.record(gateway).rider == PersonID("rider-2"))
        }
    }

    @Test func `a PUT whose If-Match names the current record hands the job over, with everything else`() async throws {
        try await Self.run { gateway in
            #expect(try await Self.put(gateway, Self.job).status == 201)
            let stale = try await Self.tag(gateway)
            try await Self.handOver(gateway, to: "rider-2", from: "rider-1")
            let body =
                #"{"kind":"delivery","customer":"bert","rider":"rider-3","display":{"note":"new"},"zone":"rome"}"#
            #expect(try await Self.put(gateway, body, headers: [stale]).status == 412)
            let answer = try await Self.put(gateway, body, headers: [try await Self.tag(gateway)])
            #expect(answer.status == 200 && answer.text.contains(#""note":"new""#), "\(answer)")
            let record = try await Self.record(gateway)
            #expect(record.rider == PersonID("rider-3") && record.customer == PersonID("bert"))
            #expect(record.zone == ZoneID("rome"))
        }
    }

    @Test func `a PUT with a rider who cannot have the job changes nothing, and can be repeated with its If-Match`()
        async throws
    {
        try await Self.run { gateway in
            try await gateway.registerRider("rider-1")
            #expect(try await Self.put(gateway, #"{"kind":"delivery","customer":"anna"}"#).status == 201)
            let (before, tag) = (try await Self.record(gateway), try await Self.tag(gateway))
            let body =
                #"{"kind":"delivery","customer":"bert","rider":"rider-1","display":{"note":"new"},"zone":"rome"}"#
            for headers in [[tag], []] {
                let refused = try await Self.put(gateway, body, headers: headers)
                #expect(refused.status == 409 && refused.member("code") == "rider_offline", "\(refused)")
                #expect(try await Self.record(gateway) == before)
            }
            try await gateway.goOnline(PersonID("rider-1")!)
            let answer = try await Self.put(gateway, body, headers: [tag])
            #expect(answer.status == 200 && answer.text.contains(#""note":"new""#), "\(answer)")
            let record = try await Self.record(gateway)
            #expect(record.rider == PersonID("rider-1") && record.customer == PersonID("bert"))
        }
    }

    @Test func `a PUT of another kind assigns nothing`() async throws {
        try await Self.run { gateway in
            #expect(try await Self.put(gateway, #"{"kind":"delivery","customer":"anna"}"#).status == 201)
            let before = try await Self.record(gateway)
            let refused = try await Self.put(gateway, #"{"kind":"service","customer":"bert","rider":"rider-1"}"#)
            #expect(refused.status == 422, "\(refused)")
            #expect(try await Self.record(gateway) == before)
        }
    }

    @Test func `of two concurrent PUTs with the same If-Match and different riders, the job is one of them as a whole`()
        async throws
    {
        try await Self.run { gateway in
            #expect(try await Self.put(gateway, Self.job).status == 201)
            for _ in 0..<10 {
                let tag = try await Self.tag(gateway)
                let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                    for name in ["rider-2", "rider-3"] {
                        let body = #"{"kind":"delivery","rider":"\#(name)","display":{"note":"\#(name)"}}"#
                        group.addTask { try await Self.put(gateway, body, headers: [tag]).status }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(statuses.contains(200) && statuses.allSatisfy { [200, 409, 412].contains($0) }, "\(statuses)")
                let record = try await Self.record(gateway)
                #expect(record.display?.note == record.rider?.text)
            }
        }
    }

    @Test func `an assignment is refused when the record was changed after the request was checked`() async throws {
        try await Self.run { gateway in
            #expect(try await Self.put(gateway, Self.job).status == 201)
            let revision = try await Self.record(gateway).revision
            #expect(try await Self.put(gateway, #"{"kind":"delivery","display":{"note":"new"}}"#).status == 200)
            let before = try await Self.record(gateway)
            await #expect(throws: RevisionChanged.self) {
                _ = try await gateway.jobs().assign(
                    JobID("job-1")!, to: PersonID("rider-2"), of: nil, by: PersonID("orders")!, revision: revision
                ).get()
            }
            #expect(try await Self.record(gateway) == before)
        }
    }
}
