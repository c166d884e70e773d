// Writes TLS 1.3 records with libcrypto instead of libssl (RFC 8446, 5.2).
//
// libssl does the handshake, the tickets, and all reading. But to send one short message, it touches several KB of
// state per connection. With a few thousand connections, nearly all of that misses the cache: at 5,000 connections
// `SSL_write` of 200 bytes takes 2.3 µs, of which 0.6 µs is the work. A record needs only 100 bytes of state: key,
// nonce, sequence number. After the handshake, this type therefore receives the traffic secret and writes the records.
// One cipher context serves the whole loop and is given the key each time. This takes 0.4 µs for any number of
// connections (measurements: decisions/own-records.md). Messages that libssl still has to send (an alert, the answer to
// a KeyUpdate) are intercepted in plaintext and sent in these records, because a connection has only one sequence
// number.
//
// With TLS 1.2, and for clients that negotiated smaller records, libssl continues to write the records.

internal import COpenSSL

/// Keys and sequence number of the sending side of one connection. A value; erase it with `wipe`.
struct RecordWriter {
    /// AEAD and hash function of a cipher suite (RFC 8446, B.4).
    enum Suite: UInt16, CaseIterable {
        case aes128 = 0x1301
        case aes256 = 0x1302
        case chacha20 = 0x1303

        fileprivate var keyBytes: Int { self == .aes128 ? 16 : 32 }
        fileprivate var hashBytes: Int { self == .aes256 ? 48 : 32 }
        fileprivate var hash: OpaquePointer? { self == .aes256 ? EVP_sha384() : EVP_sha256() }
        fileprivate var cipher: OpaquePointer? {
            switch self {
            case .aes128: EVP_aes_128_gcm()
            case .aes256: EVP_aes_256_gcm()
            case .chacha20: EVP_chacha20_poly1305()
            }
        }
    }

    /// The content type at the end of a record's plaintext (RFC 8446, 5.1).
    enum Content: UInt8 {
        case alert = 21
        case handshake = 22
        case data = 23
    }

    private typealias Words4 = (UInt64, UInt64, UInt64, UInt64)
    private typealias Words6 = (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)

    private let suite: Suite
    private var key: Words4 = (0, 0, 0, 0)
    /// The first 4 and the last 8 bytes of the static nonce; the latter are combined with the sequence number.
    private var nonceHead: UInt32 = 0
    private var nonceTail: UInt64 = 0
    private var secret: Words6 = (0, 0, 0, 0, 0, 0)
    /// Sequence number of the next record.
    private var number: UInt64
    private let maxRecords: UInt64

    /// Maximum plaintext of one record, in bytes (RFC 8446, 5.1).
    static let longestPlaintext = 16_384
    /// Bytes that a record adds: header, content type, tag.
    static let overhead = 5 + 1 + 16

    /// - Parameters:
    ///   - secret: server_application_traffic_secret_0.
    ///   - number: records already sent under it.
    ///   - maxRecords: maximum under one key.
    /// - Returns: `nil` when the secret has the wrong length, or libcrypto cannot derive keys from it.
    init?(suite: Suite, secret: [UInt8], number: UInt64, maxRecords: UInt64) {
        guard secret.count == suite.hashBytes else { return nil }
        self.suite = suite
        self.number = number
        self.maxRecords = maxRecords
        withUnsafeMutableBytes(of: &self.secret) { $0.copyBytes(from: secret) }
        guard self.deriveKeys() else {
            self.wipe()
            return nil
        }
    }

    mutating func wipe() {
        withUnsafeMutableBytes(of: &self.secret) { OPENSSL_cleanse($0.baseAddress, $0.count) }
        withUnsafeMutableBytes(of: &self.key) { OPENSSL_cleanse($0.baseAddress, $0.count) }
    }

