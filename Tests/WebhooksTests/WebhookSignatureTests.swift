import Foundation
import TestSupport
import Testing
import Webhooks

@Suite struct WebhookSignatureTests {
    @Test func `the signature is the one that the specification's libraries calculate`() {
        // From the test vectors of the reference implementation (github.com/standard-webhooks/standard-webhooks).
        let header = WebhookSignature.header(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330, body: #"{"test": 2432232314}"#,
            secrets: ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])
        #expect(header == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test func `the example in the guide has the signature of its body`() throws {
        let guide = try String(contentsOf: Checkout.root.appending(path: "deploy/webhooks.md"), encoding: .utf8)
        let example = try #require(guide.firstMatch(of: /(?s)```text\nPOST .*?\n\n(\{.*?)\n```/)).output
        func header(_ name: String) throws -> String {
            try #require(example.0.firstMatch(of: Regex("(?m)^\(name): (.+)$", as: (Substring, Substring).self))?.1)
                .description
        }
        let secret = try #require(guide.firstMatch(of: /`(whsec_[A-Za-z0-9+\/=]+)`/)?.1)
        let body = example.1.replacing("\n", with: "")
        let id = try header("webhook-id")
        let signature = WebhookSignature.header(
            id: id, timestamp: try #require(Int64(try header("webhook-timestamp"))), body: String(body),
            secrets: [String(secret)])
        #expect(try header("webhook-signature") == signature)
        let json = try #require(try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any])
        #expect(json["id"] as? String == id)
    }

    @Test func `each secret signs, and a malformed one does not`() {
        let secrets = [WebhookSignature.makeSecret(), "whsec_short", WebhookSignature.makeSecret(), ""]
        let header = WebhookSignature.header(id: "a", timestamp: 1, body: "{}", secrets: secrets)
        let signatures = header.split(separator: " ")
        #expect(signatures.count == 2 && Set(signatures).count == 2)
        #expect(signatures.allSatisfy { $0.hasPrefix("v1,") })
    }

    @Test func `a new secret has 32 random bytes`() {
        let secrets = (0..<10).map { _ in WebhookSignature.makeSecret() }
        #expect(Set(secrets).count == 10)
        #expect(secrets.allSatisfy { WebhookSignature.key(of: $0)?.count == 32 })
    }
}
