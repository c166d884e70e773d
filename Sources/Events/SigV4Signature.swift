// AWS Signature Version 4 for a POST with a JSON body: proves who sent the request and that it was not altered
// (docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html). Forty lines instead of a dependency.

internal import Crypto
internal import EnrouteWire
internal import FoundationEssentials

/// The credentials for a queue, from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.
package struct AWSCredentials: Sendable {
    let keyID: String
    let secret: String
    let sessionToken: String?

    package init(keyID: String, secret: String, sessionToken: String? = nil) {
        (self.keyID, self.secret, self.sessionToken) = (keyID, secret, sessionToken)
    }
}

/// Signs requests.
struct SigV4Signature: Sendable {
    let credentials: AWSCredentials
    let region: String
    var service = "sqs"

    /// - Parameters:
    ///   - headers: with lower-case names; all of them are signed, and `host` is required.
    ///   - seconds: since the epoch.
    /// - Returns: the given headers and those that the signature adds.
    func signed(path: String, headers: [String: String], body: [UInt8], at seconds: Int64) -> [String: String] {
        let time = Self.text(seconds)
        let day = String(time.prefix(8))
        var headers = headers
        headers["x-amz-date"] = time
        headers["x-amz-security-token"] = self.credentials.sessionToken
        let sorted = headers.sorted { $0.key < $1.key }
        let names = sorted.map(\.key).joined(separator: ";")
        let canonical =
            "POST\n\(path)\n\n" + sorted.map { "\($0.key):\($0.value)\n" }.joined()
            + "\n\(names)\n" + SHA256.hash(data: body).hexadecimal
        let scope = "\(day)/\(self.region)/\(self.service)/aws4_request"
        let text =
            "AWS4-HMAC-SHA256\n\(time)\n\(scope)\n" + SHA256.hash(data: Array(canonical.utf8)).hexadecimal
        var key = SymmetricKey(data: Array("AWS4\(self.credentials.secret)".utf8))
        for part in [day, self.region, self.service, "aws4_request"] {
            key = SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Array(part.utf8), using: key))
        }
        let signature = HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key).hexadecimal
        headers["authorization"] =
            "AWS4-HMAC-SHA256 Credential=\(self.credentials.keyID)/\(scope), SignedHeaders=\(names), Signature=\(signature)"
        return headers
    }

    /// `20261121T180000Z`.
    private static func text(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
            .replacing("-", with: "").replacing(":", with: "")
    }
}
