import Access
import EnrouteClient
import EnrouteWire
import LiveState
import Testing

@testable import Gateway
@testable import Realtime

/// The tracking state that followers receive. The gateway derives it, so two clients cannot disagree.
@Suite struct ViewStateTests {
    /// Short, so the test does not wait half a minute, but long enough for what must happen while a position is fresh.
    private static let freshness = Duration.seconds(2)

    private static func run(
        freshness: Duration = Self.freshness,
        _ body: @escaping @Sendable (RunningGateway, JobID) async throws -> Void
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, { Self.settings(&$0, freshness) }) { gateway in
                try await body(gateway, try await gateway.travellingJob())
            }
        }
    }

    private static func settings(_ settings: inout GatewaySettings, _ freshness: Duration) {
        settings.freshness = freshness
        settings.limits.allowManyMessages()
        settings.validation.allowJumps()
        (settings.limits.positionsPerSecond, settings.limits.positionsBurst) = (1_000_000, 1_000_000)
    }

    private static func state(
        _ messages: inout GatewayConnection.Messages.AsyncIterator
    ) async throws -> String {
        try await messages.first { message in
            guard case .tracking(_, let state, let reason) = message else { return nil }
            return state.rawValue + (reason.map { " \($0.rawValue)" } ?? "")
        }
    }

    private static func read(_ gateway: RunningGateway, _ job: JobID) async throws -> RESTResponse {
        try await gateway.rest("GET", "/api/v1/jobs/\(job)", by: "anna", .customer)
    }

    @Test func `US-072 AC-005: followers are notified once that a position is stale, then that it is live`()
        async throws
    {
        try await Self.run { gateway, job in
            try await gateway.connect("anna", .customer) { customer, seen in
                try await customer.send(.subscribe(job: job, since: nil))
                let first = try await seen.subscribed()
                #expect(first.tracking == .waiting && first.reason == nil)
                try await gateway.connect("rider-1", .rider) { rider, answers in
                    try await rider.send(.travel(job: job, active: true))
                    _ = try await answers.travelAnswer()
                    var notified: [String] = []
                    for step in 1...2 {
                        try await rider.report(job, step: step)
                        for _ in 0..<(step == 1 ? 3 : 2) { notified.append(try await Self.state(&seen)) }
                    }
                    // Travel mode on; then twice a position followed by silence.
                    #expect(notified == ["waiting", "live", "stale", "live", "stale"])
                    // A new follower receives the same state, and the last position.
                    try await gateway.connect("olga", .ops) { other, messages in
                        try await other.send(.subscribe(job: job, since: nil))
                        let late = try await messages.subscribed()
                        #expect(late.tracking == .stale && late.position != nil)
                        try await rider.report(job, step: 3)
                        let state = try await Self.state(&messages)
                        #expect(state == "live")
                    }
                    let text = try await Self.read(gateway, job).text
                    #expect(text.contains(#""tracking":"live","text":"live""#), "\(text)")
                }
            }
        }
    }

    @Test func `US-072 AC-003: switching travel mode off pauses a trip; only a status reports the arrival`()
        async throws
    {
        try await Self.run(freshness: .seconds(600)) { gateway, job in
            try await gateway.connect("anna", .customer) { customer, seen in
                try await customer.send(.subscribe(job: job, since: nil))
                _ = try await seen.subscribed()
                try await gateway.connect("rider-1", .rider) { rider, answers in
                    for isActive in [true, false] {
                        try await rider.send(.travel(job: job, active: isActive))
                        _ = try await answers.travelAnswer()
                    }
                    var notified: [String] = []
                    for _ in 0..<2 { notified.append(try await Self.state(&seen)) }
                    #expect(notified == ["waiting", "paused deactivated"])
                    // A later request returns the same.
                    let paused = try await Self.read(gateway, job).text
                    #expect(
                        paused.contains(#""tracking":"paused","reason":"deactivated","text":"paused""#), "\(paused)")
                    #expect(paused.contains(#""position":null"#))
                    try await rider.send(.travel(job: job, active: true))
                    _ = try await answers.travelAnswer()
                    try await rider.report(job, step: 1)
                    _ = try await seen.location()
                    let done = try await gateway.rest(
                        "POST", "/api/v1/jobs/\(job)/status", by: "orders", .service, #"{"status":"work_in_progress"}"#)
                    #expect(done.status == 200)
                    let state = try await seen.first { message -> EndReason?? in
                        guard case .tracking(_, .arrived, let reason) = message else { return nil }
                        return .some(reason)
                    }
                    #expect(state == .arrived)
                    let arrived = try await Self.read(gateway, job).text
                    #expect(
                        arrived.contains(#""tracking":"arrived","reason":"arrived","text":"arrived""#), "\(arrived)")
                }
            }
        }
    }

    @Test func `US-072 AC-004: on the way without travel mode, no position is shown and the status text explains it`()
        async throws
    {
        try await Self.run { gateway, job in
            let text = try await Self.read(gateway, job).text
            #expect(text.contains(#""tracking":"waiting","text":"waiting""#) && text.contains(#""position":null"#))
            #expect(TrackingTexts.english[.waiting].spoken.hasPrefix("Live location will be available once"))
        }
    }

    @Test func `a snapshot and the tracking states after it agree for followers who join at any time`() async throws {
        try await Self.run(freshness: .seconds(600)) { gateway, job in
            try await gateway.connect("rider-1", .rider) { rider, answers in
                try await rider.send(.travel(job: job, active: true))
                _ = try await answers.travelAnswer()
                for step in 1...20 {
                    try await rider.report(job, step: step)
                    try await gateway.connect("anna-\(step)", .ops) { customer, seen in
                        try await customer.send(.subscribe(job: job, since: nil))
                        var (notified, hasSeenPosition) = (try await seen.subscribed().tracking, false)
                        try await rider.report(job, step: step + 1)
                        // Only changes are sent, and unchanged states are not.
                        while !hasSeenPosition || notified != .live {
                            guard let message = try await seen.next() else { throw Missing() }
                            if case .tracking(_, let state, _) = message {
                                #expect(state != notified)
                                notified = state
                            }
                            if case .location(let location) = message,
                                location.fix.place.latitude > 41.9 + (Double(step) + 0.5) / 100_000
                            {
                                hasSeenPosition = true
                            }
                        }
                    }
                }
            }
        }
    }
}
