import Access
import EnrouteWire
import Foundation
import LiveState
import NIOCore
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// How event streams end if their clients disconnect early, or lose access without reading.
@Suite struct EventStreamEndTests {
    private static func request(_ job: JobID, _ authorization: String) -> String {
        "GET /api/v1/jobs/\(job)/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: \(authorization)\r\n\r\n"
    }

    private static func metrics(_ gateway: RunningGateway, say line: String) async throws -> Bool {
        try await eventually { try await gateway.manage("/metrics").text.contains(line) }
    }

    @Test func `B45: streams that are reset while they start leave nothing behind`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                let anna = "Bearer \(try await gateway.token("anna", .service))"
                let port = gateway.port
                try await blocking {
                    for number in 0..<80 {
                        let socket = try RawSocket(port: port)
                        socket.resetWhenClosed()
                        try socket.send(Self.request(job, anna))
                        // Between 0 and 2 ms later, so the connection is lost at any step of the setup.
                        let end = ContinuousClock.now + .microseconds(25 * number)
                        while ContinuousClock.now < end {}
                    }
                }
                try await gateway.waitForSessions(0)
                // A normal stream, which the gateway closes while draining.
                let stream = try await EventStreamReader.open(gateway, job, authorization: anna)
                _ = try await stream.first { if case .subscribed = $0 { true } else { nil } }
                try await gateway.waitForSessions(1)
                gateway.drain()
                while try await stream.next() != nil {}
            }
        }
    }

    @Test func `B45: streams that are reset immediately do not count toward their person's sessions`() async throws {
        try await within {
            try await RunningGateway.run(
                isSecure: false,
                {
                    ($0.limits.sessionsPerPerson, $0.limits.requestsPerPersonBurst) = (1, 1000)
                }
            ) { gateway in
                let job = try await gateway.travellingJob()
                let anna = "Bearer \(try await gateway.token("anna", .customer))"
                let port = gateway.port
                for _ in 0..<20 {
                    try await blocking {
                        let socket = try RawSocket(port: port)
                        socket.resetWhenClosed()
                        try socket.send(Self.request(job, anna))
                    }
                }
                // The only session that this person may have is available again.
                #expect(
                    try await eventually {
                        try await EventStreamReader.open(gateway, job, authorization: anna).status == 200
                    })
            }
        }
    }

    @Test func `B45: a viewer lease is released if its stream disconnects before it starts`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                let made = try await gateway.rest(
                    "POST", "/api/v1/jobs/\(job)/links", by: "orders", .service, #"{"viewers":1}"#)
                let link = "Link \(try #require(made.member("link") as String?))"
                // The viewer lease is requested, and the answer arrives after the client has disconnected.
                let port = gateway.port
                try await gateway.whileWritesWait {
                    try await blocking {
                        let socket = try RawSocket(port: port)
                        socket.resetWhenClosed()
                        try socket.send(Self.request(job, link))
                        return Boxed(socket)
                    }
                }
                #expect(
                    try await eventually {
                        try await EventStreamReader.open(gateway, job, authorization: link).status == 200
                    })
            }
        }
    }

    enum Cause: CaseIterable { case user, link, customer, tokenEnd }

    /// Far less than what is sent.
    private static let kernelBytes: Int32 = 2048
    private static let positions = 60

    @Test(arguments: Cause.allCases)
    func `B46: after access is lost, no byte reaches an event stream that does not read`(
        cause: Cause
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { settings in
                settings.limits.allowManyMessages()
                settings.limits.sessionsPerPerson = 0
            } _: { gateway in
                try await Self.run(cause, readers: cause == .tokenEnd ? 4 : 20, gateway)
            }
        }
    }

    private static func run(_ cause: Cause, readers: Int, _ gateway: RunningGateway) async throws {
        let (job, rider) = (try await gateway.travellingJob(), PersonID("rider-1")!)
        guard case .on(let deadline, let fence) = try await gateway.ledger.startTravel(for: job, by: rider).get() else {
            throw Missing()
        }
        _ = try await gateway.feed.open(job, for: rider, until: deadline, fence: fence).get()
        let made = try await gateway.rest(
            "POST", "/api/v1/jobs/\(job)/links", by: "orders", .service, #"{"viewers":100}"#)
        let authorization =
            switch cause {
            case .link: "Link \(try #require(made.member("link") as String?))"
            // It expired 24 s ago, within the allowed clock difference of 30 s.
            case .tokenEnd: "Bearer \(try await gateway.token("anna", .customer, lifetime: -24))"
            case .user, .customer: "Bearer \(try await gateway.token("anna", .customer))"
            }
        let port = gateway.port
        let sockets = try await blocking {
            Boxed(
                try (0..<readers).map { _ in
                    let socket = try RawSocket(port: port, kernelBytes: Self.kernelBytes)
                    try socket.send(Self.request(job, authorization))
                    _ = try socket.readUntil(Array(#""type":"subscribed""#.utf8))
                    return socket
                })
        }
        try await self.fill(gateway, job, rider, readers: readers)
        switch cause {
        case .user: _ = try await gateway.rest("DELETE", "/api/v1/grants/users/anna", by: "orders", .service)
        case .link:
            let id = try #require(made.member("id") as String?)
            _ = try await gateway.rest("DELETE", "/api/v1/grants/links/\(id)", by: "orders", .service)
        case .customer:
            _ = try await gateway.rest(
                "PUT", "/api/v1/jobs/\(job)/assignment", by: "orders", .service, #"{"customer":"bert"}"#)
        case .tokenEnd: break
        }
        let line = "enroute_connections_reset_total \(readers)\n"
        #expect(try await Self.metrics(gateway, say: line))
        let received = sockets.value.map(\.bytesReceived)
        #expect(received.allSatisfy { $0 > 0 })
        // Now the clients read, which would deliver the rest if there were any.
        try await blocking { for socket in sockets.value { _ = try socket.readToEndOrReset() } }
        #expect(zip(sockets.value, received).allSatisfy { $0.bytesReceived == $1 })
        try await gateway.waitForSessions(0)
    }

    /// Publishes more positions than the client's kernel can receive, to all followers.
    private static func fill(_ gateway: RunningGateway, _ job: JobID, _ rider: PersonID, readers: Int) async throws {
        let publisher = LocationPublisher(live: gateway.client, settings: gateway.settings.liveState)
        let start = Int64(Date.now.timeIntervalSince1970 * 1000)
        for step in 0..<Int64(Self.positions) {
            let fix = Fix(at: start + step, place: Coordinate(latitude: 41.9, longitude: 12.5)!)
            _ = try await publisher.publish(fix, for: job, by: rider, receivedAt: start + step).get()
        }
        #expect(
            try await gateway.eventually("/metrics") { answer in
                let line = answer.text.split(separator: "\n").first { $0.hasPrefix("enroute_messages_relayed_total ") }
                return line.flatMap { Int($0.split(separator: " ")[1]) } ?? 0 >= readers * Self.positions
            })
    }

    @Test func `B46: a client that reads learns that the job was reassigned and why the stream ends`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                let stream = try await EventStreamReader.open(gateway, job, by: "anna", .customer)
                _ = try await stream.first { if case .subscribed = $0 { true } else { nil } }
                _ = try await gateway.rest(
                    "PUT", "/api/v1/jobs/\(job)/assignment", by: "orders", .service, #"{"customer":"bert"}"#)
                let end = try await stream.first { if case .ended(_, let reason) = $0 { reason } else { nil } }
                #expect(end == .revoked)
                let close = try await stream.next()
                #expect(close?.name == "close" && close?.data.contains(#""code":1000"#) == true)
                let nothing = try await stream.next()
                #expect(nothing == nil)
            }
        }
    }

    @Test func `a stream whose job cannot be read at the moment ends with the code that asks to reconnect`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                let first = try await EventStreamReader.open(gateway, job, by: "anna", .customer)
                _ = try await first.first { if case .subscribed = $0 { true } else { nil } }
                first.finish()
                try await gateway.waitForSessions(0)
                _ = try await gateway.ledger.publish(
                    .workInProgress, of: job, by: PersonID("service")!, source: "event"
                ).get()
                // Gateways need this command only for the events that a client missed, so the stream starts before it fails.
                try await gateway.client.run("ACL", "SETUSER", "default", "-xrange")
                let stream = try await EventStreamReader.open(
                    gateway, job, by: "anna", .customer, lastEventID: first.lastEventID)
                #expect(stream.status == 200)
                let refusal = try await stream.first { if case .error(let refusal) = $0 { refusal } else { nil } }
                #expect(refusal.code.isRetryable, "\(refusal)")
                let close = try await stream.next()
                #expect(close?.name == "close" && close?.data.contains(#""code":4003"#) == true)
            }
        }
    }
}

extension RunningGateway {
    /// Pauses all writes in Redis from before `body` until at least one command is waiting. Other commands are answered.
    func whileWritesWait<Held: Sendable>(_ body: () async throws -> Held) async throws {
        _ = try await self.client.send(["CLIENT", "PAUSE", "60000", "WRITE"]).get()
        var held: Held? = try await body()
        let isWaiting = try await TestSupport.eventually {
            let info = try await self.client.send(["INFO", "clients"]).get().text ?? ""
            return info.contains("blocked_clients:") && !info.contains("blocked_clients:0")
        }
        // The value that `body` holds open is released before the writes continue.
        if held != nil { held = nil }
        _ = try await self.client.send(["CLIENT", "UNPAUSE"]).get()
        if !isWaiting { throw Missing() }
    }
}
