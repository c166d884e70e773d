// Session ticket keys that all gateways share. A client whose gateway stops can resume its session on another one, at a
// fraction of the cost of a full handshake. The first key encrypts; the others only decrypt, so that keys can be
// rotated: add a new file as the first one, reload every gateway, and remove the oldest file once its tickets have
// expired.

internal import COpenSSL
internal import Glibc

/// Up to eight keys, the newest first (RFC 5077 section 4: a name, AES-256 and HMAC-SHA-256).
package struct TicketKeys: Sendable {
    /// Bytes of a key file: 16 for the name, 32 for HMAC, 32 for AES, in nginx's format.
    package static let keyBytes = 80
    package static let maxKeys = 8

    private var keys = enroute_ticket_keys()

    /// A random key: its tickets are valid only in this process.
    init() throws(TLSConfigurationError) {
        var bytes = [UInt8](repeating: 0, count: Self.keyBytes)
        guard RAND_bytes(&bytes, CInt(bytes.count)) == 1 else { throw .library(takeErrorReason()) }
        try self.append(bytes, from: "")
    }

    /// - Returns: `nil` without files.
    package init?(files: [String]) throws(TLSConfigurationError) {
        guard !files.isEmpty else { return nil }
        guard files.count <= Self.maxKeys else {
            throw .noTicketKey(path: files[Self.maxKeys], reason: "it exceeds the maximum of \(Self.maxKeys) files")
        }
        for file in files { try self.append(Self.read(file), from: file) }
    }

    private mutating func append(_ bytes: [UInt8], from file: String) throws(TLSConfigurationError) {
        guard bytes.count == Self.keyBytes else {
            throw .noTicketKey(path: file, reason: "it does not contain \(Self.keyBytes) bytes")
        }
        let place = MemoryLayout<enroute_ticket_keys>.offset(of: \.keys)! + Int(self.keys.count) * Self.keyBytes
        withUnsafeMutableBytes(of: &self.keys) { keys in
            UnsafeMutableRawBufferPointer(rebasing: keys[place..<place + Self.keyBytes]).copyBytes(from: bytes)
        }
        self.keys.count += 1
    }

    /// Reads at most one byte more than a key.
    private static func read(_ path: String) throws(TLSConfigurationError) -> [UInt8] {
        guard let file = fopen(path, "rb") else {
            throw .unreadable(path: path, reason: String(cString: strerror(errno)))
        }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: Self.keyBytes + 1)
        let count = fread(&bytes, 1, bytes.count, file)
        return Array(bytes.prefix(count))
    }

    func install(in context: OpaquePointer) throws(TLSConfigurationError) {
        var keys = self.keys
        guard enroute_SSL_CTX_set_ticket_keys(context, Self.index, &keys) == 1 else {
            throw .library(takeErrorReason())
        }
    }

    /// Index of each SSL_CTX's copy.
    private static let index = enroute_new_ticket_index()
}
