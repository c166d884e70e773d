import Access
import EnrouteWire
import Foundation
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// Row I3 of the threat table for clients that do not read: the data their kernel still holds is discarded with the connection.
@Suite(.serialized, .needsMachine(for: .volume)) struct SlowReaderRevocationTests {
    /// Clients that do not read, in each of five runs.
    private static let readers = 250
    /// Approximately what each client's kernel receives, far less than what is sent.
    private static let kernelBytes: Int32 = 2048
    private static let positions = 60
    /// The promise of issue 5.
    private static let bound = TimeAmount.seconds(1)

    @Test(
        arguments: [
            (.user, false), (.token, false), (.job, false), (.user, false), (.token, true),
        ] as [(RevocationSubject.Kind, Bool)])
    func `I3: one second after a revocation, no byte reaches a client that does not read, 250 times`(
        kind: RevocationSubject.Kind, leaves: Bool
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { settings in
                settings.limits.allowManyMessages()
                (settings.limits.sessionsPerPerson, settings.limits.connectionsPerAddress) = (Self.readers, 0)
                (settings.limits.newConnectionsPerSecond, settings.limits.requestHeadSeconds) = (0, 60)
            } _: { gateway in
                try await Self.run(kind, leaves: leaves, gateway)
            }
        }
    }

    /// - Parameter leaves: clients close their side as soon as they are revoked, and leave the rest to the kernels.
    private static func run(_ kind: RevocationSubject.Kind, leaves: Bool, _ gateway: RunningGateway) async throws {
        let (job, rider) = (try await gateway.travellingJob(), PersonID("rider-1")!)
        guard case .on(let deadline, let fence) = try await gateway.ledger.startTravel(for: job, by: rider).get() else {
            throw Missing()
        }
        _ = try await gateway.feed.open(job, for: rider, until: deadline, fence: fence).get()
        let token = try await gateway.token("anna", .customer)
        let port = gateway.port
        let sockets = Inboxed<[RawSocket]>()
        try await blocking {
            sockets.value = try (0..<Self.readers).map { _ in try Self.follower(port, token, job) }
        }
        let all = sockets.value ?? []
        try await Self.fill(gateway, job, rider)

        let subject: RevocationSubject =
            switch kind {
            case .user: .user(PersonID("anna")!)
            case .token: .token(try token.tokenID)
            case .job, .link: .job(job)
            }
        let log = RevocationLog(ledger: gateway.client, settings: gateway.settings.liveState)
        let began = ContinuousClock.now
        let loop = gateway.client.eventLoop
        let isOver = loop.scheduleTask(in: Self.bound) {}.futureResult
        _ = try await log.revoke(subject, by: PersonID("ops-1")!, because: "a test").get()
        if leaves {
            let isTold = "enroute_sessions_revoked_total \(Self.readers)\n"
            #expect(try await gateway.eventually("/metrics") { $0.text.contains(isTold) })
            try await blocking { for socket in sockets.value ?? [] { socket.finish() } }
        }
        try await isOver.get()
        // A busy machine may need longer. The test claims that it happens to every client.
        if leaves {
            try await gateway.waitForSessions(0)
        } else {
            try await gateway.waitForMetric("enroute_connections_reset_total \(Self.readers)\n")
        }
        if ProcessInfo.processInfo.environment["ENROUTE_REPORT"] != nil {
            let time = ContinuousClock.now - began
            print("revocation of a \(kind): \(Self.readers) connections gone, seen after \(time)")
        }
        let received = all.map(\.bytesReceived)
        #expect(received.allSatisfy { $0 > 0 })
        // Now the clients read, which would deliver the rest if there were any.
        try await blocking { for socket in sockets.value ?? [] { _ = try socket.readToEndOrReset() } }
        let more = zip(all, received).count { $0.bytesReceived != $1 }
        #expect(more == 0)
        if kind != .job {
            let metrics = try await gateway.manage("/metrics").text
            #expect(metrics.contains("enroute_sessions_revoked_total \(Self.readers)\n"))
        }
    }

    /// Follows the job and then stops reading.
    private static func follower(_ port: Int, _ token: String, _ job: JobID) throws -> RawSocket {
        let socket = try RawSocket.session(port: port, token: token, kernelBytes: Self.kernelBytes)
        let subscribe = #"{"type":"subscribe","job":"\#(job)"}"#
        try socket.send(RawSocket.frame(0x81, Array(subscribe.utf8)))
        _ = try socket.readUntil(Array(#""type":"subscribed""#.utf8))
        return socket
    }

    /// Publishes more positions than the client's kernel can receive.
    private static func fill(_ gateway: RunningGateway, _ job: JobID, _ rider: PersonID) async throws {
        let publisher = LocationPublisher(live: gateway.client, settings: gateway.settings.liveState)
        let start = Int64(Date.now.timeIntervalSince1970 * 1000)
        for step in 0..<Int64(Self.positions) {
            let fix = Fix(at: start + step, place: Coordinate(latitude: 41.9, longitude: 12.5)!)
            _ = try await publisher.publish(fix, for: job, by: rider, receivedAt: start + step).get()
        }
        // All positions were offered to all followers.
        let least = Self.readers * Self.positions
        #expect(
            try await gateway.eventually("/metrics") { answer in
                let line = answer.text.split(separator: "\n").first { $0.hasPrefix("enroute_messages_relayed_total ") }
                return line.flatMap { Int($0.split(separator: " ")[1]) } ?? 0 >= least
            })
    }
}
