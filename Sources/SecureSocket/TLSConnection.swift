// One connection as libssl sees it: bytes from the peer in, bytes for the peer out, no socket.
//
// `read` receives bytes from the socket and returns their plaintext; `write` encrypts plaintext; `shutdown` sends
// close_notify. Everything that libssl wants to send in response (its half of a handshake, a ticket, a KeyUpdate, an
// alert) is in `TLSLoop.output` after each of the three, and must be removed before the next call of any connection.
//
// Two things are not obvious. There is no separate handshake step: the first calls of `read` perform the handshake. And
// a write may have to wait for the peer: before the handshake completes and, rarely, when half of a message such as a
// KeyUpdate has arrived. Its plaintext is buffered here and encrypted at the end of the `read` that makes it possible.

internal import COpenSSL
internal import NIOCore

/// Not Sendable, like the `TLSLoop` it belongs to.
final class TLSConnection {
    enum Reading: Equatable {
        /// More may follow.
        case open
        /// The peer ended its side (close_notify).
        case ended
        /// The connection has failed: the input is not TLS, or the peer sent an alert. Our own alert is in the output.
        case failed(String)
    }

    enum Writing: Equatable {
        /// The ciphertext is in the output.
        case encrypted
        /// Buffered; a `read` will encrypt it. Further writes queue behind it.
        case buffered
        /// libssl rejects it, or more than `bufferLimitBytes` are buffered. The connection has failed.
        case refused(String)
    }

    /// Limit of plaintext that is buffered while waiting for the peer. A server sends nothing before the first request,
    /// so this is far more than it needs.
    static let bufferLimitBytes = 64 * 1024

    private let ssl: OpaquePointer
    private let loop: TLSLoop
    private var buffered = ByteBuffer()
    private var hasFailed = false
    private var hasSaidGoodbye = false
    /// Set once records are written here instead of by libssl; until then `sendingSecret` holds the secret for them.
    private var records: RecordWriter?
    private var sendingSecret: [UInt8]?
    private var keyUpdates = KeyUpdateBudget()
    private let context: TLSContext
    private(set) var isHandshakeComplete = false

