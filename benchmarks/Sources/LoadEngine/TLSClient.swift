// The client side of TLS 1.3 over libssl: one context, one cipher for every peer, and one BIO shared by all connections of the
// loop, which reads the bytes just received and writes to the current socket.

internal import CLibssl
internal import Glibc

/// Settings of the TLS connections of a run. Confined to its loop's thread.
public final class TLSClient {
    let context: OpaquePointer
    /// The current ciphertext, for the connection being processed.
    var input = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The destination of ciphertext.
    var socket: Int32 = -1
    let bio: OpaquePointer
    /// From the connection that last received a session ticket.
    private(set) var session: OpaquePointer?

    public static let cipher = "TLS_AES_128_GCM_SHA256"
    private static let groups = "X25519:P-256"

    /// - Parameter keepsSession: stores the newest session ticket, for resumptions.
    public init(keepsSession: Bool = false) throws {
        guard let context = SSL_CTX_new(TLS_client_method()),
            bench_SSL_CTX_require_version(context, TLS1_3_VERSION) == 1,
            SSL_CTX_set_ciphersuites(context, Self.cipher) == 1, bench_SSL_CTX_set_groups(context, Self.groups) == 1
        else { throw LoadError("libssl rejects TLS 1.3 with \(Self.cipher)") }
        self.context = context
        let modes = SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
        _ = bench_SSL_CTX_set_mode(context, Int(modes))
        SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nil)
        self.bio = Self.makeBIO()
        BIO_set_data(self.bio, Unmanaged.passUnretained(self).toOpaque())
        guard keepsSession else { return }
        SSL_CTX_set_ex_data(context, 0, Unmanaged.passUnretained(self).toOpaque())
        bench_SSL_CTX_hand_out_sessions(context) { ssl, session in
            let client = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), 0)!
            let owner = Unmanaged<TLSClient>.fromOpaque(client).takeUnretainedValue()
            SSL_SESSION_free(owner.session)
            owner.session = session
            return 1
        }
    }

    deinit {
        SSL_SESSION_free(self.session)
        BIO_free(self.bio)
        SSL_CTX_free(self.context)
    }

    func connection(host: String, resuming session: OpaquePointer?) -> OpaquePointer {
        let ssl = SSL_new(self.context)!
        BIO_up_ref(self.bio)
        SSL_set_bio(ssl, self.bio, self.bio)
        SSL_set_connect_state(ssl)
        if host.contains(where: \.isLetter) { _ = bench_SSL_set_server_name(ssl, host) }
        if let session {
            // A copy per connection: libssl considers a TLS 1.3 session used up after the first.
            let copy = SSL_SESSION_dup(session)
            SSL_set_session(ssl, copy)
            SSL_SESSION_free(copy)
        }
        return ssl
    }

    /// Frees a connection without invalidating its session: libssl drops the session of a connection that ends without
    /// close_notify.
    static func free(_ ssl: OpaquePointer) {
        SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
        SSL_free(ssl)
    }

    static var lastError: String {
        let code = ERR_get_error()
        guard code != 0, let text = ERR_reason_error_string(code) else { return "no reason given" }
        ERR_clear_error()
        return String(cString: text)
    }

    private static func makeBIO() -> OpaquePointer {
        let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "enroute-load")!
        BIO_meth_set_read(method) { bio, target, capacity in
            let client = Unmanaged<TLSClient>.fromOpaque(BIO_get_data(bio)).takeUnretainedValue()
            bench_BIO_clear_retry_flags(bio)
            let count = min(Int(capacity), client.input.count)
            guard count > 0, let target else {
                bench_BIO_set_retry_read(bio)
                return -1
            }
            memcpy(target, client.input.baseAddress!, count)
            client.input = UnsafeRawBufferPointer(rebasing: client.input[count...])
            return Int32(count)
        }
        BIO_meth_set_write(method) { bio, bytes, count in
            let client = Unmanaged<TLSClient>.fromOpaque(BIO_get_data(bio)).takeUnretainedValue()
            bench_BIO_clear_retry_flags(bio)
            let sent = send(client.socket, bytes, Int(count), Int32(MSG_NOSIGNAL))
            if sent < 0, errno == EAGAIN { bench_BIO_set_retry_write(bio) }
            return Int32(sent)
        }
        BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
        let bio = BIO_new(method)!
        BIO_set_init(bio, 1)
        return bio
    }
}
