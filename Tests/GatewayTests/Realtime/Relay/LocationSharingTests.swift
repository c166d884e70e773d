import Access
import EnrouteClient
import EnrouteWire
import HTTPValues
import LiveState
import Testing

@testable import Gateway
@testable import Realtime

/// A rider's position is only shown to the customer of the job for which the rider shares it, and only while it shares it.
@Suite struct LocationSharingTests {
    private static func run(
        _ body: @escaping @Sendable (RunningGateway, _ annas: JobID, _ berts: JobID) async throws -> Void
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, ArrivalTimesTests.settings) { gateway in
                try await body(
                    gateway, try await gateway.travellingJob("job-1"),
                    try await gateway.travellingJob("job-2", customer: "bert"))
            }
        }
    }

    /// The positions and arrival times received until the gateway answered.
    private static func trackingMessages(
        to connection: GatewayConnection, _ messages: inout GatewayConnection.Messages.AsyncIterator
    ) async throws -> [String] {
        try await connection.send(.ping)
        var trackingMessages: [String] = []
        _ = try await messages.first { message -> Bool? in
            switch message {
            case .location: trackingMessages.append("location")
            case .eta: trackingMessages.append("eta")
            case .tracking(_, let state, _): trackingMessages.append(state.rawValue)
            case .pong: return true
            default: break
            }
            return nil
        }
        return trackingMessages
    }

    /// Every request that reads or changes a job. The event stream is read like the other requests.
    private static func requests(_ job: JobID) -> [(method: String, path: String, body: String?)] {
        let fix = #"{"at":\#(WallClock.nowMilliseconds),"lat":41.9,"lon":12.5}"#
        let ofJob: [(String, String, String?)] = [
            ("GET", "", nil), ("GET", "/log", nil), ("GET", "/verdicts", nil),
            ("GET", "/navigation?to=destination", nil), ("PUT", "/unavailable", #"{"reason":"hidden"}"#),
            ("PUT", "/travel", nil), ("DELETE", "/travel", nil), ("POST", "/locations", #"{"fixes":[\#(fix)]}"#),
            ("POST", "/links", "{}"),
        ]
        return [("GET", "/track/\(job)", nil)] + ofJob.map { ($0.0, "/api/v1/jobs/\(job)\($0.1)", $0.2) }
    }

    @Test func `US-072 BR-001: every way of reading a job refuses a person who is not its customer`() async throws {
        try await Self.run { gateway, job, _ in
            try await gateway.connect("rider-1", .rider) { rider, answers in
                try await rider.send(.travel(job: job, active: true))
                _ = try await answers.travelAnswer()
                try await rider.report(job, step: 1)
                _ = try await answers.first { if case .ok("location", _, _, _, _) = $0 { true } else { nil } }
                for (person, role) in [("bert", Role.customer), ("rider-2", .rider)] {
                    try await gateway.connect(person, role) { stranger, messages in
                        try await stranger.send(.subscribe(job: job, since: nil))
                        let refusal = try await messages.refusal()
                        #expect(refusal.code == .notFound)
                        try await rider.report(job, step: 2)
                        _ = try await answers.first { if case .ok("location", _, _, _, _) = $0 { true } else { nil } }
                        let trackingMessages = try await Self.trackingMessages(to: stranger, &messages)
                        #expect(trackingMessages.isEmpty)
                    }
                    for (method, path, body) in Self.requests(job) {
                        let answer = try await gateway.rest(method, path, by: person, role, body)
                        #expect([403, 404].contains(answer.status), "\(method) \(path): \(answer)")
                        #expect(!answer.text.contains("41.9"), "\(method) \(path): \(answer)")
                    }
                    let stream = try await EventStreamReader.open(gateway, job, by: person, role)
                    #expect(stream.status == 404 && !stream.body.contains("41.9"))
                }
                for (method, path, body) in Self.requests(job) {
                    let answer = try await gateway.rest(method, path, as: nil, body)
                    // A page without a credential is the same for everyone.
                    #expect(answer.status == (path.hasPrefix("/track/") ? 200 : 401), "\(method) \(path): \(answer)")
                    #expect(!answer.text.contains("41.9"), "\(method) \(path): \(answer)")
                }
                // None of the requests had any effect either.
                try await rider.report(job, step: 3)
                _ = try await answers.first { if case .ok("location", _, _, _, _) = $0 { true } else { nil } }
            }
        }
    }

    @Test func `US-072 BR-001: of one rider's two jobs, only the one with travel mode on shows its position`()
        async throws
    {
        try await Self.run { gateway, annas, berts in
            try await gateway.connect("bert", .customer) { bert, receivedByBert in
                try await bert.send(.subscribe(job: berts, since: nil))
                _ = try await receivedByBert.subscribed()
                try await gateway.connect("anna", .customer) { anna, receivedByAnna in
                    try await anna.send(.subscribe(job: annas, since: nil))
                    _ = try await receivedByAnna.subscribed()
                    try await gateway.connect("rider-1", .rider) { rider, answers in
                        try await rider.send(.travel(job: annas, active: true))
                        _ = try await answers.travelAnswer()
                        try await rider.report(annas, step: 1000)
                        _ = try await receivedByAnna.location()
                        try await rider.report(berts, step: 1000)
                        let refusal = try await answers.refusal()
                        #expect(refusal.code == .travelModeOff && refusal.job == berts)
                        let trackingMessages = try await Self.trackingMessages(to: bert, &receivedByBert)
                        #expect(trackingMessages.isEmpty)
                        let read = try await gateway.rest("GET", "/api/v1/jobs/\(berts)", by: "bert", .customer)
                        #expect(read.status == 200 && read.text.contains(#""position":null"#))
                        // The other customer sees the position only while travel mode is on.
                        try await rider.send(.travel(job: annas, active: false))
                        _ = try await receivedByAnna.first {
                            if case .tracking(_, .paused, _) = $0 { true } else { nil }
                        }
                        try await rider.report(annas, step: 999)
                        let late = try await answers.refusal()
                        #expect(late.code == .travelModeOff && late.job == annas)
                        let messagesToAnna = try await Self.trackingMessages(to: anna, &receivedByAnna)
                        #expect(messagesToAnna.isEmpty)
                        let after = try await gateway.rest("GET", "/api/v1/jobs/\(annas)", by: "anna", .customer)
                        #expect(after.text.contains(#""position":null"#) && !after.text.contains(#""eta""#))
                    }
                }
            }
        }
    }

    @Test func `US-072 BR-001: a follower who loses access is disconnected in the middle of a trip`() async throws {
        try await Self.run { gateway, job, _ in
            let token = try await gateway.token("anna", .customer)
            try await gateway.connect("rider-1", .rider) { rider, answers in
                try await rider.send(.travel(job: job, active: true))
                _ = try await answers.travelAnswer()
                let ending = try await Self.ending {
                    try await GatewayConnection.open(gateway.url, token: token) { anna in
                        var received = anna.messages.makeAsyncIterator()
                        try await anna.send(.subscribe(job: job, since: nil))
                        _ = try await received.subscribed()
                        try await rider.report(job, step: 1)
                        _ = try await received.location()
                        let revoked = try await gateway.rest("DELETE", "/api/v1/grants/users/anna", by: "olga", .ops)
                        #expect(revoked.status / 100 == 2, "\(revoked)")
                        while try await received.next() != nil {}
                    }
                }
                #expect(ending == .closed(code: CloseCode.forbidden.rawValue, reason: "access revoked"))
                let refused = try await Self.ending {
                    try await GatewayConnection.open(gateway.url, token: token) { _ in }
                }
                #expect(refused == .upgradeRefused(status: 401))
                let read = try await gateway.rest("GET", "/api/v1/jobs/\(job)", as: token)
                #expect(read.status == 401)
            }
        }
    }

    /// The error with which a connection ended; `nil` if it was closed normally.
    private static func ending(_ body: () async throws -> Void) async throws -> ClientError? {
        do {
            try await body()
            return nil
        } catch let error as ClientError {
            return error
        }
    }
}
