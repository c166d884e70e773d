import Foundation
import Synchronization
import TestSupport
import Testing

/// Gateways behind HAProxy 2.6, which checks `/readyz`.
@Suite(.needsMachine(for: .faults)) struct BalancerTests {
    /// Sessions on blocking sockets, used by one thread at a time.
    private final class Crowd: @unchecked Sendable {
        var followers: [RawSocket] = []
        var rider: RawSocket?

        /// Reads until `text` has arrived.
        ///
        /// - Throws: when the connection closes before that.
        static func receive(_ session: RawSocket, _ text: String) throws {
            var received: [UInt8] = []
            while !String(decoding: received, as: UTF8.self).contains(text) {
                let bytes = try session.read()
                guard !bytes.isEmpty else {
                    throw Disconnected(
                        description: "disconnected before \(text): \(String(decoding: received, as: UTF8.self))")
                }
                received += bytes
            }
        }

        static func send(_ session: RawSocket, _ message: String, until text: String) throws {
            try session.send(RawSocket.longFrame(0x81, Array(message.utf8)))
            try Self.receive(session, text)
        }

        func travel(to latitude: Double) throws {
            let now = Int64(Date.now.timeIntervalSince1970 * 1000)
            let fix = #"{"at":\#(now),"lat":\#(latitude),"lon":12.5}"#
            try Self.send(
                self.rider!, #"{"type":"location","job":"visit-1","seq":\#(now),"fixes":[\#(fix)]}"#,
                until: #""type":"ok""#)
            for follower in self.followers { try Self.receive(follower, "\"at\":\(now)") }
        }

        func allReceive(_ text: String) throws {
            for session in self.followers + [self.rider!] { try Self.receive(session, text) }
        }
    }

    private struct Disconnected: Error, CustomStringConvertible {
        let description: String
    }

    @Test
    func
        `B29: while Redis is down the balancer keeps all gateways, no client is disconnected, and locations flow again afterwards`()
        async throws
    {
        try await BalancedSite.run(gateways: 2, cutsSessions: true) { site in
            try await site.makeVisit("visit-1", customer: "anna", rider: "rider-1")
            let (anna, rider) = (try await site.token("anna", "customer"), try await site.token("rider-1", "rider"))
            let (crowd, port) = (Crowd(), site.port)
            try await blocking {
                for _ in 0..<6 {
                    let follower = try RawSocket.session(port: port, token: anna)
                    try Crowd.send(follower, #"{"type":"subscribe","job":"visit-1"}"#, until: #""type":"subscribed""#)
                    crowd.followers.append(follower)
                }
                let session = try RawSocket.session(port: port, token: rider)
                try Crowd.send(
                    session, #"{"type":"travel","job":"visit-1","active":true}"#, until: #""replyTo":"travel""#)
                crowd.rider = session
                try crowd.travel(to: 41.901)
            }
            #expect(try await site.servers().allSatisfy { $0.connections > 0 })

            await site.redis.crash()
            // Clients are notified after two seconds: 20 checks of the balancer, of which three failures would mark a gateway
            // down.
            try await blocking { try crowd.allReceive(#""type":"degraded""#) }
            for gateway in site.gateways {
                #expect(try await site.manage(gateway, "/readyz").hasPrefix("HTTP/1.1 200 "))
                let health = try await site.manage(gateway, "/healthz")
                #expect(health.contains(#""status":"degraded""#), "\(health)")
                #expect(health.contains(/"name":"redis_live","place":"unix:[^"]+","since":"20[^"]+Z","state":"down"/))
                let metrics = try await site.manage(gateway, "/metrics")
                #expect(metrics.contains("\nenroute_dependency_up{dependency=\"redis_live\"} 0\n"))
            }

            try await site.redis.start()
            try await blocking {
                try crowd.allReceive(#""type":"restored""#)
                try crowd.travel(to: 41.9012)
            }
            let servers = try await site.servers()
            #expect(servers.allSatisfy { $0.status == "UP" && $0.downs == 0 }, "\(servers)")
            for gateway in site.gateways {
                #expect(try await site.manage(gateway, "/healthz").contains(#""status":"ok""#))
            }
        }
    }

    @Test
    func
        `B15: no connection is lost until the balancer has marked a stopping gateway down, and it gets none after that`()
        async throws
    {
        try await BalancedSite.run(
            gateways: 2, cutsSessions: false, ["ENROUTE_DRAIN_ACCEPT_SECONDS": "30", "ENROUTE_DRAIN_SECONDS": "1"]
        ) { site in
            let port = site.port
            @Sendable func visit() async throws {
                let answer = try await blocking {
                    let socket = try RawSocket(port: port)
                    try socket.send("GET /track/j HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    return String(decoding: try socket.readToEnd(), as: UTF8.self)
                }
                #expect(answer.hasPrefix("HTTP/1.1 200 "), "\(answer.prefix(80))")
            }
            site.gateways[0].send(.terminate)
            var visits = 0
            while try await site.servers()[0].status != "DOWN" {
                try await visit()
                visits += 1
            }
            #expect(visits > 0)
            let before = try await site.servers()
            for _ in 0..<8 { try await visit() }
            let after = try await site.servers()
            #expect(after[0].connections == before[0].connections)
            #expect(after[1].connections == before[1].connections + 8)
            #expect(after[1].downs == 0)
        }
    }
}
