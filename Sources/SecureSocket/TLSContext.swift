// The TLS settings of a listener: one SSL_CTX.
//
// A context is built once and never changed: the certificate chain, the key, the versions (1.2 and 1.3), the ciphers,
// and a few modes chosen for many thousand idle connections. Each connection creates its `SSL` from a context and
// retains the context. A new certificate therefore needs a new context (see `TLSCredentials`), and nobody is
// disconnected.
//
// The choices, and why:
// - TLS 1.2 with ephemeral keys and authenticated encryption only (RFC 9325, 4.2); 1.3 with libssl's defaults, but
//   AES-128-GCM first: it is the cheapest with AES in hardware, and a client without it may request ChaCha20.
// - No session cache: a session is in the client's ticket, so memory does not grow with reconnects.
// - Buffers are released while a connection is idle, which saves 32 KiB each.
// - No client certificate is requested: riders and customers authenticate with a token.

internal import COpenSSL

/// Certificates and settings of a listener: one SSL_CTX. Immutable; a reload creates a new one.
///
/// `@unchecked Sendable`: nothing changes the SSL_CTX after `init`, and libssl synchronizes its reference count and shared
/// state (`SSL_new` and `SSL_CTX_free` may be called from any thread, see `openssl-threads(7)`).
package final class TLSContext: @unchecked Sendable {
    /// The SSL_CTX; released with this object. Connections retain it themselves.
    let pointer: OpaquePointer
    /// Whether TLS 1.3 records are written by `RecordWriter` or by libssl.
    let makesRecords: Bool
    /// Maximum number of records of one connection under one key.
    let maxRecords: UInt64
    private let ticketKeys: TicketKeys
    private let ocspResponse: OCSPResponse?

    /// Reads both PEM files. Blocks on disk I/O: do not call it on an event loop.
    ///
    /// - Parameter ticketKeys: `nil` for keys known only to this context: its clients can resume only here.
    /// - Parameter ocspResponse: file of an OCSP response for the certificate, in DER.
    /// - Parameter makesRecords: `false` leaves all records to libssl, for comparisons.
    /// - Parameter maxRecords: the keys are updated after this many: far below the limit of AES-GCM (RFC 8446, 5.5: 2^24.5).
    package init(
        certificateChain: String, privateKey: String, ticketKeys: TicketKeys? = nil, ocspResponse: String? = nil,
        makesRecords: Bool = true, maxRecords: UInt64 = 1 << 23
    ) throws(TLSConfigurationError) {
        guard let pointer = SSL_CTX_new(TLS_server_method()) else { throw .library(takeErrorReason()) }
        self.pointer = pointer
        self.makesRecords = makesRecords
        self.maxRecords = maxRecords
        do throws(TLSConfigurationError) {
            self.ticketKeys = if let ticketKeys { ticketKeys } else { try TicketKeys() }
            self.ocspResponse = if let ocspResponse { try OCSPResponse(file: ocspResponse) } else { nil }
        } catch {
            SSL_CTX_free(pointer)
            throw error
        }
        try self.load(certificateChain: certificateChain, privateKey: privateKey)
        try self.choose()
        SSL_CTX_set_msg_callback(pointer, countKeyUpdates)
    }

    /// Copies a context for one event loop, without reading the files. libssl's callbacks are set and cleared in the context
    /// while a connection is being worked on, so a context with such callbacks cannot be shared by threads.
    init(forOneLoop shared: TLSContext) throws(TLSConfigurationError) {
        guard let pointer = SSL_CTX_new(TLS_server_method()) else { throw .library(takeErrorReason()) }
        self.pointer = pointer
        self.makesRecords = shared.makesRecords
        self.maxRecords = shared.maxRecords
        self.ticketKeys = shared.ticketKeys
        self.ocspResponse = shared.ocspResponse
        guard enroute_SSL_CTX_share_certificate(pointer, shared.pointer) == 1 else { throw .library(takeErrorReason()) }
        try self.choose()
        if self.makesRecords { SSL_CTX_set_msg_callback(pointer, recordMessage) }
    }

    /// The validity period of the server's own certificate; `nil` when it cannot be read.
    package var validity: CertificateValidity? { CertificateValidity(of: self.pointer) }

    /// Whether the file lacks the certificate of the CA that issued the server's. Only certificates that contain the address
    /// of their issuer's certificate are checked: those of a private CA usually do not, and their clients have the CA
    /// certificate anyway.
    package var lacksIssuer: Bool { enroute_SSL_CTX_lacks_issuer(self.pointer) == 1 }

    deinit {
        SSL_CTX_free(self.pointer)
    }

    private func load(certificateChain: String, privateKey: String) throws(TLSConfigurationError) {
        ERR_clear_error()
        // Without this, libssl prompts for the passphrase of an encrypted key on the terminal and blocks.
        SSL_CTX_set_default_passwd_cb(self.pointer) { _, _, _, _ in -1 }
        guard SSL_CTX_use_certificate_chain_file(self.pointer, certificateChain) == 1 else {
            throw .diagnose(certificateChain: certificateChain, reason: takeErrorReason())
        }
        let isLoaded = SSL_CTX_use_PrivateKey_file(self.pointer, privateKey, SSL_FILETYPE_PEM) == 1
        // A key of another kind than the certificate's (RSA, ECDSA) loads and then fails the check; one of the same kind fails
        // while loading, with an X509 error.
        let isOther =
            isLoaded ? SSL_CTX_check_private_key(self.pointer) != 1 : ERR_GET_LIB(ERR_peek_error()) == ERR_LIB_X509
        let reason = takeErrorReason()
        if isOther { throw .keyDoesNotMatch(certificateChain: certificateChain, privateKey: privateKey) }
        if !isLoaded { throw .diagnose(privateKey: privateKey, reason: reason) }
    }

    private func choose() throws(TLSConfigurationError) {
        enroute_SSL_CTX_set_server_options(self.pointer)
        // SSL_MODE_ENABLE_PARTIAL_WRITE is not set: our BIO accepts every byte, so a write is always complete. The moving
        // buffer is for a write repeated after the rest of a handshake message has arrived (see `TLSConnection`).
        _ = enroute_SSL_CTX_set_mode(
            self.pointer,
            Int(SSL_MODE_RELEASE_BUFFERS) | Int(SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER) | Int(SSL_MODE_AUTO_RETRY))
        _ = enroute_SSL_CTX_set_session_cache_mode(self.pointer, Int(SSL_SESS_CACHE_OFF))
        SSL_CTX_set_alpn_select_cb(self.pointer, selectHTTP1, nil)
        guard enroute_SSL_CTX_set_min_proto_version(self.pointer, TLS1_2_VERSION) == 1,
            SSL_CTX_set_cipher_list(self.pointer, Self.ciphers12) == 1,
            SSL_CTX_set_ciphersuites(self.pointer, Self.ciphers13) == 1,
            enroute_SSL_CTX_set1_groups_list(self.pointer, Self.groups) == 1,
            SSL_CTX_set_num_tickets(self.pointer, 1) == 1
        else { throw .library(takeErrorReason()) }
        try self.ticketKeys.install(in: self.pointer)
        try self.ocspResponse?.install(in: self.pointer)
    }

    static let ciphers13 = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
    static let ciphers12 = """
        ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:\
        ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:\
        ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384
        """
    /// The groups that are cheap for a server; libssl would add P-521 and the finite-field groups.
    static let groups = "X25519:P-256:P-384"
}

