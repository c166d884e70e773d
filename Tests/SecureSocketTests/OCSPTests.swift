// OCSP stapling. The responses are created here, with libcrypto.

import COpenSSL
import Foundation
import NIOCore
import Testing

@testable import SecureSocket

@Suite struct OCSPTests {
    /// A self-signed OCSP response for the certificate in `files`, valid until `seconds` from now.
    private static func response(about files: CertificateFiles, until seconds: Int) throws -> [UInt8] {
        let certificateFile = BIO_new_file(files.certificatePath, "r")
        let keyFile = BIO_new_file(files.keyPath, "r")
        defer {
            BIO_free(certificateFile)
            BIO_free(keyFile)
        }
        let certificate = PEM_read_bio_X509(certificateFile, nil, nil, nil)
        let key = PEM_read_bio_PrivateKey(keyFile, nil, nil, nil)
        let basic = OCSP_BASICRESP_new()
        let this = ASN1_TIME_adj(nil, time(nil), 0, -3600)
        let next = ASN1_TIME_adj(nil, time(nil), 0, seconds)
        defer {
            X509_free(certificate)
            EVP_PKEY_free(key)
            OCSP_BASICRESP_free(basic)
            ASN1_STRING_free(this)
            ASN1_STRING_free(next)
        }
        let id = OCSP_cert_to_id(EVP_sha1(), certificate, certificate)
        _ = try #require(OCSP_basic_add1_status(basic, id, V_OCSP_CERTSTATUS_GOOD, 0, nil, this, next))
        OCSP_CERTID_free(id)
        #expect(OCSP_basic_sign(basic, certificate, key, EVP_sha256(), nil, 0) == 1)
        let response = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic)
        defer { OCSP_RESPONSE_free(response) }
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_OCSP_RESPONSE(response, &bytes)
        defer { enroute_OPENSSL_free(bytes) }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    /// What a client that requests it (`asks`) gets from a listener with this response.
    private static func stapled(_ context: TLSContext, asks: Bool = true) -> [UInt8]? {
        let connection = InMemoryConnection(context) { client in
            if asks { SSL_ctrl(client, SSL_CTRL_SET_TLSEXT_STATUS_REQ_TYPE, Int(TLSEXT_STATUSTYPE_ocsp), nil) }
        }
        connection.shakeHands()
        #expect(connection.server.isHandshakeComplete)
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = SSL_ctrl(connection.client, SSL_CTRL_GET_TLSEXT_STATUS_REQ_OCSP_RESP, 0, &bytes)
        guard count > 0, let bytes else { return nil }
        return Array(UnsafeBufferPointer(start: bytes, count: count))
    }

    private static func context(_ files: CertificateFiles, _ response: [UInt8]) throws -> TLSContext {
        let path = NSTemporaryDirectory() + "enroute-\(UUID()).der"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data(response).write(to: URL(fileURLWithPath: path))
        return try TLSContext(
            certificateChain: files.certificatePath, privateKey: files.keyPath, ocspResponse: path)
    }

    @Test func `a client that requests stapling gets the response from the file, and others get none`() throws {
        let files = try CertificateFiles()
        let response = try Self.response(about: files, until: 3600)
        let context = try Self.context(files, response)
        #expect(Self.stapled(context) == response)
        #expect(Self.stapled(context, asks: false) == nil)
    }

    @Test func `an expired response is not sent, and nobody is rejected because of it`() throws {
        let files = try CertificateFiles()
        let context = try Self.context(files, try Self.response(about: files, until: -60))
        #expect(Self.stapled(context) == nil)
    }

    @Test func `a file without a response is rejected with its name and a way to get one`() throws {
        let files = try CertificateFiles()
        for bytes in [[], [1, 2, 3], Array("-----BEGIN".utf8)] as [[UInt8]] {
            #expect { try Self.context(files, bytes) } throws: { error in
                "\(error)".contains(".der cannot be stapled") && "\(error)".contains("openssl ocsp")
            }
        }
        #expect {
            try TLSContext(
                certificateChain: files.certificatePath, privateKey: files.keyPath, ocspResponse: "/no/such/file")
        } throws: { "\($0)".contains("/no/such/file") }
    }
}
