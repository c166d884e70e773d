// What a listener presents and accepts, as libssl keeps it: one SSL_CTX.
//
// A context is built once and never changed: the certificate chain, the key, the versions (1.2 and 1.3), the ciphers
// and a handful of modes chosen for many thousand quiet connections. Each connection takes its `SSL` from a context and
// holds on to it, so a new certificate is a new context (see `TLSCredentials`) and nobody is disconnected by it.
//
// The choices, and why:
// - TLS 1.2 with ephemeral keys and authenticated encryption only (RFC 9325, 4.2); 1.3 as libssl has it, with
//   AES-128-GCM first: it is the cheapest with AES in hardware, and a client without it may ask for ChaCha20.
// - No session cache: sessions travel with the client in one ticket, so memory does not grow with reconnects.
// - Buffers are released while a connection is idle: 32 KiB less for each.
// - No client certificate is asked for: riders and customers prove themselves with a token.

internal import COpenSSL

/// Certificates and settings of a listener: one SSL_CTX. Immutable; a reload makes a new one.
///
/// `@unchecked Sendable`: nothing changes the SSL_CTX after `init`, and libssl guards what it counts and shares in it
/// (`SSL_new` and `SSL_CTX_free` from any thread are allowed, see `openssl-threads(7)`).
package final class TLSContext: @unchecked Sendable {
    /// The SSL_CTX; released with this object. Connections hold references of their own.
    let pointer: OpaquePointer
    /// Whether records of TLS 1.3 are made by `RecordWriter`, or all by libssl.
    let makesRecords: Bool
    /// Records of one connection under one key.
    let mostRecords: UInt64
    private let ticketKeys: TicketKeys
    private let ocspResponse: OCSPResponse?

    /// Reads both files, PEM, now. Blocks on the disk: not for an event loop.
    ///
    /// - Parameter ticketKeys: `nil` for keys that only this context has: its clients resume here and nowhere else.
    /// - Parameter ocspResponse: file of an OCSP response about the certificate, in DER.
    /// - Parameter makesRecords: `false` leaves all records to libssl, to compare with.
    /// - Parameter mostRecords: after so many new keys are taken: far below what AES-GCM may (RFC 8446, 5.5: 2^24.5).
    package init(
        certificateChain: String, privateKey: String, ticketKeys: TicketKeys? = nil, ocspResponse: String? = nil,
        makesRecords: Bool = true, mostRecords: UInt64 = 1 << 23
    ) throws(TLSConfigurationError) {
        guard let pointer = SSL_CTX_new(TLS_server_method()) else { throw .library(takeReason()) }
        self.pointer = pointer
        self.makesRecords = makesRecords
        self.mostRecords = mostRecords
        do throws(TLSConfigurationError) {
            self.ticketKeys = if let ticketKeys { ticketKeys } else { try TicketKeys() }
            self.ocspResponse = if let ocspResponse { try OCSPResponse(file: ocspResponse) } else { nil }
        } catch {
            SSL_CTX_free(pointer)
            throw error
        }
        try self.load(certificateChain: certificateChain, privateKey: privateKey)
        try self.choose()
        SSL_CTX_set_msg_callback(pointer, hearKeyUpdates)
    }

    /// The same for one event loop, without a look at the disk. What `libssl` is told to call while it works on a
    /// connection is set and unset in the context, so a context that is shared by threads can not do that.
    init(forOneLoop shared: TLSContext) throws(TLSConfigurationError) {
        guard let pointer = SSL_CTX_new(TLS_server_method()) else { throw .library(takeReason()) }
        self.pointer = pointer
        self.makesRecords = shared.makesRecords
        self.mostRecords = shared.mostRecords
        self.ticketKeys = shared.ticketKeys
        self.ocspResponse = shared.ocspResponse
        guard enroute_SSL_CTX_share_certificate(pointer, shared.pointer) == 1 else { throw .library(takeReason()) }
        try self.choose()
        if self.makesRecords { SSL_CTX_set_msg_callback(pointer, hearMessage) }
    }

    /// When the server's own certificate is valid; `nil` when that cannot be read.
    var validity: CertificateValidity? { CertificateValidity(of: self.pointer) }

    deinit {
        SSL_CTX_free(self.pointer)
    }

    private func load(certificateChain: String, privateKey: String) throws(TLSConfigurationError) {
        ERR_clear_error()
        // Without this libssl asks for the passphrase of an encrypted key at the terminal, and waits.
        SSL_CTX_set_default_passwd_cb(self.pointer) { _, _, _, _ in -1 }
        guard SSL_CTX_use_certificate_chain_file(self.pointer, certificateChain) == 1 else {
            throw .diagnose(certificateChain: certificateChain, reason: takeReason())
        }
        let isLoaded = SSL_CTX_use_PrivateKey_file(self.pointer, privateKey, SSL_FILETYPE_PEM) == 1
        // A key of another kind than the certificate's (RSA, ECDSA) is loaded and fails the check; one of the same kind
        // fails while it is loaded, with an error of the X509 part.
        let isOther =
            isLoaded ? SSL_CTX_check_private_key(self.pointer) != 1 : ERR_GET_LIB(ERR_peek_error()) == ERR_LIB_X509
        let reason = takeReason()
        if isOther { throw .keyDoesNotMatch(certificateChain: certificateChain, privateKey: privateKey) }
        if !isLoaded { throw .diagnose(privateKey: privateKey, reason: reason) }
    }

    private func choose() throws(TLSConfigurationError) {
        enroute_SSL_CTX_set_server_options(self.pointer)
        // SSL_MODE_ENABLE_PARTIAL_WRITE is left out: our BIO never refuses a byte, so a write is always whole. A moving
        // buffer is for a write repeated after the peer's half of a handshake message (see `TLSConnection`).
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
        else { throw .library(takeReason()) }
        try self.ticketKeys.install(in: self.pointer)
        try self.ocspResponse?.install(in: self.pointer)
    }

    static let ciphers13 = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
    static let ciphers12 = """
        ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:\
        ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:\
        ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384
        """
    /// The groups that are cheap for a server; the finite fields and P-521 that libssl would add are not.
    static let groups = "X25519:P-256:P-384"
}

/// ALPN (RFC 7301): `http/1.1` when the client offers it. A client that offers only others is not refused: it goes on
/// without a protocol, which is what one that offers none gets.
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

/// What libssl says of the first error on this thread, in words; forgets all of them.
func takeReason() -> String {
    let code = ERR_get_error()
    ERR_clear_error()
    guard code != 0 else { return "no reason given" }
    if let reason = ERR_reason_error_string(code) { return String(cString: reason) }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { text in
        ERR_error_string_n(code, text.baseAddress, text.count)
        return text.baseAddress.map { String(cString: $0) } ?? "error \(code)"
    }
}
