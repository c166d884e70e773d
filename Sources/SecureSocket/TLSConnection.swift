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
    private var hasSaidGoodbye = false
    /// Set once records are made here and not by libssl; before that, the secret they will be made under.
    private var records: RecordWriter?
    private var sendingSecret: [UInt8]?
    private var keyUpdates = KeyUpdateBudget()
    private let context: TLSContext
    private(set) var isHandshakeComplete = false

    init(context: TLSContext, loop: TLSLoop) {
        let context = context.makesRecords ? loop.own(context) : context
        guard let ssl = SSL_new(context.pointer) else {
            // SSL_new fails for want of memory and for a null context, and there is no other.
            preconditionFailure("libssl has no memory for a connection")
        }
        self.ssl = ssl
        self.loop = loop
        self.context = context
        BIO_up_ref(loop.bio)
        SSL_set_bio(ssl, loop.bio, loop.bio)
        SSL_set_accept_state(ssl)
    }

    deinit {
        SSL_free(self.ssl)
        self.records?.wipe()
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
                forgetErrors()
                let reading = self.decrypt(into: &plaintext)
                let isStorm = !self.keyUpdates.take(self.loop.keyUpdatesHeard, at: { .now() })
                if self.records != nil {
                    if reading == .open, !isStorm { self.answerKeyUpdate() }
                    guard self.sayAgain() else { return .failed("a record could not be encrypted") }
                } else if !self.isHandshakeComplete {
                    self.continueHandshake()
                }
                guard !isStorm else { return self.refuseKeyUpdates() }
                guard self.keepsPlaintext, self.isHandshakeComplete, !self.hasFailed else { return reading }
                if case .refused(let reason) = self.encryptKept() { return .failed(reason) }
                return reading
            }
        }
    }

    private func continueHandshake() {
        if let secret = self.loop.takeSendingSecret() { self.sendingSecret = secret }
        guard SSL_is_init_finished(self.ssl) == 1 else { return }
        self.isHandshakeComplete = true
        defer { self.sendingSecret = nil }
        guard self.context.makesRecords, !self.hasFailed, let secret = self.sendingSecret,
            let suite = RecordWriter.Suite(rawValue: SSL_CIPHER_get_protocol_id(SSL_get_current_cipher(self.ssl))),
            SSL_SESSION_get_max_fragment_length(SSL_get_session(self.ssl)) == 0,
            // A client may ask for new keys in the same breath; then the secret is the one before.
            !self.loop.said.contains(.keyUpdate)
        else { return }
        // The server's last word of the handshake was in an earlier call (the client had to answer it), so what is in
        // the output now, the session's ticket, went out under the new keys. Where no writer can be made, libssl goes on.
        self.records = RecordWriter(
            suite: suite, secret: secret, number: self.loop.outputRecords, mostRecords: self.context.mostRecords)
    }

    /// A peer that takes new keys may ask for ours (RFC 8446, 4.6.3). libssl remembers that until the next `SSL_write`,
    /// which never comes where records are made here: it is told to say it now, and `sayAgain` says it.
    private func answerKeyUpdate() {
        guard self.loop.keyUpdatesHeard > 0, SSL_get_key_update_type(self.ssl) != SSL_KEY_UPDATE_NONE else { return }
        forgetErrors()
        SSL_key_update(self.ssl, SSL_KEY_UPDATE_NOT_REQUESTED)
        SSL_do_handshake(self.ssl)
        forgetErrors()
    }

    private func refuseKeyUpdates() -> Reading {
        self.hasFailed = true
        // Fatal (2), unexpected_message (10), where the count of records is ours.
        _ = self.records?.alert(level: 2, description: 10, to: self.loop)
        return .failed("the peer takes new keys more than \(KeyUpdateBudget.most) times a minute")
    }

    /// What libssl wrote by itself is encrypted under its own count of records, which is not ours any more: sent again.
    private func sayAgain() -> Bool {
        self.loop.dropOutput()
        for said in self.loop.said {
            switch said {
            case .alert(let level, let description):
                guard self.records?.alert(level: level, description: description, to: self.loop) == true else {
                    return false
                }
            case .keyUpdate: guard self.records?.updateKeys(to: self.loop) == true else { return false }
            }
        }
        return true
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
        return self.encrypt(bytes)
    }

    private func encrypt(_ bytes: UnsafeRawBufferPointer) -> Writing {
        guard !self.hasFailed else { return .refused("the connection has failed") }
        if self.records != nil {
            guard self.records?.write(bytes, to: self.loop) == true else {
                self.hasFailed = true
                return .refused("a record could not be encrypted")
            }
            return .encrypted
        }
        forgetErrors()
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
        if self.records != nil {
            guard !self.hasSaidGoodbye else { return }
            self.hasSaidGoodbye = true
            // A warning (1) by the name of close_notify (0).
            _ = self.records?.alert(level: 1, description: 0, to: self.loop)
            return
        }
        forgetErrors()
        SSL_shutdown(self.ssl)
        forgetErrors()
    }
}

/// `SSL_get_error` looks at this thread's errors, so there must be none from before. To clear what is empty costs more than
/// to encrypt a short message.
private func forgetErrors() {
    if ERR_peek_error() != 0 { ERR_clear_error() }
}
