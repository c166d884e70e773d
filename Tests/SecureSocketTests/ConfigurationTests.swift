// Certificates and keys from files: what is rejected and how it is explained, and what a reload changes.

import COpenSSL
import Foundation
import TestSupport
import Testing

@testable import SecureSocket

@Suite struct TLSConfigurationTests {
    let files: CertificateFiles

    init() throws { self.files = try CertificateFiles() }

    private func refusal(certificate: String? = nil, key: String? = nil) -> TLSConfigurationError? {
        do throws(TLSConfigurationError) {
            _ = try TLSContext(
                certificateChain: certificate ?? self.files.certificatePath, privateKey: key ?? self.files.keyPath)
            return nil
        } catch {
            return error
        }
    }

    @Test func `the error for a missing file contains its path`() {
        let path = self.files.folder.path + "/none.pem"
        #expect(self.refusal(certificate: path) == .unreadable(path: path, reason: "No such file or directory"))
        #expect(self.refusal(key: path) == .unreadable(path: path, reason: "No such file or directory"))
        #expect("\(TLSConfigurationError.unreadable(path: path, reason: "x"))".contains(path))
    }

    @Test func `the error for a directory contains its path`() {
        let path = self.files.folder.path
        #expect(self.refusal(certificate: path) == .unreadable(path: path, reason: "Is a directory"))
    }

    @Test func `a file that is not PEM is reported as such`() throws {
        let path = try self.files.folder.write("\u{30}\u{82}rubbish", to: "binary.der")
        #expect(self.refusal(certificate: path) == .notPEM(path: path))
        #expect(self.refusal(key: path) == .notPEM(path: path))
    }

    @Test(arguments: ["", "\n \n"])
    func `an empty file contains neither a certificate nor a key`(text: String) throws {
        let path = try self.files.folder.write(text, to: "empty.pem")
        #expect(self.refusal(certificate: path) == .noCertificate(path: path))
        #expect(self.refusal(key: path) == .noPrivateKey(path: path))
    }

    @Test(arguments: [0, 1, 12])
    func `a file whose end is missing is reported as incomplete`(left: Int) throws {
        // Without the last line, and with its start.
        func cut(_ pem: String) throws -> String {
            let end = try #require(pem.range(of: "-----END"))
            return String(pem[..<end.lowerBound] + pem[end.lowerBound...].prefix(left))
        }
        let certificate = try self.files.folder.write(cut(self.files.certificate.certificatePEM), to: "cut.pem")
        #expect(self.refusal(certificate: certificate) == .truncated(path: certificate))
        let chain = try self.files.folder.write(
            self.files.certificate.certificatePEM + "\n" + cut(TestCertificate().certificatePEM), to: "chain.pem")
        #expect(self.refusal(certificate: chain) == .truncated(path: chain))
        let key = try self.files.folder.write(cut(self.files.certificate.keyPEM), to: "cut-key.pem")
        #expect(self.refusal(key: key) == .truncated(path: key))
        #expect("\(TLSConfigurationError.truncated(path: key))".contains("Copy the file again"))
    }

    @Test func `a chain without the CA that the certificate names is a problem, and a complete one is not`() throws {
        let folder = self.files.folder
        let authority = try TestAuthority()
        func problem(_ files: TestAuthority.Files, and further: String = "") throws -> TLSConfigurationError? {
            let chain = try String(contentsOfFile: files.certificate, encoding: .utf8) + further
            return try TLSCredentials(certificateChain: folder.write(chain, to: "chain.pem"), privateKey: files.key)
                .chainProblem
        }
        let path = "\(folder.path)/chain.pem"
        let naming = try authority.issue(
            .server(name: "localhost"), into: folder.path, as: "naming", issuerURL: "http://ca.example/ca.der")
        #expect(try problem(naming) == .noIssuer(path: path))
        #expect(try problem(naming, and: TestCertificate().certificatePEM + "\n") == .noIssuer(path: path))
        #expect(try problem(naming, and: authority.certificatePEM) == nil)
        // A private CA, which clients have.
        let silent = try authority.issue(.server(name: "localhost"), into: folder.path, as: "silent")
        #expect(try problem(silent) == nil)
        let ownSigned = try TLSCredentials(
            certificateChain: self.files.certificatePath, privateKey: self.files.keyPath)
        #expect(ownSigned.chainProblem == nil)
    }

    @Test func `swapped key and certificate files are detected`() {
        #expect(self.refusal(certificate: self.files.keyPath) == .noCertificate(path: self.files.keyPath))
        #expect(self.refusal(key: self.files.certificatePath) == .noPrivateKey(path: self.files.certificatePath))
    }