    init(context: TLSContext, loop: TLSLoop) {
        let context = context.makesRecords ? loop.copy(of: context) : context
        guard let ssl = SSL_new(context.pointer) else {
            // SSL_new fails only without memory or with a null context, and the context is not null.
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

    /// Whether plaintext is waiting for the peer.
    var hasBufferedPlaintext: Bool { self.buffered.readableBytes > 0 }

    var bufferedBytes: Int { self.buffered.readableBytes }

    /// For example "TLSv1.3".
    var version: String { String(cString: SSL_get_version(self.ssl)) }

    /// Decrypts bytes from the socket and appends the plaintext to `plaintext`. The output may contain a response.
    func read(_ ciphertext: ByteBuffer, into plaintext: inout ByteBuffer) -> Reading {
        ciphertext.withUnsafeReadableBytes { bytes in
            self.loop.withInput(bytes) {
                forgetErrors()
                let reading = self.decrypt(into: &plaintext)
                let isStorm = !self.keyUpdates.record(self.loop.keyUpdatesReceived, at: { .now() })
                if self.records != nil {
                    if reading == .open, !isStorm { self.answerKeyUpdate() }
                    guard self.resendMessages() else { return .failed("a record could not be encrypted") }
                } else if !self.isHandshakeComplete {
                    self.continueHandshake()
                }
                guard !isStorm else { return self.refuseKeyUpdates() }
                guard self.hasBufferedPlaintext, self.isHandshakeComplete, !self.hasFailed else { return reading }
                if case .refused(let reason) = self.encryptBuffered() { return .failed(reason) }
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
            // If a client requests new keys together with the end of its handshake, the secret is outdated.
            !self.loop.libraryMessages.contains(.keyUpdate)
        else { return }
        // The server's last handshake message was written in an earlier call, because the client had to answer it. So the
        // output now contains the session ticket, sent under the new keys. If no writer can be created, libssl continues to
        // write the records.
        self.records = RecordWriter(
            suite: suite, secret: secret, number: self.loop.outputRecords, maxRecords: self.context.maxRecords)
    }

    /// A peer that updates its keys may request an update of our keys (RFC 8446, 4.6.3). libssl answers at the next
    /// `SSL_write`, which never happens when records are written here. So this method makes libssl answer now, and
    /// `resendMessages` sends the answer.
    private func answerKeyUpdate() {
        guard self.loop.keyUpdatesReceived > 0, SSL_get_key_update_type(self.ssl) != SSL_KEY_UPDATE_NONE else { return }
        forgetErrors()
        SSL_key_update(self.ssl, SSL_KEY_UPDATE_NOT_REQUESTED)
        SSL_do_handshake(self.ssl)
        forgetErrors()
    }

    private func refuseKeyUpdates() -> Reading {
        self.hasFailed = true
        // Level fatal (2), unexpected_message (10), if records are written here.
        _ = self.records?.alert(level: 2, description: 10, to: self.loop)
        return .failed("the peer updates its keys more than \(KeyUpdateBudget.most) times a minute")
    }

    /// Sends libssl's own messages again: libssl encrypted them under its own sequence number, which is no longer the
    /// connection's.
    private func resendMessages() -> Bool {
        self.loop.dropOutput()
        for message in self.loop.libraryMessages {
            switch message {
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
            // Plaintext is never longer than its ciphertext, but the record may have started in an earlier read.
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
            return .failed(takeErrorReason())
        }
    }

    /// Encrypts `bytes`; the output then contains nothing else.
    func write(_ bytes: UnsafeRawBufferPointer) -> Writing {
        self.loop.empty()
        guard !bytes.isEmpty else { return self.hasBufferedPlaintext ? .buffered : .encrypted }
        guard self.isHandshakeComplete && !self.hasBufferedPlaintext else { return self.buffer(bytes) }
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
                    return .refused(takeErrorReason())
                }
                return self.buffer(rest)
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[Int(count)...])
        }
        return .encrypted
    }

    private func buffer(_ bytes: UnsafeRawBufferPointer) -> Writing {
        guard !self.hasFailed else { return .refused("the connection has failed") }
        guard self.buffered.readableBytes + bytes.count <= Self.bufferLimitBytes else {
            return .refused("\(Self.bufferLimitBytes) bytes are already waiting for the peer's handshake")
        }
        self.buffered.writeBytes(bytes)
        return .buffered
    }

    /// Appends to the output of the `read` that calls it.
    private func encryptBuffered() -> Writing {
        let bytes = self.buffered
        self.buffered = ByteBuffer()
        return bytes.withUnsafeReadableBytes { self.encrypt($0) }
    }

    /// Puts our close_notify into the output, once. Nothing can be written afterwards. It does not wait for the peer's.
    func shutdown() {
        self.loop.empty()
        // libssl allows no close_notify while the connection is not established, or after it has failed.
        guard self.isHandshakeComplete, !self.hasFailed, SSL_get_shutdown(self.ssl) & SSL_SENT_SHUTDOWN == 0 else {
            return
        }
        if self.records != nil {
            guard !self.hasSaidGoodbye else { return }
            self.hasSaidGoodbye = true
            // Level warning (1), close_notify (0).
            _ = self.records?.alert(level: 1, description: 0, to: self.loop)
            return
        }
        forgetErrors()
        SSL_shutdown(self.ssl)
        forgetErrors()
    }
}

/// `SSL_get_error` reads this thread's error queue, so it must not contain earlier errors. Clearing an empty queue costs more
/// than encrypting a short message, so it is checked first.
private func forgetErrors() {
    if ERR_peek_error() != 0 { ERR_clear_error() }
}
