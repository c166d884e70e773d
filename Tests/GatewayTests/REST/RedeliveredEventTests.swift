import EnrouteWire
import Foundation
import LiveState
import Redis
import TestSupport
import Testing

@testable import Gateway

/// Events that created a job and are delivered again, because the first answer was lost. Whatever has happened since, they are
/// repeats.
@Suite struct RedeliveredEventTests {
    private typealias Sender = EventRoutesTests.Sender

    private static let rider = PersonID("rider-1")!

    /// A rider who has the one job that is possible.
    private static func run(_ body: @escaping @Sendable (Sender) async throws -> Void) async throws {
        try await EventRoutesTests.run { sender in
            try await sender.gateway.register(Self.rider)
            try await sender.gateway.goOnline(Self.rider)
            #expect(try await sender.send(EventRoutesTests.created).outcome == "applied")
            try await body(sender)
        }
    }

    private static func redeliver(_ sender: Sender) async throws {
        let again = try await sender.send(EventRoutesTests.created)
        #expect(again.outcome == "applied" && again.status == 200, "\(again)")
        let metrics = try await sender.gateway.manage("/metrics").text
        #expect(metrics.contains(#"enroute_events_processed_total{outcome="repeated"} 1"#))
    }

    /// The jobs of Anna and of the rider, with their positions on the lists.
    private static func lists(_ gateway: RunningGateway) async throws -> [RESPValue] {
        var lists: [RESPValue] = []
        for key in ["jobs:customer:{anna}", "jobs:rider:{rider-1}"] {
            lists.append(try await gateway.client.run("ZRANGE", key, "0", "-1", "WITHSCORES"))
        }
        return lists
    }

    /// The rider in its zone, as dispatchers see it.
    private static func read(_ rider: PersonID, _ gateway: RunningGateway) async throws -> RiderRecord {
        try #require(try await gateway.riders.read(rider, in: RunningGateway.rome).get())
    }

    @Test func `an event whose rider has finished the job and gone offline is a repeat`() async throws {
        try await Self.run { sender in
            let path = ["accepted", "preparing", "ready_for_pickup", "in_transit", "delivered"]
            for (index, status) in path.enumerated() {
                let event = EventRoutesTests.status("e-\(index + 1)", status, second: index + 1)
                #expect(try await sender.send(event).status == 200)
            }
            try await becomes("the rider has no task") {
                try await Self.read(Self.rider, sender.gateway).tasks.isEmpty
            }
            try await sender.gateway.goOffline(Self.rider)
            try await Self.redeliver(sender)
        }
    }

    @Test func `an event whose job has another rider now is a repeat`() async throws {
        try await Self.run { sender in
            let other = PersonID("rider-2")!
            try await sender.gateway.register(other)
            try await sender.gateway.goOnline(other)
            let handedOver = EventRoutesTests.event(
                "a-1", "assigned", #"{"job":"j1","rider":"rider-2"}"#, second: 10)
            #expect(try await sender.send(handedOver).outcome == "applied")
            try await sender.gateway.goOffline(Self.rider)
            try await Self.redeliver(sender)
            let tasks = try await Self.read(other, sender.gateway).tasks
            #expect(Array(tasks.keys) == [JobID("j1")!])
        }
    }

    @Test func `a rider whose job was taken away does not get it back for a moment, and no list changes`()
        async throws
    {
        try await Self.run { sender in
            let later = #"{"job":"j2","kind":"delivery","customer":"anna"}"#
            #expect(try await sender.send(EventRoutesTests.event("e-9", "created", later)).outcome == "applied")
            let removed = EventRoutesTests.event("a-1", "assigned", #"{"job":"j1","rider":null}"#, second: 10)
            #expect(try await sender.send(removed).outcome == "applied")
            try await becomes("the rider's list is empty") { try await Self.lists(sender.gateway).last == .array([]) }
            let before = try await Self.read(Self.rider, sender.gateway)
            let listed = try await Self.lists(sender.gateway)
            try await Self.redeliver(sender)
            #expect(try await Self.read(Self.rider, sender.gateway).version == before.version)
            #expect(try await Self.lists(sender.gateway) == listed)
        }
    }

    @Test func `another event for a job that exists is superseded, although its rider is offline`() async throws {
        try await Self.run { sender in
            try await sender.gateway.register(PersonID("rider-2")!)
            let other = EventRoutesTests.event(
                "e-9", "created", #"{"job":"j1","kind":"delivery","customer":"anna","rider":"rider-2"}"#)
            let answer = try await sender.send(other)
            #expect(answer.outcome == "superseded" && answer.status == 200, "\(answer)")
        }
    }

    @Test func `an event whose place was corrected is a repeat, although its zone would refuse the place now`()
        async throws
    {
        try await EventRoutesTests.run { sender in
            let swapped = #""zone":"rome","destination":{"lat":12.5,"lon":41.9}"#
            let right = #""zone":"rome","destination":{"lat":41.9,"lon":12.5}"#
            func order(_ job: String, _ places: String) -> String {
                #"{"job":"\#(job)","kind":"delivery","customer":"anna",\#(places)}"#
            }
            let created = EventRoutesTests.event("e-0", "created", order("j1", swapped))
            #expect(try await sender.send(created).outcome == "applied")
            let body = #"{"kind":"delivery","customer":"anna",\#(right)}"#
            for job in ["j1", "j2", "j3", "j4"] {
                let put = try await sender.gateway.rest(
                    "PUT", "/api/v1/jobs/\(job)", by: "orders", .service, body)
                #expect([200, 201].contains(put.status), "\(put)")
            }
            try await becomes("the jobs are on the zone's list") {
                try await sender.gateway.ledger.listing.jobIDs(in: RunningGateway.rome).get().count == 4
            }
            let other = try await sender.send(EventRoutesTests.event("e-8", "created", order("j5", swapped)))
            #expect(other.status == 422 && other.detail?.contains("swapped") == true, "\(other)")
            let again = try await sender.send(created)
            #expect(again.outcome == "applied" && again.status == 200, "\(again)")
        }
    }
}
