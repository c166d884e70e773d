import Access
import EnrouteWire
import Foundation
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// One ticket, used on two gateways at the same time.
@Suite(.needsMachine(for: .faults)) struct TicketRaceTests {
    private static let (tickets, lanes) = (1_000, 4)

    /// Whether the gateway accepts this ticket.
    private static func isAccepted(_ ticket: String, port: Int) async throws -> Bool {
        try await blocking {
            let socket = try RawSocket(port: port)
            try socket.send(RawSocket.upgrade("/v1", "Sec-WebSocket-Protocol: enroute.v1, ticket.\(ticket)\r\n"))
            var received = ""
            while true {
                let bytes = try socket.read()
                guard !bytes.isEmpty else { throw Missing() }
                received += String(decoding: bytes, as: UTF8.self)
                if received.contains(#""type":"welcome""#) { return true }
                if received.contains("ticket invalid or expired") { return false }
            }
        }
    }

    @Test func `S1: a ticket used on two gateways at the same time opens exactly one session, 1,000 times`()
        async throws
    {
        let settings: @Sendable (inout GatewaySettings) -> Void = {
            $0.limits.sessionsPerPerson = 0
            $0.limits.refusedTokensPerAddressBurst = 1_000_000
            ($0.limits.newConnectionsPerSecond, $0.limits.connectionsPerAddress) = (0, 0)
        }
        try await within(.seconds(240)) {
            try await RunningGateway.run(isSecure: false, settings) { first in
                let addresses = (first.settings.live, first.settings.ledger)
                try await RunningGateway.run(isSecure: false, at: addresses, settings) { second in
                    let issuer = Tickets(live: first.client, settings: first.settings.liveState)
                    let now = Int64(Date.now.timeIntervalSince1970)
                    let holder = Tickets.Holder(
                        person: PersonID("anna")!, role: "customer", job: nil, rider: nil, token: "t", issuedAt: now,
                        expiresAt: now + 900)
                    let opened = try await withThrowingTaskGroup(of: [Int].self) { group in
                        for _ in 0..<Self.lanes {
                            group.addTask {
                                var opened: [Int] = []
                                for _ in 0..<Self.tickets / Self.lanes {
                                    let ticket = try await issuer.issue(to: holder).get()
                                    async let one = Self.isAccepted(ticket, port: first.port)
                                    async let other = Self.isAccepted(ticket, port: second.port)
                                    opened.append(try await [one, other].count { $0 })
                                }
                                return opened
                            }
                        }
                        return try await group.reduce(into: []) { $0 += $1 }
                    }
                    #expect(opened == Array(repeating: 1, count: Self.tickets))
                }
            }
        }
    }
}
