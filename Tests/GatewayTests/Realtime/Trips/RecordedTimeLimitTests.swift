import EnrouteClient
import EnrouteWire
import HTTPValues
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// A trip that exceeds the sharing time limit of a job, in seconds instead of hours. At each moment, the test reports the fix
/// that was recorded at the same fraction of the four hours.
@Suite(.needsMachine(for: .volume)) struct RecordedTimeLimitTests {
    /// The seconds of the recording that correspond to the time limit.
    private static let limitSeconds = 14_400.0
    /// Long enough for hundreds of positions on a busy machine.
    private static let cap = Duration.seconds(3)

    @Test(arguments: TripShape.origins)
    func `US-072 BR-002: a trip of over four hours ends at the limit, and rider and customer are notified`(
        origin: TripShape.Origin
    ) async throws {
        let fixes = try TripShape.overFourHours.fixes(origin)
        let offsets = fixes.map { Double($0.at - fixes[0].at) / 1000 }
        #expect((offsets.last ?? 0) > Self.limitSeconds)
        try await within {
            try await RunningGateway.run(isSecure: false) { settings in
                settings.limits.allowManyMessages()
                (settings.limits.positionsPerSecond, settings.limits.positionsBurst) = (1_000_000, 1_000_000)
                settings.liveState.maxSharingDuration = Self.cap
                // One second stands for more than one hour here.
                settings.validation.allowJumps()
            } _: { gateway in
                let job = try await gateway.travellingJob()
                try await gateway.connect("anna", .customer) { customer, seen in
                    try await customer.send(.subscribe(job: job, since: nil))
                    _ = try await seen.subscribed()
                    let deadline = try await gateway.connect("rider-1", .rider) { rider, answers in
                        try await rider.send(.travel(job: job, active: true))
                        let deadline = try #require(try await answers.travelAnswer())
                        let start = deadline - Self.cap.milliseconds
                        var last: Int64 = 0
                        /// Reports the fix of the current moment.
                        ///
                        /// - Returns: whether the rider was notified that the time limit was reached.
                        func report() async throws -> Bool {
                            last = max(last + 1, WallClock.nowMilliseconds)
                            let seconds = Double(last - start) / Double(Self.cap.milliseconds) * Self.limitSeconds
                            var fix = fixes[(offsets.firstIndex { $0 > seconds } ?? fixes.count) - 1]
                            fix.at = last
                            try await rider.send(.location(LocationReport(job: job, sequence: last, fixes: [fix])))
                            return try await answers.first { message in
                                switch message {
                                case .ok("location", _, _, _, _): false
                                case .tracking(_, .ended, .timeLimit): true
                                case .error(let refusal) where refusal.code != .travelModeOff: throw refusal.code
                                // A refusal is followed by its reason.
                                default: nil
                                }
                            }
                        }
                        while try await !report() {}
                        // Nobody may see the rest of the trip, and switching travel mode does not bring it back.
                        for fix in fixes.suffix(20) {
                            var fix = fix
                            last = max(last + 1, WallClock.nowMilliseconds)
                            fix.at = last
                            try await rider.send(.location(LocationReport(job: job, sequence: last, fixes: [fix])))
                            let refusal = try await answers.refusal()
                            #expect(refusal.code == .travelModeOff)
                        }
                        try await rider.send(.travel(job: job, active: true))
                        let code = try await answers.first { message -> ErrorCode? in
                            if case .ok("travel", _, _, _, _) = message { throw Missing() }
                            if case .error(let refusal) = message, refusal.replyTo == "travel" { return refusal.code }
                            return nil
                        }
                        #expect(code == .forbidden)
                        return deadline
                    }
                    var received: [Int64] = []
                    let reason = try await seen.first { message -> EndReason? in
                        if case .location(let location) = message { received.append(location.receivedAt) }
                        if case .tracking(_, .ended, let reason) = message { return reason }
                        return nil
                    }
                    #expect(reason == .timeLimit && !received.isEmpty)
                    #expect(received.allSatisfy { $0 <= deadline })
                    let read = try await gateway.rest("GET", "/api/v1/jobs/\(job)", by: "anna", .customer)
                    #expect(read.text.contains(#""position":null"#) && read.text.contains(#""reason":"time_limit""#))
                }
                let exists = try await gateway.client.run("EXISTS", "job:{job-1}:position")
                #expect(exists == .integer(0))
            }
        }
    }
}
