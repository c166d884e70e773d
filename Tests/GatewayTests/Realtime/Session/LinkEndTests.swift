import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import NIOCore
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// How sessions by a tracking link end with the job of the link.
@Suite struct LinkEndTests {
    private static let service = PersonID("service")!
    private static let isInvalid = ClientError.closed(code: 4500, reason: "link invalid or expired")
    /// Far less than what is sent.
    private static let kernelBytes: Int32 = 2048
    private static let positions = 400

    private static func run(
        _ change: @escaping @Sendable (inout GatewaySettings) -> Void = { _ in },
        _ body: @escaping @Sendable (RunningGateway, JobID, _ secret: String, _ viewers: String) async throws -> Void
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, change) { gateway in
                let job = try await gateway.travellingJob()
                let links = TrackingLinks(ledger: gateway.client, settings: gateway.settings.liveState)
                let link = try await links.issueDurably(
                    for: job, of: PersonID("anna")!, viewers: 1, by: Self.service
                ).get().value
                try await body(
                    gateway, job, link.secret, gateway.settings.liveState.keyspace.viewers(ofLink: link.id))
            }
        }
    }

    private static func complete(_ job: JobID, _ gateway: RunningGateway) async throws {
        for status in [JobStatus.workInProgress, .completed] {
            _ = try await gateway.ledger.publish(status, of: job, by: Self.service, source: "event").get()
        }
    }

    @Test func `a viewer receives how the job ended, then the session is closed and its lease is free`() async throws {
        try await Self.run { gateway, job, secret, viewers in
            try await gateway.unsigned { connection, messages in
                try await connection.send(.auth(.link(secret)))
                _ = try await messages.welcome()
                try await connection.send(.subscribe(job: job, since: nil))
                _ = try await messages.subscribed()
                try await Self.complete(job, gateway)
                let reason = try await messages.first { if case .ended(job, let reason) = $0 { reason } else { nil } }
                #expect(reason == .completed)
                await #expect(throws: Self.isInvalid) { while try await messages.next() != nil {} }
            }
            try await becomes("the place is free") {
                try await gateway.client.run("EXISTS", viewers) == .integer(0)
            }
        }
    }

    @Test func `a viewer that unsubscribes stays, and reads nothing of the job once it has ended`() async throws {
        try await Self.run { gateway, job, secret, _ in
            try await gateway.unsigned { connection, messages in
                try await connection.send(.auth(.link(secret)))
                _ = try await messages.welcome()
                try await connection.send(.subscribe(job: job, since: nil))
                _ = try await messages.subscribed()
                try await connection.send(.unsubscribe(job: job))
                _ = try await messages.first { if case .ok("unsubscribe", _, _, _, _) = $0 { true } else { nil } }
                try await connection.send(.ping)
                _ = try await messages.first { if case .pong = $0 { true } else { nil } }
                try await Self.complete(job, gateway)
                try await connection.send(.subscribe(job: job, since: nil))
                await #expect(throws: Self.isInvalid) {
                    while let message = try await messages.next() {
                        if case .subscribed = message { Issue.record("the job was shown") }
                    }
                }
            }
        }
    }

    @Test func `a viewer that never follows the job is disconnected when its lease is renewed`() async throws {
        try await Self.run {
            $0.viewerLeaseRenewal = .milliseconds(100)
        } _: { gateway, job, secret, viewers in
            try await gateway.unsigned { connection, messages in
                try await connection.send(.auth(.link(secret)))
                _ = try await messages.welcome()
                try await Self.complete(job, gateway)
                await #expect(throws: Self.isInvalid) { while try await messages.next() != nil {} }
            }
            try await becomes("the place is free") {
                try await gateway.client.run("EXISTS", viewers) == .integer(0)
            }
        }
    }

    @Test func `a viewer that follows the job keeps its session when its lease is renewed`() async throws {
        try await Self.run {
            $0.viewerLeaseRenewal = .milliseconds(100)
        } _: { gateway, job, secret, viewers in
            try await gateway.unsigned { connection, messages in
                try await connection.send(.auth(.link(secret)))
                let session = try await messages.welcome().session
                try await connection.send(.subscribe(job: job, since: nil))
                _ = try await messages.subscribed()
                func until() async throws -> Int64 {
                    try await gateway.client.run("ZSCORE", viewers, session).text.flatMap { Int64($0) } ?? 0
                }
                let first = try await until()
                try await becomes("the lease is renewed") { try await until() > first }
                try await Self.complete(job, gateway)
                let reason = try await messages.first { if case .ended(job, let reason) = $0 { reason } else { nil } }
                #expect(reason == .completed)
                await #expect(throws: Self.isInvalid) { while try await messages.next() != nil {} }
            }
        }
    }

    @Test func `a viewer that reads late still receives how the job ended before the close frame`() async throws {
        try await Self.run {
            $0.limits.allowManyMessages()
            $0.limits.socketSendBytes = 4096
        } _: { gateway, job, secret, _ in
            let port = gateway.port
            let viewer = try await blocking { Boxed(try Self.follower(port, secret, job)) }
            try await Self.fill(gateway, job)
            try await Self.complete(job, gateway)
            // The status waits behind positions that the client has not read.
            #expect(
                try await gateway.eventually("/metrics") { answer in
                    !answer.text.contains("enroute_messages_queued_total 0\n")
                })
            let received = try await blocking { String(decoding: try viewer.value.readToEndOrReset(), as: UTF8.self) }
            let ended = try #require(received.range(of: #""type":"ended","job":"\#(job)","reason":"completed""#))
            let close = try #require(received.range(of: "link invalid or expired"))
            #expect(ended.upperBound < close.lowerBound)
        }
    }

    /// Follows the job by the link and then stops reading.
    private static func follower(_ port: Int, _ secret: String, _ job: JobID) throws -> RawSocket {
        let socket = try RawSocket(port: port, kernelBytes: Self.kernelBytes)
        try socket.send(RawSocket.upgrade("/v1", "Sec-WebSocket-Protocol: enroute.v1\r\n"))
        for message in [#"{"type":"auth","link":"\#(secret)"}"#, #"{"type":"subscribe","job":"\#(job)"}"#] {
            try socket.send(RawSocket.frame(0x81, Array(message.utf8)))
        }
        _ = try socket.readUntil(Array(#""type":"subscribed""#.utf8))
        return socket
    }

    /// Publishes more positions than the kernels can hold for a client that does not read.
    private static func fill(_ gateway: RunningGateway, _ job: JobID) async throws {
        let rider = PersonID("rider-1")!
        guard case .on(let deadline, let fence) = try await gateway.ledger.startTravel(for: job, by: rider).get() else {
            throw Missing()
        }
        _ = try await gateway.feed.open(job, for: rider, until: deadline, fence: fence).get()
        let publisher = LocationPublisher(live: gateway.client, settings: gateway.settings.liveState)
        let start = Int64(Date.now.timeIntervalSince1970 * 1000)
        for step in 0..<Int64(Self.positions) {
            let fix = Fix(at: start + step, place: Coordinate(latitude: 41.9, longitude: 12.5)!)
            _ = try await publisher.publish(fix, for: job, by: rider, receivedAt: start + step).get()
        }
    }
}