/// ALPN (RFC 7301): selects `http/1.1` if the client offers it. A client that offers only other protocols is not rejected: it
/// continues without a protocol, like a client that offers none.
private let selectHTTP1: SSL_CTX_alpn_select_cb_func = { _, chosen, chosenLength, offered, offeredLength, _ in
    guard let chosen, let chosenLength, let offered else { return SSL_TLSEXT_ERR_NOACK }
    let wanted: StaticString = "http/1.1"
    let list = UnsafeBufferPointer(start: offered, count: Int(offeredLength))
    var start = 0
    while start < list.count {
        let name = list[(start + 1)...].prefix(Int(list[start]))
        if name.elementsEqual(UnsafeBufferPointer(start: wanted.utf8Start, count: wanted.utf8CodeUnitCount)) {
            chosen.pointee = offered + start + 1
            chosenLength.pointee = UInt8(name.count)
            return SSL_TLSEXT_ERR_OK
        }
        start += 1 + Int(list[start])
    }
    return SSL_TLSEXT_ERR_NOACK
}

/// Returns libssl's text for the first error of this thread, and clears the error queue.
func takeErrorReason() -> String {
    let code = ERR_get_error()
    ERR_clear_error()
    guard code != 0 else { return "no reason given" }
    if let reason = ERR_reason_error_string(code) { return String(cString: reason) }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { text in
        ERR_error_string_n(code, text.baseAddress, text.count)
        return text.baseAddress.map { String(cString: $0) } ?? "error \(code)"
    }
}
