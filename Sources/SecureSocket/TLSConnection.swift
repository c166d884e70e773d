// One connection as libssl sees it: bytes from the peer in, bytes for the peer out, and no socket in sight.
//
// `read` is given what came from the socket and yields what it means; `write` is given what is to be said and encrypts it;
// `shutdown` says goodbye. Whatever libssl wants sent in answer (its half of a handshake, a ticket, a KeyUpdate, an alert)
// is in `TLSLoop.output` after each of the three, and must be taken before the next call of any connection.
//
// Two things are less than obvious. Reading drives everything: there is no separate handshake, the first `read`s are it.
// And writing may have to wait for the peer: before the handshake is over, and, rarely, when half of a message such as a
// KeyUpdate has come. Such plaintext is kept here and encrypted at the end of the `read` that makes it possible.

internal import COpenSSL
internal import NIOCore

/// Not Sendable, like the `TLSLoop` it belongs to.
final class TLSConnection {
    enum Reading: Equatable {
        /// More may come.
        case open
        /// The peer said that it sends no more (close_notify).
        case ended
        /// The connection is over: what came is no TLS, or the peer sent an alert. An alert of ours is in the output.
        case failed(String)
    }

    enum Writing: Equatable {
        /// The ciphertext is in the output.
        case encrypted
        /// Kept; a `read` will encrypt it. Whatever is written meanwhile queues behind it.
        case kept
        /// libssl does not take it, or more is kept than `keptLimitBytes`. The connection is over.
        case refused(String)
    }

    /// Plaintext kept while the peer has to speak first. A server of ours says nothing before it was asked, so this is far
    /// more than is ever kept.
    static let keptLimitBytes = 64 * 1024

    private let ssl: OpaquePointer
    private let loop: TLSLoop
    private var kept = ByteBuffer()
    private var hasFailed = false
    private(set) var isHandshakeComplete = false

    init(context: TLSContext, loop: TLSLoop) {
        guard let ssl = SSL_new(context.pointer) else {
            // SSL_new fails for want of memory and for a null context, and there is no other.
            preconditionFailure("libssl has no memory for a connection")
        }
        self.ssl = ssl
        self.loop = loop
        BIO_up_ref(loop.bio)
        SSL_set_bio(ssl, loop.bio, loop.bio)
        SSL_set_accept_state(ssl)
    }

    deinit {
        SSL_free(self.ssl)
    }

    /// Whether plaintext waits for the peer.
    var keepsPlaintext: Bool { self.kept.readableBytes > 0 }

    var keptBytes: Int { self.kept.readableBytes }

    /// For example "TLSv1.3".
    var version: String { String(cString: SSL_get_version(self.ssl)) }

    /// Feeds what came from the socket and appends what it says to `plaintext`; the output may hold an answer.
    func read(_ ciphertext: ByteBuffer, into plaintext: inout ByteBuffer) -> Reading {
        ciphertext.withUnsafeReadableBytes { bytes in
            self.loop.withInput(bytes) {
                ERR_clear_error()
                let reading = self.decrypt(into: &plaintext)
                if !self.isHandshakeComplete && SSL_is_init_finished(self.ssl) == 1 { self.isHandshakeComplete = true }
                guard self.keepsPlaintext, self.isHandshakeComplete, !self.hasFailed else { return reading }
                if case .refused(let reason) = self.encryptKept() { return .failed(reason) }
                return reading
            }
        }
    }

    private func decrypt(into plaintext: inout ByteBuffer) -> Reading {
        var count: CInt = 0
        repeat {
            // Plaintext is never longer than its ciphertext, but the record may have begun in an earlier read.
            let room = max(self.loop.input.count, Int(SSL_pending(self.ssl)), 64)
            plaintext.writeWithUnsafeMutableBytes(minimumWritableBytes: room) { free in
                count = SSL_read(self.ssl, free.baseAddress, CInt(clamping: free.count))
                return max(0, Int(count))
            }
        } while count > 0 && (self.loop.input.count > 0 || SSL_pending(self.ssl) > 0)
        guard count <= 0 else { return .open }
        switch SSL_get_error(self.ssl, count) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .open
        case SSL_ERROR_ZERO_RETURN: return .ended
        default:
            self.hasFailed = true
            return .failed(takeReason())
        }
    }

    /// Encrypts `bytes`; the output is theirs alone.
    func write(_ bytes: UnsafeRawBufferPointer) -> Writing {
        self.loop.empty()
        guard !bytes.isEmpty else { return self.keepsPlaintext ? .kept : .encrypted }
        guard self.isHandshakeComplete && !self.keepsPlaintext else { return self.keep(bytes) }
        ERR_clear_error()
        return self.encrypt(bytes)
    }

    private func encrypt(_ bytes: UnsafeRawBufferPointer) -> Writing {
        var rest = bytes
        while !rest.isEmpty {
            let count = SSL_write(self.ssl, rest.baseAddress, CInt(clamping: rest.count))
            guard count > 0 else {
                guard SSL_get_error(self.ssl, count) == SSL_ERROR_WANT_READ else {
                    self.hasFailed = true
                    return .refused(takeReason())
                }
                return self.keep(rest)
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[Int(count)...])
        }
        return .encrypted
    }

    private func keep(_ bytes: UnsafeRawBufferPointer) -> Writing {
        guard !self.hasFailed else { return .refused("the connection has failed") }
        guard self.kept.readableBytes + bytes.count <= Self.keptLimitBytes else {
            return .refused("\(Self.keptLimitBytes) bytes wait for the peer's handshake already")
        }
        self.kept.writeBytes(bytes)
        return .kept
    }

    /// Appends to the output of the `read` it is called from.
    private func encryptKept() -> Writing {
        let bytes = self.kept
        self.kept = ByteBuffer()
        return bytes.withUnsafeReadableBytes { self.encrypt($0) }
    }

    /// Puts our close_notify into the output, once. Nothing can be written afterwards; the peer's is not waited for.
    func shutdown() {
        self.loop.empty()
        // Neither is allowed by libssl: there is no connection to close yet, or none any more.
        guard self.isHandshakeComplete, !self.hasFailed, SSL_get_shutdown(self.ssl) & SSL_SENT_SHUTDOWN == 0 else {
            return
        }
        ERR_clear_error()
        SSL_shutdown(self.ssl)
        ERR_clear_error()
    }
}
