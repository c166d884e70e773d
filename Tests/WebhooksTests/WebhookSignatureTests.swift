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
