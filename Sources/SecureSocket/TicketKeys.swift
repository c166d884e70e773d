// Keys for session tickets, shared by all gateways: a client that lost one resumes on another, which costs the server a
// fraction of a full handshake. The first key encrypts; the others still decrypt, so that keys can be rotated: put a new
// file first, reload every gateway, and take the oldest away once no ticket of it can be alive.

internal import COpenSSL
internal import Glibc

/// Up to eight keys, the newest first (RFC 5077 section 4: a name, AES-256 and HMAC-SHA-256).
package struct TicketKeys: Sendable {
    /// Bytes of one key in its file: 16 of name, 32 of HMAC, 32 of AES, as nginx has them.
    package static let keyBytes = 80
    package static let mostKeys = 8

    private var keys = enroute_ticket_keys()

    /// A key that nobody else has: its tickets are good in this process only.
    init() throws(TLSConfigurationError) {
        var bytes = [UInt8](repeating: 0, count: Self.keyBytes)
        guard RAND_bytes(&bytes, CInt(bytes.count)) == 1 else { throw .library(takeReason()) }
        try self.append(bytes, from: "")
    }

    /// - Returns: `nil` when there is no file.
    package init?(files: [String]) throws(TLSConfigurationError) {
        guard !files.isEmpty else { return nil }
        guard files.count <= Self.mostKeys else {
            throw .noTicketKey(path: files[Self.mostKeys], reason: "it is one more than \(Self.mostKeys)")
        }
        for file in files { try self.append(Self.read(file), from: file) }
    }

    private mutating func append(_ bytes: [UInt8], from file: String) throws(TLSConfigurationError) {
        guard bytes.count == Self.keyBytes else {
            throw .noTicketKey(path: file, reason: "it does not hold \(Self.keyBytes) bytes")
        }
        let place = MemoryLayout<enroute_ticket_keys>.offset(of: \.keys)! + Int(self.keys.count) * Self.keyBytes
        withUnsafeMutableBytes(of: &self.keys) { keys in
            UnsafeMutableRawBufferPointer(rebasing: keys[place..<place + Self.keyBytes]).copyBytes(from: bytes)
        }
        self.keys.count += 1
    }

    /// One byte more than a key, at most.
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
        guard enroute_SSL_CTX_set_ticket_keys(context, Self.index, &keys) == 1 else { throw .library(takeReason()) }
    }

    /// Where each SSL_CTX keeps its copy.
    private static let index = enroute_new_ticket_index()
}
