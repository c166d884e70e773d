// Our key derivation of TLS 1.3 against libcrypto's, and what it rejects.

import COpenSSL
import Testing

@testable import SecureSocket

@Suite struct KeyDerivationTests {
    /// The parameters of one derivation, as libssl passes them.
    struct Derivation {
        var mode: CInt
        var hash: String?
        var key: [UInt8]?
        var salt: [UInt8]?
        var prefix: [UInt8]? = Array("tls13 ".utf8)
        var label: [UInt8]?
        var data: [UInt8]?
        var count: Int

        static func expansion(_ hash: String, _ key: [UInt8], _ label: String, _ data: [UInt8]?, _ count: Int) -> Self {
            Self(
                mode: EVP_KDF_HKDF_MODE_EXPAND_ONLY, hash: hash, key: key, label: Array(label.utf8), data: data,
                count: count)
        }

        static func extraction(_ hash: String, _ key: [UInt8]?, salt: [UInt8]?, _ count: Int) -> Self {
            Self(
                mode: EVP_KDF_HKDF_MODE_EXTRACT_ONLY, hash: hash, key: key, salt: salt, label: Array("derived".utf8),
                count: count)
        }

        /// The result of the provider's implementation; `nil` if it refuses.
        func callAsFunction(_ provider: String) throws -> [UInt8]? {
            let kdf = try #require(EVP_KDF_fetch(nil, OSSL_KDF_NAME_TLS1_3_KDF, "provider=\(provider)"))
            defer { EVP_KDF_free(kdf) }
            let context = try #require(EVP_KDF_CTX_new(kdf))
            defer { EVP_KDF_CTX_free(context) }
            var mode = self.mode
            var name = (self.hash ?? "").utf8CString.map { $0 }
            // Parameters refer to memory that must outlive them.
            let pieces = [self.key, self.salt, self.prefix, self.label, self.data].map { bytes in
                bytes.map { bytes -> UnsafeMutableBufferPointer<UInt8> in
                    let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(1, bytes.count))
                    _ = copy.update(fromContentsOf: bytes)
                    return UnsafeMutableBufferPointer(rebasing: copy[..<bytes.count])
                }
            }
            defer { for piece in pieces { piece?.baseAddress?.deallocate() } }
            let names = [
                OSSL_KDF_PARAM_KEY, OSSL_KDF_PARAM_SALT, OSSL_KDF_PARAM_PREFIX, OSSL_KDF_PARAM_LABEL,
                OSSL_KDF_PARAM_DATA,
            ]
            var out = [UInt8](repeating: 0, count: self.count)
            let result = withUnsafeMutablePointer(to: &mode) { mode in
                name.withUnsafeMutableBufferPointer { name in
                    var parameters = [OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, mode)]
                    if self.hash != nil {
                        parameters.append(
                            OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, name.baseAddress, name.count - 1))
                    }
                    for (name, piece) in zip(names, pieces) {
                        guard let piece else { continue }
                        parameters.append(OSSL_PARAM_construct_octet_string(name, piece.baseAddress, piece.count))
                    }
                    parameters.append(OSSL_PARAM_construct_end())
                    return EVP_KDF_derive(context, &out, out.count, parameters)
                }
            }
            ERR_clear_error()
            return result == 1 ? out : nil
        }
    }

    /// Loads the provider, as the first context of a process does.
    init() throws {
        let files = try Loops.files.get()
        _ = try TLSContext(certificateChain: files.certificatePath, privateKey: files.keyPath)
    }

    private static func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in .random(in: 0...255) } }

    @Test(arguments: [("SHA2-256", 32), ("SHA256", 32), ("SHA2-384", 48), ("SHA384", 48)])
    func `every secret of TLS 1_3 is the one that libcrypto derives`(hash: String, bytes: Int) throws {
        for label in ["derived", "s ap traffic", "c hs traffic", "res binder", "key", "iv", "finished", "resumption"] {
            for (data, count) in [(Self.bytes(bytes), bytes), (nil, 16), ([], 12), (Self.bytes(1), 1)] {
                let derivation = Derivation.expansion(hash, Self.bytes(bytes), label, data, count)
                let ours = try #require(try derivation("enroute"))
                #expect(try derivation("default") == ours, "\(label), \(count) bytes")
            }
        }
        // The shared secrets of all groups, and the longest PSK.
        for key in [nil, Self.bytes(32), Self.bytes(48), Self.bytes(66), Self.bytes(512)] {
            for salt in [nil, Self.bytes(bytes)] {
                let derivation = Derivation.extraction(hash, key, salt: salt, bytes)
                let ours = try #require(try derivation("enroute"))
                #expect(try derivation("default") == ours)
            }
        }
    }

    @Test func `what TLS 1_3 never derives is refused`() throws {
        let good = Derivation.expansion("SHA2-256", Self.bytes(32), "key", nil, 16)
        #expect(try good("enroute") != nil)
        for change: @Sendable (inout Derivation) -> Void in [
            { $0.count = 33 }, { $0.hash = "SHA1" }, { $0.hash = nil }, { $0.key = nil }, { $0.label = nil },
            { $0.prefix = nil }, { $0.mode = EVP_KDF_HKDF_MODE_EXTRACT_AND_EXPAND }, { $0.mode = -1 },
            { $0.label = Self.bytes(250) }, { $0.data = Self.bytes(256) }, { $0.key = Self.bytes(65) },
        ] {
            var bad = good
            change(&bad)
            #expect(try bad("enroute") == nil, "\(bad)")
        }
        #expect(try Derivation.extraction("SHA2-256", nil, salt: nil, 31)("enroute") == nil)
    }
}
