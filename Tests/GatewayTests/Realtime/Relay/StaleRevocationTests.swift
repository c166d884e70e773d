import Access
import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// A gateway whose revocation state is stale, while all other data can be read.
@Suite(.needsMachine(for: .faults)) struct StaleRevocationTests {
    /// Far away from the job's destination.
    private static let place = Coordinate(latitude: 47.25, longitude: 11.75)!

    @Test func `while the revocation state is stale, no way of reading a job shows its position`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                $0.maxRevocationAge = .seconds(1)
            } _: { gateway in
                let job = try await gateway.travellingJob()
                let rider = PersonID("rider-1")!
                guard
                    case .on(let deadline, let fence) = try await gateway.ledger.startTravel(for: job, by: rider).get()
                else { throw Missing() }
                _ = try await gateway.feed.open(job, for: rider, until: deadline, fence: fence).get()
                try await gateway.connect("anna", .customer) { anna, received in
                    try await anna.send(.subscribe(job: job, since: nil))
                    _ = try await received.subscribed()
                    // Not a stream, so it cannot be read; all other keys can.
                    _ = try await gateway.client.run("SET", gateway.settings.liveState.keyspace.control, "blind")
                    _ = try await received.first { if case .degraded = $0 { true } else { nil } }
                    let id = try await Self.publish(gateway, job, rider)
                    // The message of the position is the first; the check of every followed job reads the position once more.
                    let isChecked = try await eventually(within: .seconds(60)) {
                        try await gateway.manage("/metrics").text.contains("enroute_positions_suppressed_total 2\n")
                    }
                    #expect(isChecked)
                    try await gateway.connect("anna", .customer) { other, receivedByOther in
                        try await other.send(.subscribe(job: job, since: nil))
                        let snapshot = try await receivedByOther.subscribed()
                        #expect(snapshot.position == nil && snapshot.tracking == .waiting)
                        let token = try await gateway.token("anna", .customer)
                        let answer = try await JobRoutesTests.ask(gateway, "GET", "/api/v1/jobs/\(job)", as: token)
                        #expect(answer.status == 200 && !answer.text.contains("47.25"), "\(answer.text)")
                        try await anna.send(.ping)
                        let isSuppressed = try await received.first { message -> Bool? in
                            switch message {
                            case .pong: true
                            case .location: false
                            default: nil
                            }
                        }
                        #expect(isSuppressed)

                        _ = try await gateway.client.run("DEL", gateway.settings.liveState.keyspace.control)
                        #expect(try await received.location().id == id)
                        #expect(try await receivedByOther.location().id == id)
                        // REST uses another loop, whose state becomes fresh independently.
                        try await becomes("REST shows the position too") {
                            let late = try await JobRoutesTests.ask(gateway, "GET", "/api/v1/jobs/\(job)", as: token)
                            return late.text.contains("47.25")
                        }
                    }
                }
            }
        }
    }

    private static func publish(_ gateway: RunningGateway, _ job: JobID, _ rider: PersonID) async throws -> UInt64 {
        let now = Int64(Date.now.timeIntervalSince1970 * 1000)
        let verdict = try await LocationPublisher(live: gateway.client, settings: gateway.settings.liveState).publish(
            Fix(at: now, place: Self.place), for: job, by: rider, receivedAt: now
        ).get()
        guard case .accepted(let id, _) = verdict else { throw Missing() }
        return id
    }

    @Test func `a new follower is not shown a revoked job by a resync for other followers`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                $0.limits.allowManyMessages()
            } _: { gateway in
                let job = try await gateway.travellingJob()
                let state = gateway.settings.liveState
                _ = try await RevocationLog(ledger: gateway.client, settings: state).revoke(
                    .job(job), by: PersonID("olga")!, because: "a test"
                ).get()
                let anna = try await gateway.token("anna", .customer)
                #expect(
                    try await eventually {
                        try await JobRoutesTests.ask(gateway, "GET", "/api/v1/jobs/\(job)", as: anna).status == 404
                    })
                // Operations staff keep following the job on every loop.
                try await Self.following(job, 4, gateway) {
                    let rereading = Task {
                        while !Task.isCancelled {
                            _ = try await gateway.client.run(
                                "SPUBLISH", state.keyspace.events(of: job), #"{"type":"assigned"}"#)
                        }
                    }
                    defer { rereading.cancel() }
                    try await gateway.connect("anna", .customer) { connection, received in
                        for _ in 0..<200 {
                            try await connection.send(.subscribe(job: job, since: nil))
                            let code = try await received.first { message -> ErrorCode? in
                                switch message {
                                case .error(let refusal): return refusal.code
                                case .subscribed, .reset, .status, .ended: throw Missing()
                                default: return nil
                                }
                            }
                            #expect(code == .notFound)
                        }
                    }
                }
            }
        }
    }

    /// Opens several sessions of operations staff that follow the job while `body` runs.
    private static func following(
        _ job: JobID, _ sessions: Int, _ gateway: RunningGateway, _ body: () async throws -> Void
    ) async throws {
        guard sessions > 0 else { return try await body() }
        try await gateway.connect("olga", .ops) { connection, messages in
            try await connection.send(.subscribe(job: job, since: nil))
            _ = try await messages.subscribed()
            try await Self.following(job, sessions - 1, gateway, body)
        }
    }
}