    @Test func `a key of another certificate does not match`() throws {
        let path = try self.files.folder.write(TestCertificate().keyPEM, to: "other.pem")
        #expect(
            self.refusal(key: path) == .keyDoesNotMatch(certificateChain: self.files.certificatePath, privateKey: path))
    }

    @Test func `a key of another kind than the certificate's does not match`() throws {
        let path = try self.files.folder.write(self.pem(ofKey: "ED25519", passphrase: nil), to: "ed25519.pem")
        #expect(
            self.refusal(key: path) == .keyDoesNotMatch(certificateChain: self.files.certificatePath, privateKey: path))
    }

    @Test func `an encrypted key is rejected without prompting on the terminal`() throws {
        let path = try self.files.folder.write(self.pem(ofKey: "ED25519", passphrase: "secret"), to: "encrypted.pem")
        #expect(self.refusal(key: path) == .encryptedKey(path: path))
    }

    @Test func `a damaged certificate is rejected with libssl's reason`() throws {
        let lines = self.files.certificate.certificatePEM.split(separator: "\n")
        let damaged = ([lines[0], "AAAA"] + lines[2...]).joined(separator: "\n")
        let path = try self.files.folder.write(damaged, to: "damaged.pem")
        guard case .refused(path, let reason)? = self.refusal(certificate: path) else {
            Issue.record("not refused")
            return
        }
        #expect(!reason.isEmpty && reason != "no reason given")
    }

    private func pem(ofKey kind: String, passphrase: String?) throws -> String {
        let parameters = EVP_PKEY_CTX_new_from_name(nil, kind, nil)
        defer { EVP_PKEY_CTX_free(parameters) }
        var key: OpaquePointer?
        EVP_PKEY_keygen_init(parameters)
        EVP_PKEY_keygen(parameters, &key)
        let key2 = try #require(key)
        defer { EVP_PKEY_free(key2) }
        let bio = BIO_new(BIO_s_mem())
        defer { BIO_free(bio) }
        let cipher = passphrase == nil ? nil : EVP_aes_256_cbc()
        PEM_write_bio_PKCS8PrivateKey(bio, key2, cipher, passphrase, CInt(passphrase?.utf8.count ?? 0), nil, nil)
        var text = [UInt8](repeating: 0, count: BIO_ctrl_pending(bio))
        BIO_read(bio, &text, CInt(text.count))
        return String(decoding: text, as: UTF8.self)
    }
}

@Suite struct TLSCredentialsTests {
    @Test func `after a reload new connections get the new certificate and old ones keep theirs`() async throws {
        let files = try CertificateFiles()
        let credentials = try TLSCredentials(certificateChain: files.certificatePath, privateKey: files.keyPath)
        let listener = try await Listener.start(tls: { credentials.current })
        let early = try await Peer.connect(to: listener)
        try await early.handshake()

        let next = try TestCertificate()
        try files.replace(certificate: next.certificatePEM, key: next.keyPEM)
        try credentials.reload()
        let late = try await Peer.connect(to: listener)
        try await late.handshake()

        let (first, second) = (try await listener.connection(0), try await listener.connection(1))
        #expect(try await early.run { $0.peerCertificateDER } == files.certificate.der)
        #expect(try await late.run { $0.peerCertificateDER } == next.der)
        try await early.run { $0.send("still here") }
        try await first.seen.until("still here") { $0.text == "still here" }
        try await first.writeNow("so am I")
        try await second.writeNow("hello")
        try await early.seen.until("so am I") { $0.text == "so am I" }
        try await late.seen.until("hello") { $0.text == "hello" }
        try await listener.stop()
    }

    @Test func `reloading a broken file keeps the old certificate and reports why`() throws {
        let files = try CertificateFiles()
        let credentials = try TLSCredentials(certificateChain: files.certificatePath, privateKey: files.keyPath)
        let before = credentials.current
        try files.replace(certificate: "half a fi", key: files.certificate.keyPEM)
        #expect(throws: TLSConfigurationError.notPEM(path: files.certificatePath)) { try credentials.reload() }
        #expect(credentials.current === before)
        try files.replace(certificate: TestCertificate().certificatePEM, key: files.certificate.keyPEM)
        #expect(
            throws: TLSConfigurationError.keyDoesNotMatch(
                certificateChain: files.certificatePath, privateKey: files.keyPath)
        ) { try credentials.reload() }
        #expect(credentials.current === before)
        try files.replace(certificate: files.certificate.certificatePEM, key: files.certificate.keyPEM)
        try credentials.reload()
        #expect(credentials.current !== before)
    }

    @Test(arguments: [-7200.0 ... -3600.0, 3600.0...7200.0])
    func `B37: a certificate that is not currently valid never replaces a valid one, and startup rejects it`(
        validity: ClosedRange<Double>
    ) throws {
        let files = try CertificateFiles()
        let credentials = try TLSCredentials(certificateChain: files.certificatePath, privateKey: files.keyPath)
        #expect(credentials.dateProblem == nil)
        let before = credentials.current
        let invalid = try TestCertificate(validity: validity)
        try files.replace(certificate: invalid.certificatePEM, key: invalid.keyPEM)
        func isRefused(_ body: () throws(TLSConfigurationError) -> Void) -> Bool {
            do throws(TLSConfigurationError) {
                try body()
                return false
            } catch {
                let (word, path) = (
                    validity.upperBound < 0 ? "expired at 20" : "not valid before 20", files.certificatePath
                )
                return "\(error)".contains(word) && "\(error)".contains(path)
            }
        }
        #expect(isRefused { () throws(TLSConfigurationError) in try credentials.reload() })
        #expect(credentials.current === before)
        #expect(
            isRefused { () throws(TLSConfigurationError) in
                _ = try TLSCredentials(certificateChain: files.certificatePath, privateKey: files.keyPath)
            })
        let trial = try TLSCredentials(
            certificateChain: files.certificatePath, privateKey: files.keyPath, acceptsInvalidDates: true)
        #expect(trial.dateProblem != nil)
    }

    @Test func `a certificate is valid from its first to its last second`() {
        let validity = CertificateValidity(from: 1_000, until: 2_000)
        #expect(validity.problem(in: "a", at: 999) == .notYetValid(path: "a", at: "1970-01-01 00:16:40 UTC"))
        #expect(validity.problem(in: "a", at: 1_000) == nil)
        #expect(validity.problem(in: "a", at: 2_000) == nil)
        #expect(validity.problem(in: "a", at: 2_001) == .expired(path: "a", at: "1970-01-01 00:33:20 UTC"))
    }
}
