// Signs SNS envelopes: an RSA key, a certificate for it, and envelopes signed with it, as AWS documents them.

private import Crypto
private import CryptoExtras
package import FoundationEssentials
private import SwiftASN1
private import X509

/// Signs messages of a topic. Its certificate is issued by its own CA.
package struct TopicSigner: Sendable {
    package static let topic = "arn:aws:sns:eu-central-1:123456789012:orders"

    private let key: _RSA.Signing.PrivateKey
    /// PEM: the certificate at the address that an envelope names.
    package let certificate: String
    /// PEM: the CA.
    package let authority: String

    /// - Parameter validity: of the certificate from now, s; negative for an expired one.
    package init(validity: Double = 3600) throws {
        self.key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let authorityKey = Certificate.PrivateKey(P256.Signing.PrivateKey())
        let name = try DistinguishedName { CommonName("enroute test topics") }
        let (begin, end) = (Date.now.addingTimeInterval(-7200), Date.now.addingTimeInterval(validity))
        self.authority =
            try Certificate(
                version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: authorityKey.publicKey,
                notValidBefore: begin, notValidAfter: Date.now.addingTimeInterval(3600), issuer: name, subject: name,
                extensions: try Certificate.Extensions {
                    Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                    Critical(KeyUsage(keyCertSign: true))
                },
                issuerPrivateKey: authorityKey
            ).serializeAsPEM().pemString + "\n"
        self.certificate =
            try Certificate(
                version: .v3, serialNumber: Certificate.SerialNumber(),
                publicKey: Certificate.PrivateKey(self.key).publicKey, notValidBefore: begin, notValidAfter: end,
                issuer: name, subject: try DistinguishedName { CommonName("sns.amazonaws.com") },
                extensions: try Certificate.Extensions {
                    Critical(BasicConstraints.notCertificateAuthority)
                    SubjectAlternativeNames([.dnsName("sns.amazonaws.com")])
                },
                issuerPrivateKey: authorityKey
            ).serializeAsPEM().pemString + "\n"
    }

    /// Returns an envelope as JSON.
    ///
    /// - Parameters:
    ///   - host: of the certificate and the confirmation.
    ///   - version: of the signature: 1 uses SHA-1, 2 uses SHA-256.
    ///   - sentAt: when SNS sent it.
    ///   - timestamp: written instead of `sentAt`.
    ///   - change: modifies it after signing.
    package func envelope(
        _ message: String, as type: String = "Notification", host: String, version: Int = 2, id: String = "m-1",
        topic: String = Self.topic, subject: String? = nil, sentAt: Date = .now, timestamp: String? = nil,
        _ change: (inout [String: String]) -> Void = { _ in }
    ) throws -> String {
        var members = [
            "Type": type, "MessageId": id, "TopicArn": topic, "Message": message,
            "Timestamp": timestamp ?? sentAt.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)),
        ]
        members["Subject"] = subject
        if type != "Notification" {
            members["Token"] = "a-token"
            members["SubscribeURL"] = "https://\(host)/?Action=ConfirmSubscription&Token=a-token"
        }
        let text = members.sorted { $0.key < $1.key }.map { "\($0.key)\n\($0.value)\n" }.joined()
        let signature =
            version == 1
            ? try self.key.signature(for: Insecure.SHA1.hash(data: Data(text.utf8)), padding: .insecurePKCS1v1_5)
            : try self.key.signature(for: SHA256.hash(data: Data(text.utf8)), padding: .insecurePKCS1v1_5)
        members["SignatureVersion"] = String(version)
        members["Signature"] = signature.rawRepresentation.base64EncodedString()
        members["SigningCertURL"] = "https://\(host)/SimpleNotificationService-0123456789abcdef.pem"
        change(&members)
        return String(decoding: try JSONEncoder().encode(members), as: UTF8.self)
    }
}
