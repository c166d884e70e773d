// Our key derivation of TLS 1.3 inside libcrypto (COpenSSL/tls13-kdf.h), and the one secret that it hands over.

internal import COpenSSL

enum KeyDerivation {
    /// Whether libcrypto has our implementation, which is added once per process. Otherwise libssl uses its own.
    static let isLoaded = Self.load()

    // Neither function is inlined: each file that contains their code would have a variable of its own for the secret.
    @inline(never)
    private static func load() -> Bool { enroute_load_kdf() == 1 }

    /// Returns server_application_traffic_secret_0 if a handshake on this thread has derived one since the last call.
    @inline(never)
    static func takeSendingSecret() -> [UInt8]? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Int(ENROUTE_KDF_LONGEST)) { bytes in
            let count = enroute_take_sending_secret(bytes.baseAddress)
            guard count > 0 else { return nil }
            defer { OPENSSL_cleanse(bytes.baseAddress, bytes.count) }
            return Array(bytes.prefix(count))
        }
    }
}
