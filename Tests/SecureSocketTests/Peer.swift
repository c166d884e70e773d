// The peer: a client whose every step a test controls. Its TLS is libssl with memory BIOs, which allows what other libraries
// prevent: KeyUpdate, renegotiation, close_notify without closing the socket, bytes that are not a record.

import COpenSSL
import Glibc
import NIOCore
import NIOPosix

struct PeerError: Error { let reason: String }
enum PeerEvent: Sendable { case handshakeCompleted, closeNotify }

/// Confined to its loop.
final class LibsslClient: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    struct Settings: Sendable {
        var version = TLS1_3_VERSION
        /// Files of a client certificate, in case one is requested.
        var certificate: CertificateFiles?
        /// An earlier session to resume.
        var session: ClientSession?
    }

    let ssl: OpaquePointer
    private let settings: OpaquePointer
    private let input = BIO_new(BIO_s_mem())
    private let output = BIO_new(BIO_s_mem())
    private var context: ChannelHandlerContext?
    private var isComplete = false
    private var isEnded = false
    /// How often the server requested a certificate.
    let requests = UnsafeMutablePointer<CInt>.allocate(capacity: 1)

    init(_ settings: Settings) {
        self.settings = SSL_CTX_new(TLS_client_method())
        _ = enroute_SSL_CTX_set_min_proto_version(self.settings, settings.version)
        _ = SSL_CTX_ctrl(self.settings, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(settings.version), nil)
        if let files = settings.certificate {
            SSL_CTX_use_certificate_chain_file(self.settings, files.certificatePath)
            SSL_CTX_use_PrivateKey_file(self.settings, files.keyPath, SSL_FILETYPE_PEM)
        }
        self.requests.initialize(to: 0)
        SSL_CTX_set_cert_cb(
            self.settings,
            { _, count in
                count?.assumingMemoryBound(to: CInt.self).pointee += 1
                return 1
            }, self.requests)
        self.ssl = SSL_new(self.settings)
        SSL_set_bio(self.ssl, self.input, self.output)
        SSL_set_connect_state(self.ssl)
        if let session = settings.session { SSL_set_session(self.ssl, session.pointer) }
    }

    /// The session of the server's ticket; with TLS 1.3 only available after something was read.
    var session: ClientSession? { SSL_get1_session(self.ssl).map { ClientSession(pointer: $0) } }
    var isResumed: Bool { SSL_session_reused(self.ssl) == 1 }

    deinit {
        SSL_free(self.ssl)
        SSL_CTX_free(self.settings)
        self.requests.deallocate()
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelActive(context: ChannelHandlerContext) {
        context.fireChannelActive()
        self.pump()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.unwrapInboundIn(data).withUnsafeReadableBytes { bytes in
            _ = BIO_write(self.input, bytes.baseAddress, CInt(bytes.count))
        }
        self.pump()
    }

    /// Lets libssl read the input, and sends its output.
    func pump() {
        ERR_clear_error()
        var plaintext = ByteBuffer()
        var count: CInt = 0
        repeat {
            plaintext.writeWithUnsafeMutableBytes(minimumWritableBytes: 16384) { free in
                count = SSL_read(self.ssl, free.baseAddress, CInt(free.count))
                return max(0, Int(count))
            }
        } while count > 0
        let outcome = SSL_get_error(self.ssl, count)
        let code = ERR_get_error()
        self.sendOutput()
        if !self.isComplete && SSL_is_init_finished(self.ssl) == 1 {
            self.isComplete = true
            self.context?.fireUserInboundEventTriggered(PeerEvent.handshakeCompleted)
        }
        if plaintext.readableBytes > 0 { self.context?.fireChannelRead(self.wrapInboundOut(plaintext)) }
        guard outcome != SSL_ERROR_WANT_READ && !self.isEnded else { return }
        self.isEnded = true
        if outcome == SSL_ERROR_ZERO_RETURN {
            self.context?.fireUserInboundEventTriggered(PeerEvent.closeNotify)
        } else {
            let reason = ERR_reason_error_string(code).map { String(cString: $0) } ?? "none"
            self.context?.fireErrorCaught(PeerError(reason: reason))
        }
    }

    func sendOutput() {
        var bytes = ByteBuffer()
        let pending = BIO_ctrl_pending(self.output)
        guard pending > 0 else { return }
        bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: pending) { free in
            Int(BIO_read(self.output, free.baseAddress, CInt(free.count)))
        }
        self.context?.writeAndFlush(self.wrapOutboundOut(bytes), promise: nil)
    }

    func send(_ text: String) {
        _ = SSL_write(self.ssl, text, CInt(text.utf8.count))
        self.sendOutput()
    }

    /// Requests key updates in both directions (RFC 8446, 4.6.3).
    func updateKeys() {
        SSL_key_update(self.ssl, SSL_KEY_UPDATE_REQUESTED)
        SSL_do_handshake(self.ssl)
        self.sendOutput()
    }

    func renegotiate() {
        SSL_renegotiate(self.ssl)
        SSL_do_handshake(self.ssl)
        self.sendOutput()
    }

    func sayGoodbye() {
        SSL_shutdown(self.ssl)
        self.sendOutput()
    }

    var peerCertificateDER: [UInt8] {
        guard let certificate = SSL_get1_peer_certificate(self.ssl) else { return [] }
        defer { X509_free(certificate) }
        var bytes = [UInt8](repeating: 0, count: Int(i2d_X509(certificate, nil)))
        bytes.withUnsafeMutableBufferPointer { bytes in
            var start = bytes.baseAddress
            i2d_X509(certificate, &start)
        }
        return bytes
    }
}

