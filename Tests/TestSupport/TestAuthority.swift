// A test CA and the certificates it signs for servers and clients, as an operator would create them. It is trusted only where
// configured.

private import Crypto
package import FoundationEssentials
private import SwiftASN1
private import X509

/// A CA that lives as long as this value. All keys are ECDSA P-256.
package struct TestAuthority: Sendable {
    /// The certificate, for clients and servers that should trust this CA.
    package let certificatePEM: String
    private let name: DistinguishedName
    private let key: Certificate.PrivateKey

    package init() throws {
        self.key = Certificate.PrivateKey(P256.Signing.PrivateKey())
        self.name = try DistinguishedName { CommonName("enroute test authority") }
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: self.key.publicKey,
            notValidBefore: Date.now.addingTimeInterval(-3600), notValidAfter: Date.now.addingTimeInterval(3600),
            issuer: self.name, subject: self.name,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true))
            },
            issuerPrivateKey: self.key)
        self.certificatePEM = try certificate.serializeAsPEM().pemString + "\n"
    }

    /// The purpose of a certificate.
    package enum Purpose: Sendable {
        /// For a server of this name, and for 127.0.0.1 when it is localhost.
        case server(name: String)
        case client(name: String)
    }

    /// The files of a certificate and its key.
    package struct Files: Sendable {
        package let certificate: String
        package let key: String
    }

    /// Signs a new certificate, and writes it and its key into `folder`.
    ///
    /// - Parameters:
    ///   - file: prefix of the names of the two files.
    ///   - start: when it becomes valid, s from now; positive for one that is not valid yet.
    ///   - validity: from now, s; negative for an expired one.
    ///   - issuerURL: where the certificate says that the CA's can be fetched.
    package func issue(
        _ purpose: Purpose, into folder: String, as file: String, from start: TimeInterval = -7200,
        validity: TimeInterval = 3600, issuerURL: String? = nil
    ) throws -> Files {
        let key = P256.Signing.PrivateKey()
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PrivateKey(key).publicKey, notValidBefore: Date.now.addingTimeInterval(start),
            notValidAfter: Date.now.addingTimeInterval(validity), issuer: self.name,
            subject: try DistinguishedName { CommonName(purpose.name) },
            extensions: try purpose.extensions(issuerURL: issuerURL), issuerPrivateKey: self.key)
        let files = Files(certificate: "\(folder)/\(file).pem", key: "\(folder)/\(file)-key.pem")
        try Self.write(try certificate.serializeAsPEM().pemString + "\n", to: files.certificate)
        try Self.write(key.pemRepresentation + "\n", to: files.key)
        return files
    }

    /// Writes the CA's own certificate.
    ///
    /// - Returns: its path.
    package func write(into folder: String, as file: String = "authority") throws -> String {
        let path = "\(folder)/\(file).pem"
        try Self.write(self.certificatePEM, to: path)
        return path
    }

    /// Only the owner can read it.
    private static func write(_ text: String, to path: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }
}

extension TestAuthority.Purpose {
    fileprivate var name: String {
        switch self {
        case .server(let name), .client(let name): name
        }
    }

    fileprivate func extensions(issuerURL: String?) throws -> Certificate.Extensions {
        let address = GeneralName.ipAddress(ASN1OctetString(contentBytes: [127, 0, 0, 1]))
        return try Certificate.Extensions {
            Critical(BasicConstraints.notCertificateAuthority)
            Critical(KeyUsage(digitalSignature: true))
            switch self {
            case .server(let name):
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames(name == "localhost" ? [.dnsName(name), address] : [.dnsName(name)])
            case .client: try ExtendedKeyUsage([.clientAuth])
            }
            if let issuerURL {
                AuthorityInformationAccess([
                    .init(method: .issuingCA, location: .uniformResourceIdentifier(issuerURL))
                ])
            }
        }
    }
}
