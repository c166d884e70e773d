import Events
import Foundation
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// SNS messages with valid signatures, made with the test's own key and HTTPS server.
@Suite struct SNSRoutesTests {
    private struct Scenario: Sendable {
        let sender: EventRoutesTests.Sender
        let issuer: KeyIssuer
        let signer: TopicSigner
        let host: String

        /// Sends a message without a token and with the content type that SNS uses.
        func post(_ envelope: String) async throws -> (status: Int, text: String) {
            var request = URLRequest(url: URL(string: "http://127.0.0.1:\(self.sender.gateway.port)/api/v1/events")!)
            request.httpMethod = "POST"
            request.httpBody = Data(envelope.utf8)
            request.setValue("text/plain; charset=UTF-8", forHTTPHeaderField: "Content-Type")
            request.setValue("Notification", forHTTPHeaderField: "x-amz-sns-message-type")
            let (data, response) = try await URLSession.shared.data(for: request)
            return ((response as! HTTPURLResponse).statusCode, String(decoding: data, as: UTF8.self))
        }

        func metric(_ line: String) async throws -> Bool {
            try await self.sender.gateway.manage("/metrics").text.contains(line)
        }
    }

    private static func run(
        certificate: TopicSigner? = nil, maxRefusedTokens: Int = 1_000_000,
        _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) async throws {
        let signer = try TopicSigner()
        try await within {
            try await KeyIssuer.running(.body((certificate ?? signer).certificate)) { issuer in
                let host = "localhost:\(issuer.port)"
                let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-topics-\(UUID()).pem").path
                let authorities = try String(contentsOfFile: issuer.authorities, encoding: .utf8) + signer.authority
                try authorities.write(toFile: folder, atomically: true, encoding: .utf8)
                defer { try? FileManager.default.removeItem(atPath: folder) }
                let trust = try SNSVerifier(
                    topics: [TopicSigner.topic], hosts: [host], authorities: folder, longestWait: .seconds(60))
                try await RunningGateway.run(isSecure: false) {
                    $0.topics = trust
                    // All requests come from one address, in quick succession.
                    ($0.limits.refusedTokensPerAddressPerSecond, $0.limits.refusedTokensPerAddressBurst) = (
                        0, maxRefusedTokens
                    )
                } _: { gateway in
                    let token = try await gateway.token("orders", .service)
                    try await body(
                        Scenario(
                            sender: .init(gateway: gateway, token: token), issuer: issuer, signer: signer, host: host))
                }
            }
        }
    }

