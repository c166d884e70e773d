// Certificates created while the tests run: ECDSA P-256, for "localhost", self-signed.

import Crypto
import Foundation
import SwiftASN1
import X509

/// A private temporary folder, deleted with this object.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        self.path = NSTemporaryDirectory() + "enroute-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: self.path)
    }

    /// Writes a file and returns its path.
    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        let path = "\(self.path)/\(name)"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }
}

struct TestCertificate: Sendable {
    let certificate: Certificate
    let certificatePEM: String
    let keyPEM: String

    /// - Parameter validity: the validity period, in seconds from now.
    init(validity: ClosedRange<TimeInterval> = -60...3600) throws {
        let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
        let name = try DistinguishedName { CommonName("localhost") }
        let now = Date()
        self.certificate = try Certificate(
            version: .v3, serialNumber: .init(), publicKey: key.publicKey,
            notValidBefore: now.addingTimeInterval(validity.lowerBound),
            notValidAfter: now.addingTimeInterval(validity.upperBound), issuer: name, subject: name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                SubjectAlternativeNames([.dnsName("localhost")])
            }, issuerPrivateKey: key)
        self.certificatePEM = try self.certificate.serializeAsPEM().pemString
        self.keyPEM = try key.serializeAsPEM().pemString
    }

    var der: [UInt8] {
        get throws {
            var serializer = DER.Serializer()
            try serializer.serialize(self.certificate)
            return serializer.serializedBytes
        }
    }
}

/// A certificate and its key, as files.
struct CertificateFiles: Sendable {
    let folder: TemporaryFolder
    let certificate: TestCertificate
    let certificatePath: String
    let keyPath: String

    init() throws {
        self.folder = try TemporaryFolder()
        self.certificate = try TestCertificate()
        self.certificatePath = try self.folder.write(self.certificate.certificatePEM, to: "certificate.pem")
        self.keyPath = try self.folder.write(self.certificate.keyPEM, to: "key.pem")
    }

    /// Replaces the files with another pair, or with something broken.
    func replace(certificate: String, key: String) throws {
        try self.folder.write(certificate, to: "certificate.pem")
        try self.folder.write(key, to: "key.pem")
    }
}
