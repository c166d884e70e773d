import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// Positions are shown until travel mode stops, at the latest at the sharing time limit, and rider and customer are notified.
@Suite(.needsMachine(for: .faults)) struct TravelEndTests {
    private static func settings(_ settings: inout GatewaySettings) {
        settings.limits.positionsPerSecond = 100_000
        settings.limits.positionsBurst = 100_000
        settings.limits.allowManyMessages()
    }

    /// Long enough for everything before it, on a busy machine.
    private static let shortCap = Duration.seconds(8)

    /// What is wrong with the order of the messages; `nil` if it is correct.
    private static func fault(in shown: [ServerMessage]) -> String? {
        var isOver = false
        for (index, message) in shown.enumerated() {
            switch message {
            case .tracking(_, let state, _) where state.endsPositions: isOver = true
            case .tracking(_, .waiting, _): isOver = false
            case .subscribed(_, let snapshot), .reset(_, let snapshot): isOver = snapshot.tracking.endsPositions
            case .status(_, let event) where event.status.endOfTravel != nil: isOver = true
            case .location where isOver: return "a location after the end, number \(index) of \(shown.count)"
            default: break
            }
        }
        return nil
    }

    @Test func `I3: under load, no location is shown while travel mode is off`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, Self.settings) { gateway in
                let job = try await gateway.travellingJob()
                let (subscribed, onSubscribed) = AsyncStream.makeStream(of: Void.self)
                async let shown = gateway.collectMessages(of: job, by: "anna") {
                    onSubscribed.finish()
                } until: {
                    if case .ended = $0 { true } else { false }
                }
                for await _ in subscribed {}
                try await gateway.connect("rider-1", .rider) { connection, messages in
                    var step = 0
                    for _ in 0..<200 {
                        try await connection.send(.travel(job: job, active: true))
                        for _ in 0..<10 {
                            step += 1
                            try await connection.report(job, step: step)
                        }
                        try await connection.send(.travel(job: job, active: false))
                        // Still in flight when travel mode stops.
                        try await connection.report(job, step: step + 1)
                        for _ in 0..<2 {
                            _ = try await messages.first {
                                if case .ok("travel", _, _, _, _) = $0 { true } else { nil }
                            }
                        }
                    }
                    try await connection.send(.travel(job: job, active: true))
                    for _ in 0..<50 {
                        step += 1
                        try await connection.report(job, step: step)
                    }
                    _ = try await gateway.ledger.publish(
                        .workInProgress, of: job, by: PersonID("s")!, source: "rest"
                    ).get()
                    for _ in 0..<50 {
                        step += 1
                        try await connection.report(job, step: step)
                    }
                    _ = try await gateway.ledger.publish(.completed, of: job, by: PersonID("s")!, source: "rest").get()
                }
                let messages = try await shown
                #expect(messages.count { if case .location = $0 { true } else { false } } > 100)
                #expect(Self.fault(in: messages) == nil)
            }
        }
    }

    @Test func `at the time limit, rider and customer are notified and the position is erased`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { settings in
                Self.settings(&settings)
                settings.liveState.maxSharingDuration = Self.shortCap
            } _: { gateway in
                let job = try await gateway.travellingJob()
                let (subscribed, onSubscribed) = AsyncStream.makeStream(of: Void.self)
                async let shown = gateway.collectMessages(of: job, by: "anna") {
                    onSubscribed.finish()
                } until: {
                    if case .tracking(_, .ended, .timeLimit) = $0 { true } else { false }
                }
                for await _ in subscribed {}
                try await gateway.connect("rider-1", .rider) { connection, messages in
                    try await connection.send(.travel(job: job, active: true))
                    let deadline = try #require(try await messages.travelAnswer())
                    // Switching travel mode off and on does not extend the limit, which counts from the first start.
                    try await connection.send(.travel(job: job, active: false))
                    _ = try await messages.travelAnswer()
                    try await connection.send(.travel(job: job, active: true))
                    #expect(try await messages.travelAnswer() == deadline)
                    try await connection.report(job, step: 1)
                    let notified = try await messages.first {
                        if case .tracking(let job, .ended, let reason) = $0 { (job, reason) } else { nil }
                    }
                    #expect(notified == (job, .timeLimit))
                    #expect(Int64(Date.now.timeIntervalSince1970 * 1000) >= deadline)
                    try await connection.report(job, step: 2)
                    #expect(try await messages.refusal().code == .travelModeOff)
                    try await connection.send(.travel(job: job, active: true))
                    #expect(try await messages.refusal().code == .forbidden)
                }
                #expect(Self.fault(in: try await shown) == nil)
                #expect(
                    try await gateway.client.run("EXISTS", gateway.settings.liveState.keyspace.position(of: job))
                        == .integer(0))
            }
        }
    }

    @Test func `a customer is notified of the time limit although the rider has disconnected`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                $0.liveState.maxSharingDuration = Self.shortCap
            } _: { gateway in
                let job = try await gateway.travellingJob()
                try await gateway.connect("rider-1", .rider) { connection, messages in
                    try await connection.send(.travel(job: job, active: true))
                    _ = try await messages.travelAnswer()
                    try await connection.report(job, step: 1)
                    _ = try await messages.first { if case .ok("location", _, _, _, _) = $0 { true } else { nil } }
                }
                try await gateway.connect("anna", .customer) { connection, messages in
                    try await connection.send(.subscribe(job: job, since: nil))
                    #expect(try await messages.subscribed().tracking == .live)
                    let reason = try await messages.first {
                        if case .tracking(_, .ended, let reason) = $0 { reason } else { nil }
                    }
                    #expect(reason == .timeLimit)
                }
                try await becomes("other systems learn of it once") {
                    let ends = try await gateway.events(about: job).filter { $0.kind == .travelEnded }
                    return ends.map(\.data) == [#"{"rider":"rider-1","reason":"time_limit"}"#]
                }
            }
        }
    }

    @Test func `a new rider gets a new time limit`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                @Sendable func start(_ rider: String) async throws -> Int64? {
                    try await gateway.connect(rider, .rider) { connection, messages in
                        try await connection.send(.travel(job: job, active: true))
                        return try await messages.travelAnswer()
                    }
                }
                let first = try #require(try await start("rider-1"))
                let token = try await gateway.token("orders", .service)
                let answer = try await JobRoutesTests.ask(
                    gateway, "PUT", "/api/v1/jobs/\(job)/assignment", as: token,
                    #"{"rider":"rider-2","insteadOf":"rider-1"}"#)
                #expect(answer.status == 200)
                let second = try #require(try await start("rider-2"))
                #expect(second > first)
            }
        }
    }

    @Test func `S1: no frame is sent later than 30 seconds after the token's expiry`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { settings in
                Self.settings(&settings)
                (settings.limits.positionsPerSecond, settings.limits.positionsBurst) = (20, 20)
            } _: { gateway in
                let job = try await gateway.travellingJob()
                let lasts = try await withThrowingTaskGroup(of: (end: Int64, last: Int64).self) { group in
                    for session in 0..<40 {
                        group.addTask {
                            // Valid for eight to eleven more seconds, including the allowed clock difference.
                            let now = Int64(Date.now.timeIntervalSince1970)
                            let end = now - 22 + Int64(session % 4)
                            let token = try await gateway.mint.token(
                                for: PersonID("anna-\(session)")!, role: .ops, now: now - 900, lifetime: end - now + 900
                            )
                            return try await Self.lastFrame(gateway, token, job, end: end)
                        }
                    }
                    async let travel: Void = Self.travel(gateway, job)
                    var lasts: [(end: Int64, last: Int64)] = []
                    for try await last in group { lasts.append(last) }
                    _ = try await gateway.feed.close(job, because: .cancelled).get()
                    _ = try? await travel
                    return lasts
                }
                #expect(lasts.count == 40)
                // `received` is the time on the gateway's clock when the location arrived.
                for (end, last) in lasts { #expect(last > 0 && last <= (end + 30) * 1000) }
            }
        }
    }

    private static func travel(_ gateway: RunningGateway, _ job: JobID) async throws {
        try await gateway.connect("rider-1", .rider) { connection, messages in
            try await connection.send(.travel(job: job, active: true))
            _ = try await messages.travelAnswer()
            for step in 1... {
                try await connection.report(job, step: step)
                _ = try await messages.first { message -> Bool? in
                    switch message {
                    case .ok("location", _, _, _, _): return true
                    case .error(let refusal): throw refusal.code
                    default: return nil
                    }
                }
            }
        }
    }

    /// When the newest location that a session was shown arrived, ms since the epoch. The session ends with 4005.
    private static func lastFrame(
        _ gateway: RunningGateway, _ token: String, _ job: JobID, end: Int64
    ) async throws -> (end: Int64, last: Int64) {
        try await GatewayConnection.open(gateway.url, token: token, trust: .authorities(file: gateway.certificate)) {
            connection in
            try await connection.send(.subscribe(job: job, since: nil))
            var last: Int64 = 0
            do {
                for try await case .location(let location) in connection.messages { last = location.receivedAt }
                throw Missing()
            } catch ClientError.closed(code: CloseCode.tokenExpired.rawValue, _) {
                return (end, last)
            }
        }
    }
}
