import Access
import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import TestSupport
import Testing

@testable import Gateway

/// Events that later ones have overtaken: they complete the job's history and change nothing else.
@Suite struct LateEventTests {
    private typealias Events = EventRoutesTests

    private static func log(_ sender: Events.Sender) async throws -> [StatusLogEntry] {
        try await sender.gateway.ledger.log(of: JobID("j1")!).get()
    }

    private static func send(
        _ sender: Events.Sender, _ id: String, _ type: String, _ data: String, second: Int
    ) async throws -> String? {
        try await sender.send(Events.event(id, type, data, second: second)).outcome
    }

    private static let created = Events.event(
        "c", "created", #"{"job":"j1","kind":"delivery","customer":"anna"}"#, second: 0)

    @Test func `a status that arrives after the next one is in the log as late, once, and the job keeps its status`()
        async throws
    {
        try await Events.run { sender in
            _ = try await sender.send(Self.created)
            for (second, status) in ["accepted", "preparing", "ready_for_pickup", "delivered"].enumerated() {
                let outcome = try await Self.send(
                    sender, "s-\(status)", "status", #"{"job":"j1","status":"\#(status)"}"#, second: second + 10)
                #expect(outcome == "applied", "\(status)")
            }
            let before = try await sender.gateway.ledger.recover(JobID("j1")!).get()?.record
            for _ in 1...2 {
                let late = try await Self.send(
                    sender, "s-late", "status", #"{"job":"j1","status":"in_transit"}"#, second: 13)
                #expect(late == "superseded")
            }
            let log = try await Self.log(sender)
            #expect(log.count(where: { $0.status == .inTransit }) == 1 && log.last?.isLate == true)
            #expect(try await sender.gateway.ledger.recover(JobID("j1")!).get()?.record == before)
            // A second report of a status that the log already has adds nothing.
            #expect(
                try await Self.send(
                    sender, "s-again", "status", #"{"job":"j1","status":"delivered"}"#, second: 15) == "superseded")
            #expect(try await Self.log(sender).count == log.count)
        }
    }

    @Test func `a status from before a correction that is further than the next step is not awaited`() async throws {
        try await Events.run { sender in
            _ = try await sender.send(Self.created)
            for (second, status) in ["accepted", "preparing", "ready_for_pickup"].enumerated() {
                let outcome = try await Self.send(
                    sender, "s-\(status)", "status", #"{"job":"j1","status":"\#(status)"}"#, second: second + 10)
                #expect(outcome == "applied")
            }
            let corrected = try await sender.gateway.rest(
                "POST", "/api/v1/jobs/j1/corrections", by: "olga", .ops,
                #"{"status":"accepted","reason":"It was the wrong order."}"#)
            #expect(corrected.status == 200, "\(corrected)")
            // `preparing` is missing between `accepted` and this event.
            let old = Events.event("old", "status", #"{"job":"j1","status":"delivered"}"#, second: 20)
            let answer = try await sender.send(old)
            #expect(answer.outcome == "superseded" && answer.jobStatus == "accepted", "\(answer)")
            let late = try await Self.log(sender).last
            #expect(late?.isLate == true && late?.status == .delivered)
            let new = Date(timeIntervalSinceNow: 2).ISO8601Format()
            let early = Events.event("new", "status", #"{"job":"j1","status":"delivered"}"#, time: new)
            #expect(try await sender.send(early).status == 409)
        }
    }

    @Test func `a status from before a correction does not undo it, and one from after it is applied`() async throws {
        try await Events.run { sender in
            _ = try await sender.send(Self.created)
            func send(_ id: String, _ status: String, at time: String) async throws -> String? {
                let data = #"{"job":"j1","status":"\#(status)"}"#
                return try await sender.send(Events.event(id, "status", data, time: time)).outcome
            }
            for (second, status) in ["accepted", "preparing", "ready_for_pickup", "in_transit", "delivered"]
                .enumerated()
            {
                let outcome = try await send("s-\(second)", status, at: "2026-11-21T18:00:1\(second)Z")
                #expect(outcome == "applied")
            }
            let corrected = try await sender.gateway.rest(
                "POST", "/api/v1/jobs/j1/corrections", by: "olga", .ops,
                #"{"status":"in_transit","reason":"It was the wrong order."}"#)
            #expect(corrected.status == 200, "\(corrected)")
            let old = try await send("old", "delivered", at: "2026-11-21T18:00:24Z")
            let status = try await sender.status()
            #expect(old == "superseded" && status == "in_transit")
            let later = Date(timeIntervalSinceNow: 2).ISO8601Format()
            let new = try await send("new", "delivered", at: later)
            #expect(new == "applied")
        }
    }

    @Test func `assignments that arrive after a later one or after the end are in the log`() async throws {
        try await Events.run { sender in
            _ = try await sender.send(Self.created)
            func assign(_ rider: String, second: Int) async throws -> String? {
                try await Self.send(
                    sender, "a-\(rider)", "assigned", #"{"job":"j1","rider":"\#(rider)"}"#, second: second)
            }
            #expect(try await assign("rider-2", second: 20) == "applied")
            #expect(try await assign("rider-1", second: 10) == "superseded")
            #expect(
                try await Self.send(sender, "s", "cancelled", #"{"job":"j1"}"#, second: 30) == "applied")
            #expect(try await assign("rider-3", second: 40) == "superseded")
            #expect(try await assign("rider-3", second: 40) == "superseded")
            let late = try await Self.log(sender).filter(\.isLate)
            #expect(late.map { $0.assignment?.rider ?? nil } == [PersonID("rider-1")!, PersonID("rider-3")!])
            #expect(late.map(\.status) == [.pendingVendorAcceptance, .cancelled])
            #expect(try await sender.gateway.ledger.recover(JobID("j1")!).get()?.record.rider == PersonID("rider-2"))
            let shown = try await sender.gateway.rest("GET", "/api/v1/jobs/j1/log", by: "anna", .customer)
            #expect(shown.status == 200 && !shown.text.contains("rider-"), "\(shown)")
        }
    }

    @Test(arguments: UInt64(1)...20)
    func `whatever the order of a job's events, its log has every step`(seed: UInt64) async throws {
        try await Events.run { sender in
            var random = SeededGenerator(seed: seed)
            let steps = ["accepted", "preparing", "ready_for_pickup", "in_transit", "delivered"]
            _ = try await sender.send(Self.created)
            var waiting = Array(steps.enumerated()).shuffled(using: &random)
            for _ in 0..<20 where !waiting.isEmpty {
                var early: [(offset: Int, element: String)] = []
                for (second, status) in waiting {
                    let answer = try await sender.send(
                        Events.event(
                            "s-\(status)", "status", #"{"job":"j1","status":"\#(status)"}"#, second: second + 10))
                    if answer.outcome != "applied", answer.outcome != "superseded" { early.append((second, status)) }
                }
                waiting = early
            }
            #expect(waiting.isEmpty)
            #expect(Set(try await Self.log(sender).map(\.status.rawValue)).isSuperset(of: steps))
            #expect(try await sender.status() == "delivered")
        }
    }
}
