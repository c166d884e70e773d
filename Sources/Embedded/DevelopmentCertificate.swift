// A self-signed certificate for localhost, created anew for each run: enough for the demonstration and the tests.

private import Crypto
package import FoundationEssentials
private import SwiftASN1
private import X509

/// A self-signed ECDSA P-256 certificate and its key, in PEM.
package struct DevelopmentCertificate: Sendable {
    package let certificatePEM: String
    package let keyPEM: String

    /// - Parameter name: the subject's common name. The certificate is always valid for localhost and 127.0.0.1.
    package init(name: String = "enroute development", validity: TimeInterval = 30 * 86_400) throws {
        let key = P256.Signing.PrivateKey()
        let signer = Certificate.PrivateKey(key)
        let subject = try DistinguishedName { CommonName(name) }
        let now = Date()
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: signer.publicKey,
            notValidBefore: now.addingTimeInterval(-3600), notValidAfter: now.addingTimeInterval(validity),
            issuer: subject, subject: subject,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                Critical(KeyUsage(digitalSignature: true, keyCertSign: true))
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames([
                    .dnsName("localhost"), .ipAddress(ASN1OctetString(contentBytes: [127, 0, 0, 1])),
                ])
            },
            issuerPrivateKey: signer)
        self.certificatePEM = try certificate.serializeAsPEM().pemString + "\n"
        self.keyPEM = key.pemRepresentation + "\n"
    }

    /// Writes both into `folder` as certificate.pem and key.pem; only the owner may read the key.
    package func write(to folder: String) throws -> (certificate: String, key: String) {
        let certificate = folder + "/certificate.pem"
        let key = folder + "/key.pem"
        try Data(self.certificatePEM.utf8).write(to: URL(fileURLWithPath: certificate))
        try Data(self.keyPEM.utf8).write(to: URL(fileURLWithPath: key))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
        return (certificate, key)
    }
}