    /// Appends `bytes` to the loop's output, in as many records as needed.
    ///
    /// - Returns: `false` when libcrypto fails, which is not expected.
    mutating func write(_ bytes: UnsafeRawBufferPointer, to loop: TLSLoop) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            if self.number >= self.maxRecords, !self.updateKeys(to: loop) { return false }
            let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.longestPlaintext))
            guard self.seal(piece, .data, to: loop) else { return false }
            rest = UnsafeRawBufferPointer(rebasing: rest[piece.count...])
        }
        return true
    }

    mutating func alert(level: UInt8, description: UInt8, to loop: TLSLoop) -> Bool {
        withUnsafeBytes(of: (level, description)) { self.seal($0, .alert, to: loop) }
    }

    /// Announces new keys to the peer and switches to them (RFC 8446, 4.6.3 and 7.2).
    mutating func updateKeys(to loop: TLSLoop) -> Bool {
        var next: Words6 = (0, 0, 0, 0, 0, 0)
        defer { withUnsafeMutableBytes(of: &next) { OPENSSL_cleanse($0.baseAddress, $0.count) } }
        guard self.expand("traffic upd", self.suite.hashBytes, { $0.copyMemory(to: &next) }) else { return false }
        // key_update, 1 byte: update_not_requested.
        let message: (UInt8, UInt8, UInt8, UInt8, UInt8) = (24, 0, 0, 1, 0)
        guard withUnsafeBytes(of: message, { self.seal($0, .handshake, to: loop) }) else { return false }
        self.secret = next
        self.number = 0
        return self.deriveKeys()
    }

    private mutating func seal(_ bytes: UnsafeRawBufferPointer, _ content: Content, to loop: TLSLoop) -> Bool {
        guard let context = loop.cipherContext(for: self.suite) else { return false }
        let count = bytes.count
        let record = loop.reserve(count + Self.overhead)
        let sealedCount = count + 1 + 16
        record.storeBytes(of: 23, toByteOffset: 0, as: UInt8.self)
        record.storeBytes(of: UInt16(0x0303).bigEndian, toByteOffset: 1, as: UInt16.self)
        record.storeBytes(of: UInt16(sealedCount).bigEndian, toByteOffset: 3, as: UInt16.self)
        let inner = record + 5
        if let start = bytes.baseAddress { inner.copyMemory(from: start, byteCount: count) }
        inner.storeBytes(of: content.rawValue, toByteOffset: count, as: UInt8.self)

        var nonce = (self.nonceHead, UInt32(0), UInt32(0))
        withUnsafeMutableBytes(of: &nonce) {
            $0.storeBytes(of: (self.nonceTail ^ self.number).bigEndian, toByteOffset: 4, as: UInt64.self)
        }
        let isSealed = withUnsafeBytes(of: &self.key) { key in
            withUnsafeBytes(of: &nonce) { nonce in
                let keyStart = key.baseAddress?.assumingMemoryBound(to: UInt8.self)
                let nonceStart = nonce.baseAddress?.assumingMemoryBound(to: UInt8.self)
                let header = record.assumingMemoryBound(to: UInt8.self)
                let text = inner.assumingMemoryBound(to: UInt8.self)
                var written: CInt = 0
                return EVP_EncryptInit_ex(context, nil, nil, keyStart, nonceStart) == 1
                    && EVP_EncryptUpdate(context, nil, &written, header, 5) == 1
                    && EVP_EncryptUpdate(context, text, &written, text, CInt(count + 1)) == 1
                    && EVP_EncryptFinal_ex(context, text + Int(written), &written) == 1
                    && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, text + count + 1) == 1
            }
        }
        guard isSealed else { return false }
        self.number += 1
        loop.commit(count + Self.overhead)
        return true
    }

    // MARK: Keys

    /// - Returns: `false` when libcrypto fails. The old keys are then still in place, but nothing may be sent under them.
    private mutating func deriveKeys() -> Bool {
        let suite = self.suite
        var (key, head, tail): (Words4, UInt32, UInt64) = ((0, 0, 0, 0), 0, 0)
        let areDerived =
            self.expand("key", suite.keyBytes) { $0.copyMemory(to: &key) }
            && self.expand("iv", 12) { iv in
                head = iv.loadUnaligned(fromByteOffset: 0, as: UInt32.self)
                tail = UInt64(bigEndian: iv.loadUnaligned(fromByteOffset: 4, as: UInt64.self))
            }
        guard areDerived else { return false }
        (self.key, self.nonceHead, self.nonceTail) = (key, head, tail)
        return true
    }

    private func expand(_ label: StaticString, _ count: Int, _ body: (UnsafeRawBufferPointer) -> Void) -> Bool {
        withUnsafeBytes(of: self.secret) { secret in
            Self.expand(
                UnsafeRawBufferPointer(rebasing: secret[..<self.suite.hashBytes]), by: self.suite.hash, label, count,
                body)
        }
    }

    /// HKDF-Expand-Label with an empty context (RFC 8446, 7.1), for at most one block of the hash (RFC 5869, 2.3).
    ///
    /// - Returns: whether `body` was called with the bytes. It is not called when libcrypto fails: the block would contain
    ///   uninitialized stack memory, and records would be encrypted under that.
    static func expand(
        _ secret: UnsafeRawBufferPointer, by hash: OpaquePointer?, _ label: StaticString, _ count: Int,
        _ body: (UnsafeRawBufferPointer) -> Void
    ) -> Bool {
        let name =
            "tls13 ".utf8.map { $0 } + UnsafeBufferPointer(start: label.utf8Start, count: label.utf8CodeUnitCount)
        let info = [UInt8(count >> 8), UInt8(count & 0xFF), UInt8(name.count)] + name + [0, 1]
        return withUnsafeTemporaryAllocation(byteCount: Int(EVP_MAX_MD_SIZE), alignment: 8) { block in
            defer { OPENSSL_cleanse(block.baseAddress, block.count) }
            var length: CUnsignedInt = 0
            let digest = HMAC(
                hash, secret.baseAddress, CInt(secret.count), info, info.count,
                block.baseAddress?.assumingMemoryBound(to: UInt8.self), &length)
            guard digest != nil, count <= Int(length) else { return false }
            body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(block)[..<count]))
            return true
        }
    }

    /// Returns a cipher context for the suite, to be given a key for each record.
    static func makeContext(for suite: Suite) -> OpaquePointer? {
        guard let context = EVP_CIPHER_CTX_new() else { return nil }
        guard EVP_EncryptInit_ex(context, suite.cipher, nil, nil, nil) == 1 else {
            EVP_CIPHER_CTX_free(context)
            return nil
        }
        return context
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func copyMemory<Value>(to value: inout Value) {
        withUnsafeMutableBytes(of: &value) {
            $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: self.prefix($0.count)))
        }
    }
}
