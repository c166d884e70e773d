// Keys of records that are written without libssl: derived as in RFC 8448, or not at all.

import COpenSSL
import Testing

@testable import SecureSocket

@Suite struct RecordKeyTests {
    /// RFC 8448, 3: server_application_traffic_secret_0, and the key and nonce derived from it.
    private static let secret: [UInt8] = [
        0xa1, 0x1a, 0xf9, 0xf0, 0x55, 0x31, 0xf8, 0x56, 0xad, 0x47, 0x11, 0x6b, 0x45, 0xa9, 0x50, 0x32, 0x82, 0x04,
        0xb4, 0xf4, 0x4b, 0xfb, 0x6b, 0x3a, 0x4b, 0x4f, 0x1f, 0x3f, 0xcb, 0x63, 0x16, 0x43,
    ]
    private static let key: [UInt8] = [
        0x9f, 0x02, 0x28, 0x3b, 0x6c, 0x9c, 0x07, 0xef, 0xc2, 0x6b, 0xb9, 0xf2, 0xac, 0x92, 0xe3, 0x56,
    ]
    private static let nonce: [UInt8] = [0xcf, 0x78, 0x2b, 0x88, 0xdd, 0x83, 0x54, 0x9a, 0xad, 0xf1, 0xe9, 0x84]

    private static func expanded(_ label: StaticString, _ count: Int, by hash: OpaquePointer?) -> [UInt8]? {
        var bytes: [UInt8]?
        let isExpanded = Self.secret.withUnsafeBytes { secret in
            RecordWriter.expand(secret, by: hash, label, count) { bytes = Array($0) }
        }
        #expect(isExpanded == (bytes != nil))
        return bytes
    }

    @Test func `key and nonce match the example in RFC 8448`() {
        #expect(Self.expanded("key", 16, by: EVP_sha256()) == Self.key)
        #expect(Self.expanded("iv", 12, by: EVP_sha256()) == Self.nonce)
    }

    @Test func `no key is derived from uninitialized memory when libcrypto fails`() {
        #expect(Self.expanded("key", 16, by: nil) == nil)
    }

    @Test func `a hash block shorter than the key yields no key`() {
        // SHA-1: 20 bytes.
        #expect(Self.expanded("key", 20, by: EVP_sha1()) != nil)
        #expect(Self.expanded("key", 32, by: EVP_sha1()) == nil)
    }
}
