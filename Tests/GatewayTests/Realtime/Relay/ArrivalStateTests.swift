import Access
import EnrouteClient
import EnrouteWire
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import HTTPValues
@testable import Realtime

/// The tracking state `arrived`, which a status decides: with travel mode on, off, or never on.
@Suite struct ArrivalStateTests {
    enum TravelMode: CaseIterable { case neverOn, off, on }

    /// Two gateways on one Redis.
    private static func withTwoGateways(
        _ body: @escaping @Sendable (RunningGateway, RunningGateway) async throws -> Void
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.limits.allowManyMessages() }) { first in
                let addresses = (first.settings.live, first.settings.ledger)
                try await RunningGateway.run(isSecure: false, at: addresses, { $0.limits.allowManyMessages() }) {
                    try await body(first, $0)
                }
            }
        }
    }

    private static func set(_ mode: TravelMode, for job: JobID, _ gateway: RunningGateway) async throws {
        for method in mode == .neverOn ? [] : mode == .on ? ["PUT"] : ["PUT", "DELETE"] {
            let answer = try await gateway.rest(method, "/api/v1/jobs/\(job)/travel", by: "rider-1", .rider)
            #expect((200..<300).contains(answer.status), "\(answer)")
        }
    }

    /// What a message says about the status, the tracking state or the end; `nil` for other messages.
    private static func news(_ message: ServerMessage) -> String? {
        switch message {
        case .status(_, let event): event.status.rawValue
        case .tracking(_, let state, let reason): "tracking \(state) \(reason?.rawValue ?? "-")"
        case .ended(_, let reason): "ended \(reason)"
        default: nil
        }
    }

    private static func untilEnd(_ messages: inout GatewayConnection.Messages.AsyncIterator) async throws -> [String] {
        var seen: [String] = []
        while seen.last != "ended completed" {
            guard let message = try await messages.next() else { throw Missing() }
            if let news = Self.news(message) { seen.append(news) }
        }
        return seen
    }

    private static func untilEnd(_ stream: EventStreamReader) async throws -> [String] {
        var seen: [String] = []
        while let event = try await stream.next() {
            if let news = event.message.flatMap(Self.news) { seen.append(news) }
        }
        return seen
    }

    /// While travel mode is on, the feed reports the arrival too, on another channel than the status.
    private static func expectOneArrival(_ seen: [String], _ mode: TravelMode) {
        #expect(seen.filter { $0.hasPrefix("tracking") } == ["tracking arrived arrived"], "\(seen)")
        #expect(seen.filter { !$0.hasPrefix("tracking") } == ["work_in_progress", "completed", "ended completed"])
        if mode != .on { #expect(seen[1] == "tracking arrived arrived", "\(seen)") }
    }

    @Test(arguments: TravelMode.allCases)
    func `followers receive the arrival once, by WebSocket and by event stream, whatever the travel mode was`(
        mode: TravelMode
    ) async throws {
        try await Self.withTwoGateways { gateway, other in
            let job = try await gateway.travellingJob()
            try await Self.set(mode, for: job, gateway)
            let stream = try await EventStreamReader.open(other, job, by: "anna", .customer)
            let first = try await stream.first {
                if case .subscribed(_, let state) = $0 { state.tracking } else { nil }
            }
            #expect(first == (mode == .off ? .paused : .waiting))
            let seen = try await other.connect("anna", .customer) { customer, messages in
                try await customer.send(.subscribe(job: job, since: nil))
                _ = try await messages.subscribed()
                for status in ["work_in_progress", "completed"] { try await gateway.changeJob(job.text, to: status) }
                return try await Self.untilEnd(&messages)
            }
            Self.expectOneArrival(seen, mode)
            Self.expectOneArrival(try await Self.untilEnd(stream), mode)
        }
    }

    @Test func `a feed that is closed for another reason after the arrival does not replace it`() async throws {
        try await Self.withTwoGateways { gateway, other in
            let job = try await gateway.travellingJob()
            try await Self.set(.on, for: job, gateway)
            let seen = try await other.connect("anna", .customer) { customer, messages in
                try await customer.send(.subscribe(job: job, since: nil))
                _ = try await messages.subscribed()
                // The rider switches travel mode off while the status changes.
                let service = PersonID("service")!
                _ = try await gateway.ledger.publish(.workInProgress, of: job, by: service, source: "event").get()
                let arrival = try await messages.first { if case .tracking = $0 { Self.news($0) } else { nil } }
                #expect(try await gateway.feed.close(job, because: .deactivated).get() == .closed(erased: 1))
                _ = try await gateway.ledger.publish(.completed, of: job, by: service, source: "event").get()
                return [arrival] + (try await Self.untilEnd(&messages))
            }
            #expect(seen == ["tracking arrived arrived", "completed", "ended completed"])
        }
    }

    @Test func `after a correction back to on the way, followers see the rider again, and then the next arrival`()
        async throws
    {
        try await Self.withTwoGateways { gateway, other in
            let job = try await gateway.travellingJob()
            try await other.connect("anna", .customer) { customer, messages in
                func change() async throws -> String {
                    try await messages.first { if case .tracking = $0 { Self.news($0) } else { nil } }
                }
                try await customer.send(.subscribe(job: job, since: nil))
                _ = try await messages.subscribed()
                try await gateway.changeJob(job.text, to: "work_in_progress")
                let first = try await change()
                let corrected = try await gateway.rest(
                    "POST", "/api/v1/jobs/\(job)/corrections", by: "olga", .ops,
                    #"{"status":"on_the_way","reason":"The wrong visit."}"#)
                #expect(corrected.status == 200, "\(corrected)")
                let reset = try await messages.first { if case .reset(_, let state) = $0 { state } else { nil } }
                #expect(reset.status == .onTheWay && reset.tracking == .waiting)
                try await Self.set(.on, for: job, gateway)
                let second = try await change()
                let report = try await gateway.rest(
                    "POST", "/api/v1/jobs/\(job)/locations", by: "rider-1", .rider,
                    #"{"fixes":[{"at":\#(WallClock.nowMilliseconds),"lat":41.9,"lon":12.5,"acc":5}]}"#)
                #expect(report.text.contains(#""accepted":["job-1"]"#), "\(report)")
                _ = try await messages.location()
                let third = try await change()
                try await gateway.changeJob(job.text, to: "work_in_progress")
                let fourth = try await change()
                #expect(
                    [first, second, third, fourth] == [
                        "tracking arrived arrived", "tracking waiting -", "tracking live -", "tracking arrived arrived",
                    ])
            }
        }
    }

    @Test func `whoever watches the jobs of a zone sees the arrival of a rider whose travel mode was never on`()
        async throws
    {
        try await Self.withTwoGateways { gateway, other in
            try await gateway.putJob("job-1", #"{"kind":"service","customer":"anna","rider":"rider-1","zone":"rome"}"#)
            try await gateway.changeJob("job-1", to: "on_the_way")
            try await other.connect("olga", .ops) { watcher, messages in
                var witness = ZoneJobsWitness()
                try await watcher.send(.watchJobs(zone: RunningGateway.rome))
                try await messages.watchJobs(&witness) { $0.isComplete }
                #expect(witness["job-1"]?.tracking == .waiting)
                try await gateway.changeJob("job-1", to: "work_in_progress")
                try await messages.watchJobs(&witness) { $0["job-1"]?.tracking == .arrived }
            }
        }
    }
}
