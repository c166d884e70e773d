import EnrouteWire
import Foundation
import Synchronization
import TestSupport
import Testing

/// Locations and tokens must not be written to any file.
@Suite struct SecretsOnDiskTests {
    private static let place = #""lat":51.987654,"lon":4.123987"#

    private static func location(_ job: String, at time: Int64, _ more: String = "") -> String {
        #"{"type":"location","job":"\#(job)","seq":1,"fixes":[{"at":\#(time),\#(self.place)\#(more)}]}"#
    }

    private static var now: Int64 { Int64(Date.now.timeIntervalSince1970 * 1000) }

    private struct NotReceived: Error {
        let word: String
        let received: String
    }

    /// Sends a message and reads until `word` has arrived.
    private static func send(_ session: RawSocket, _ message: String, until word: String) throws {
        try session.send(RawSocket.longFrame(0x81, Array(message.utf8)))
        var received: [UInt8] = []
        while !String(decoding: received, as: UTF8.self).contains(word) {
            let bytes = try session.read()
            guard !bytes.isEmpty else {
                throw NotReceived(word: word, received: String(decoding: received, as: UTF8.self))
            }
            received += bytes
        }
    }

    private static func makeVisits(_ site: DeployedSite) async throws {
        let service = try await site.token("orders", "service")
        for (job, rider) in [("visit-1", "rider-1"), ("visit-2", "rider-2")] {
            let body = #"{"job":"\#(job)","kind":"service","customer":"anna","rider":"\#(rider)"}"#
            try #require(try await site.rest("POST", "/api/v1/jobs", as: service, body).hasPrefix("HTTP/1.1 201 "))
            let answer = try await site.rest(
                "POST", "/api/v1/jobs/\(job)/status", as: service, #"{"status":"on_the_way"}"#)
            try #require(answer.hasPrefix("HTTP/1.1 200 "), "\(answer)")
        }
    }

    @Test(arguments: [SIGKILL, SIGSEGV])
    func `I2: a known coordinate is in no file on disk`(end: Int32) async throws {
        let slowlogs = Mutex("")
        let (hits, files) = try await DeployedSite.findings {
            ["51.987654", "51.98765", "4.123987", "51987654", "4123987", "5.1987654"]
        } after: { site in
            try await Self.makeVisits(site)
            let (rider, anna) = (try await site.token("rider-1", "rider"), try await site.token("anna", "customer"))
            let port = site.port
            try await blocking {
                let follower = try RawSocket.session(port: port, token: anna)
                try Self.send(follower, #"{"type":"subscribe","job":"visit-1"}"#, until: #""type":"subscribed""#)
                let session = try RawSocket.session(port: port, token: rider)
                try Self.send(
                    session, #"{"type":"travel","job":"visit-1","active":true}"#, until: #""replyTo":"travel""#)
                // Accepted and delivered.
                try Self.send(session, Self.location("visit-1", at: Self.now), until: #""type":"ok""#)
                try Self.send(follower, #"{"type":"ping"}"#, until: "51.987654")
                // Refused: too old, in the future, for another rider's job, with an invalid accuracy, truncated.
                try Self.send(session, Self.location("visit-1", at: Self.now - 3_600_000), until: "stale_position")
                try Self.send(session, Self.location("visit-1", at: Self.now + 3_600_000), until: "future_position")
                try Self.send(session, Self.location("visit-2", at: Self.now), until: #""type":"error""#)
                try Self.send(session, Self.location("visit-1", at: Self.now, #","acc":-1"#), until: "bad_request")
                try Self.send(session, String(Self.location("visit-1", at: 1).dropLast(3)), until: "bad_request")
                try Self.send(session, #"{"type":"\#(Self.place.replacing("\"", with: ""))"}"#, until: "bad_request")
                // Travel mode off and on again, with a position that is stored.
                try Self.send(
                    session, #"{"type":"travel","job":"visit-1","active":false}"#, until: #""replyTo":"travel""#)
                try Self.send(session, Self.location("visit-1", at: Self.now), until: "travel_mode_off")
                try Self.send(
                    session, #"{"type":"travel","job":"visit-1","active":true}"#, until: #""replyTo":"travel""#)
                try Self.send(session, Self.location("visit-1", at: Self.now), until: #""type":"ok""#)
                // Messages that close the session: too long, binary, not UTF-8, before signing in, not a frame.
                let long = Array((Self.place + String(repeating: " ", count: 5000)).utf8)
                let place = Array(Self.place.utf8)
                for bytes in [
                    RawSocket.longFrame(0x81, long), RawSocket.frame(0x82, place),
                    RawSocket.frame(0x81, place + [0xFF]),
                    RawSocket.frame(0x83, place), place,
                ] {
                    let session = try RawSocket.session(port: port, token: rider)
                    try session.send(bytes)
                    // Reads the close frame and does not answer it.
                    _ = try? session.read()
                }
                let stranger = try RawSocket(port: port)
                try stranger.send(RawSocket.upgrade("/v1", "Sec-WebSocket-Protocol: enroute.v1\r\n"))
                _ = try stranger.readUntil(Array("\r\n\r\n".utf8))
                try stranger.send(RawSocket.frame(0x81, place))
                _ = try? stranger.read()
            }
            // Coordinates in places where none belong.
            for path in ["/api/v1/jobs/51.987654", "/track/51.987654,4.123987", "/api/v1/jobs/visit-1?lat=51.987654"] {
                _ = try await site.rest("GET", path, as: anna)
            }
            _ = try await site.rest("POST", "/api/v1/jobs", as: anna, "{\(Self.place)}")
            _ = try await site.rest("POST", "/api/v1/jobs/visit-1/status", as: rider, #"{"status":"51.987654"}"#)
            _ = try await site.send("51.987654 4.123987\r\n\r\n")
            let metrics = try await site.send(
                "GET /metrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", isPublic: false)
            #expect(metrics.contains("enroute_messages_received_total") && !metrics.contains("51.98"))

            #expect(try await site.redis(.ledger, "SAVE").contains("OK"))
            let slow = [
                try await site.redis(.live, "SLOWLOG", "GET", "100000"),
                try await site.redis(.ledger, "SLOWLOG", "GET", "100000"),
            ].joined()
            slowlogs.withLock { $0 = slow }
            // A location is being sent while everything is killed.
            try await blocking {
                let session = try RawSocket.session(port: port, token: rider)
                try session.send(RawSocket.frame(0x81, Array(Self.location("visit-1", at: Self.now).utf8)))
                site.gateway.send(end)
                site.live.send(SIGKILL)
                site.ledger.send(SIGKILL)
                _ = try? session.readToEnd()
            }
        }
        #expect(hits == [])
        #expect(slowlogs.withLock { $0.contains("EVAL") && !$0.contains("51.98") && !$0.contains("4.1239") })
        for file in ["gateway.log", "live.log", "ledger.log"] { #expect(files.contains(file)) }
        #expect(files.contains { $0.hasSuffix(".rdb") } && files.contains { $0.hasSuffix(".aof") }, "\(files)")
        #expect(!files.contains { $0.contains("core") }, "\(files)")
    }

    @Test func `I2: the search finds what is written to disk`() async throws {
        let (hits, _) = try await DeployedSite.findings {
            ["visit-1"]
        } after: { site in
            try await Self.makeVisits(site)
        }
        #expect(hits.contains { $0.contains(".aof") }, "\(hits)")
    }

    @Test func `S6: no log and no metric contains a token, however it was sent`() async throws {
        let secrets = Mutex<[String]>([])
        let (hits, files) = try await DeployedSite.findings {
            secrets.withLock { $0 }
        } after: { site in
            try await Self.makeVisits(site)
            let good = try await site.token("anna", "customer")
            let others = try await [site.token("bert", "customer"), site.token("anna", "ops")]
            let bad = String(good.dropLast(4)) + "AAAA"
            // The payloads and the signatures, so parts of a token are found too.
            secrets.withLock { secrets in
                secrets = ([good, bad] + others).flatMap { $0.split(separator: ".").dropFirst().map(String.init) }
            }
            let made = try await site.rest("POST", "/api/v1/tickets", as: good)
            let ticket = String(try #require(made.firstMatch(of: /"ticket":"([0-9a-f]{32})"/)).1)
            secrets.withLock { $0.append(ticket) }
            for token in [good, bad] {
                for header in [
                    "Authorization: Bearer \(token)", "Authorization: Basic \(token)", "Cookie: token=\(token)",
                ] {
                    for path in ["/api/v1/jobs/visit-1", "/track/visit-1", "/v1", "/\(token)"] {
                        _ = try await site.send(
                            "GET \(path) HTTP/1.1\r\nHost: h\r\n\(header)\r\nConnection: close\r\n\r\n")
                    }
                }
                for path in [
                    "/v1?token=\(token)", "/api/v1/jobs/j?access_token=\(token)", "/track/j?a=b&JWT=\(token)",
                    "/?x=\(token)",
                ] {
                    _ = try await site.send("GET \(path) HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                }
                _ = try await site.send("\(token)\r\n\r\n")
                _ = try await site.rest("POST", "/api/v1/jobs", as: good, #"{"token":"\#(token)","#)
            }
            let port = site.port
            try await blocking {
                for offer in ["", ", ticket.\(ticket)", ", ticket.\(ticket)", ", ticket.\(good)", ", \(good)"] {
                    for message in [
                        #"{"type":"auth","token":"\#(good)"}"#, #"{"type":"auth","token":"\#(bad)"}"#,
                        #"{"type":"auth","link":"\#(good)"}"#, #"{"type":"\#(good)"}"#, "{\(good)",
                    ] {
                        let socket = try RawSocket(port: port)
                        try socket.send(RawSocket.upgrade("/v1", "Sec-WebSocket-Protocol: enroute.v1\(offer)\r\n"))
                        _ = try socket.readUntil(Array("\r\n\r\n".utf8))
                        for text in [message] + (others + [bad, good]).map({ #"{"type":"refresh","token":"\#($0)"}"# })
                        {
                            try? socket.send(RawSocket.frame(0x81, Array(text.utf8)))
                        }
                        try? socket.sayGoodbye()
                    }
                }
            }
            let metrics = try await site.send(
                "GET /metrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", isPublic: false)
            #expect(metrics.contains("enroute_requests_refused_total"))
            for secret in secrets.withLock({ $0 }) { #expect(!metrics.contains(secret)) }
        }
        #expect(hits == [])
        #expect(files.contains("gateway.log"))
    }
}