    @Test(arguments: [1, 2])
    func `a message of an accepted topic is processed, with both signature versions`(version: Int) async throws {
        try await Self.run { scenario in
            let created = try scenario.signer.envelope(
                EventRoutesTests.created, host: scenario.host, version: version, subject: "a job")
            let plain = try scenario.signer.envelope(
                #"{"type":"io.enroute.job.status","job":"j1","status":"accepted"}"#, host: scenario.host,
                version: version,
                id: "m-2")
            for _ in 0..<3 {
                for envelope in [created, plain] {
                    let answer = try await scenario.post(envelope)
                    #expect(answer.status == 200 && answer.text.contains(#""outcome":"applied""#), "\(answer)")
                }
            }
            #expect(try await scenario.sender.status() == "accepted")
            // The certificate is fetched once.
            #expect(scenario.issuer.asked == ["/SimpleNotificationService-0123456789abcdef.pem"])
            let isCounted = try await scenario.metric(#"enroute_events_processed_total{outcome="repeated"} 4"#)
            #expect(isCounted)
        }
    }

    @Test func `B12: a genuine message older than the maximum age is refused with the reason`() async throws {
        try await Self.run { scenario in
            for (sentAt, isTaken) in [
                (Date.now - 3500, true), (Date.now - 3700, false), (Date(timeIntervalSince1970: 1.6e9), false),
            ] {
                let envelope = try scenario.signer.envelope(
                    EventRoutesTests.created, host: scenario.host, sentAt: sentAt)
                let answer = try await scenario.post(envelope)
                #expect(answer.status == (isTaken ? 200 : 403), "\(answer)")
                #expect(answer.text.contains("too old") != isTaken, "\(answer)")
            }
            let isCounted = try await scenario.metric(#"enroute_events_refused_total{reason="unprocessable"} 2"#)
            #expect(isCounted)
        }
    }

    @Test(arguments: ["yesterday", "2026-11-21", "9999-12-31T23:59:59Z"])
    func `a genuine message whose time cannot be read is refused with the reason`(timestamp: String) async throws {
        try await Self.run { scenario in
            let envelope = try scenario.signer.envelope(
                EventRoutesTests.created, host: scenario.host, timestamp: timestamp)
            let answer = try await scenario.post(envelope)
            #expect(answer.status == 403 && answer.text.contains("has no readable time"), "\(answer)")
            #expect(!answer.text.contains("too old"), "\(answer)")
            let isCounted = try await scenario.metric(#"enroute_events_refused_total{reason="unprocessable"} 1"#)
            #expect(isCounted)
        }
    }

    @Test func `SNS retries an event that cannot be applied yet, and drops one that never can`() async throws {
        try await Self.run { scenario in
            let early = try scenario.signer.envelope(EventRoutesTests.status("e-1", "accepted"), host: scenario.host)
            #expect(try await scenario.post(early).status == 503)
            let never = try scenario.signer.envelope(EventRoutesTests.event("e-2", "lost", "{}"), host: scenario.host)
            #expect(try await scenario.post(never).status == 422)
        }
    }

    @Test func `a genuine subscription is confirmed by a request to its URL`()
        async throws
    {
        try await Self.run { scenario in
            let genuine = try scenario.signer.envelope("Confirm.", as: "SubscriptionConfirmation", host: scenario.host)
            #expect(try await scenario.post(genuine).status == 200)
            #expect(scenario.issuer.asked.contains("/?Action=ConfirmSubscription&Token=a-token"))
            let asked = scenario.issuer.asked.count
            let elsewhere = try scenario.signer.envelope(
                "Confirm.", as: "SubscriptionConfirmation", host: scenario.host
            ) {
                $0["SubscribeURL"] = "https://\(scenario.host)/?Action=DeleteTopic"
            }
            #expect(try await scenario.post(elsewhere).status == 403)
            #expect(scenario.issuer.asked.count == asked)
        }
    }

    @Test func `a forged message is refused and counted, and causes no request to a foreign URL`() async throws {
        try await Self.run { scenario in
            let cancelled = EventRoutesTests.event("e-1", "cancelled", #"{"job":"j1"}"#)
            _ = try await scenario.sender.send(EventRoutesTests.created)
            let changes: [(inout [String: String]) -> Void] = [
                { $0["Message"] = cancelled }, { $0["Signature"] = "AAAA" }, { $0["SignatureVersion"] = "1" },
                { $0["SignatureVersion"] = "3" }, { $0["MessageId"] = "m-9" },
                { $0["TopicArn"] = TopicSigner.topic + "-other" },
                { $0["SigningCertURL"] = "https://127.0.0.1:\(scenario.issuer.port)/x.pem" },
                { $0["SigningCertURL"] = "http://\(scenario.host)/x.pem" },
                { $0["SigningCertURL"] = "https://sns.eu-central-1.amazonaws.com@\(scenario.host)/x.pem" },
                { $0["SigningCertURL"] = "https://\(scenario.host)/?Action=x.pem" },
            ]
            for (index, change) in changes.enumerated() {
                let envelope = try scenario.signer.envelope(
                    EventRoutesTests.status("e-2", "accepted"), host: scenario.host, change)
                let answer = try await scenario.post(envelope)
                #expect(answer.status == 403, "\(index): \(answer)")
            }
            #expect(scenario.issuer.asked.count <= 1)
            #expect(try await scenario.sender.status() == "pending_vendor_acceptance")
            let isCounted = try await scenario.metric(
                #"enroute_events_refused_total{reason="forged"} \#(changes.count)"#)
            #expect(isCounted)
        }
    }

    @Test func `a genuine message from a locked-out address is processed, and a forged one has to wait`() async throws {
        try await Self.run(maxRefusedTokens: 3) { scenario in
            let strangers = try scenario.signer.envelope(
                EventRoutesTests.created, host: scenario.host, topic: TopicSigner.topic + "-other")
            for expected in [403, 403, 403, 429] {
                let answer = try await scenario.post(strangers)
                #expect(answer.status == expected, "\(answer)")
            }
            let genuine = try scenario.signer.envelope(EventRoutesTests.created, host: scenario.host)
            #expect(try await scenario.post(genuine).status == 200)
            let isCounted = try await scenario.metric(#"enroute_events_refused_total{reason="forged"} 3"#)
            #expect(isCounted)
        }
    }

    @Test func `a signature with an untrusted or expired certificate is refused`() async throws {
        for stranger in [try TopicSigner(), try TopicSigner(validity: -60)] {
            try await Self.run(certificate: stranger) { scenario in
                let envelope = try stranger.envelope(EventRoutesTests.created, host: scenario.host)
                #expect(try await scenario.post(envelope).status == 403)
                #expect(try await scenario.sender.status() == nil)
            }
        }
    }

    @Test func `SNS is asked to retry if the signing certificate cannot be fetched`() async throws {
        try await Self.run { scenario in
            scenario.issuer.publish(.status(500))
            let envelope = try scenario.signer.envelope(EventRoutesTests.created, host: scenario.host)
            #expect(try await scenario.post(envelope).status == 503)
            scenario.issuer.publish(.body(scenario.signer.certificate))
            #expect(try await scenario.post(envelope).status == 200)
        }
    }

    @Test func `a gateway without configured topics refuses all SNS messages`() async throws {
        try await EventRoutesTests.run { sender in
            var request = URLRequest(url: URL(string: "http://127.0.0.1:\(sender.gateway.port)/api/v1/events")!)
            request.httpMethod = "POST"
            request.setValue("Notification", forHTTPHeaderField: "x-amz-sns-message-type")
            request.httpBody = Data("{}".utf8)
            let response = try await URLSession.shared.data(for: request).1
            #expect((response as? HTTPURLResponse)?.statusCode == 403)
        }
    }
}
