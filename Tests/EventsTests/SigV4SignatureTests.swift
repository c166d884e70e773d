import Testing

@testable import Events

@Suite struct QueueSignatureTests {
    /// `post-vanilla` of AWS' test suite for Signature Version 4.
    @Test func `a request is signed as in the AWS test suite`() {
        let credentials = AWSCredentials(
            keyID: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
        let headers = SigV4Signature(credentials: credentials, region: "us-east-1", service: "service").signed(
            path: "/", headers: ["host": "example.amazonaws.com"], body: [], at: 1_440_938_160)
        #expect(headers["x-amz-date"] == "20150830T123600Z")
        #expect(
            headers["authorization"]
                == "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
                + "SignedHeaders=host;x-amz-date, "
                + "Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b")
    }

    @Test(arguments: [
        "http://sqs.eu-central-1.amazonaws.com/123456789012/orders", "https://sqs.example/123456789012/orders",
        "https://sqs.eu-central-1.amazonaws.com/orders", "orders",
    ])
    func `a queue URL without TLS, region or queue name is rejected`(url: String) {
        #expect(throws: EventQueue.InvalidSetting.self) {
            try EventQueue(url: url, region: nil, credentials: AWSCredentials(keyID: "a", secret: "b"))
        }
    }
}