/// A session that outlives its connection. `@unchecked`: libssl counts references atomically, and nothing modifies it.
final class ClientSession: @unchecked Sendable {
    let pointer: OpaquePointer

    init(pointer: OpaquePointer) { self.pointer = pointer }

    deinit { SSL_SESSION_free(self.pointer) }
}

/// A connected client and its recorder.
struct Peer: Sendable {
    let channel: any Channel
    let tls: NIOLoopBound<LibsslClient>?
    let recorder: Recorder

    var seen: Signal<Seen> { self.recorder.seen }

    /// - Parameter settings: nil for a plain socket
    static func connect(
        to listener: Listener, _ settings: LibsslClient.Settings? = LibsslClient.Settings(),
        receiveBuffer: Int? = nil, autoRead: Bool = true,
        then handlers: @escaping @Sendable () -> [any ChannelHandler] = { [] }
    ) async throws -> Peer {
        let recorder = Recorder()
        let made = Signal<NIOLoopBound<LibsslClient>?>(nil)
        var bootstrap = ClientBootstrap(group: Loops.client)
            .channelOption(.autoRead, value: autoRead)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let sync = channel.pipeline.syncOperations
                    if let settings {
                        let client = LibsslClient(settings)
                        made.update { $0 = NIOLoopBound(client, eventLoop: channel.eventLoop) }
                        try sync.addHandler(client)
                    }
                    try sync.addHandlers(handlers() + [recorder])
                }
            }
        if let receiveBuffer {
            bootstrap = bootstrap.channelOption(.socketOption(.so_rcvbuf), value: receiveBuffer)
        }
        let channel = try await bootstrap.connect(to: try listener.address).get()
        return Peer(channel: channel, tls: made.value, recorder: recorder)
    }

    @discardableResult
    func run<Result: Sendable>(_ body: @escaping @Sendable (LibsslClient) throws -> Result) async throws -> Result {
        try await self.channel.eventLoop.submit { () throws -> Result in
            guard let tls = self.tls else { throw PeerError(reason: "a plain socket") }
            return try body(tls.value)
        }.get()
    }

    /// Writes directly to the socket, bypassing TLS.
    func sendRaw(_ bytes: [UInt8]) async throws {
        try await self.channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
    }

    func handshake() async throws {
        try await self.seen.until("the client's handshake") { $0.events.contains("handshakeCompleted") }
    }

    /// Ends the connection with RST instead of FIN.
    func reset() async throws {
        guard let options = self.channel as? any SocketOptionProvider else { throw PeerError(reason: "no socket") }
        try await options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        try await self.channel.close().get()
    }
}
