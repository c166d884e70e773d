// One socket, plain or TLS: input goes through the loop's shared buffers, output is sent immediately, and only bytes that the
// kernel does not accept are buffered.

internal import CLibssl
internal import Glibc

/// The owner of a transport.
protocol TransportOwner: AnyObject {
    /// The connection is established; with TLS, after the handshake.
    func opened()
    /// - Parameter bytes: valid during the call, and may be modified.
    func received(_ bytes: UnsafeMutableRawBufferPointer)
    /// The connection has ended, for any reason. Called once, also after `close()`.
    func closed(_ reason: String)
}

/// How to reach a peer.
public struct Dial {
    public var endpoint: Endpoint
    /// `nil` for plain sockets.
    public var tls: TLSClient?
    /// SO_RCVBUF in bytes, for slow connections.
    public var receiveBuffer: Int32?

    public init(_ endpoint: Endpoint, tls: TLSClient?, receiveBuffer: Int32? = nil) {
        (self.endpoint, self.tls, self.receiveBuffer) = (endpoint, tls, receiveBuffer)
    }
}

final class Transport: Pollable {
    private enum State { case connecting, handshaking, open, closed }

    private let loop: Loop
    private let tls: TLSClient?
    private let host: String
    private let session: OpaquePointer?
    private let descriptor: Int32
    private var state = State.connecting
    private var ssl: OpaquePointer?
    private var waiting: [UInt8] = []
    private var interest = Loop.writable
    weak var owner: (any TransportOwner)?

    /// - Parameter session: a TLS session to resume.
    init(_ dial: Dial, source: Int, loop: Loop, session: OpaquePointer? = nil) throws {
        (self.loop, self.tls, self.host, self.session) = (loop, dial.tls, dial.endpoint.host, session)
        self.descriptor = try dial.endpoint.connect(source: source, receiveBuffer: dial.receiveBuffer)
        loop.add(self, self.descriptor, self.interest)
    }

    deinit { precondition(self.state == .closed, "a transport must be closed before it is released") }

    var isResumed: Bool { self.ssl.map { SSL_session_reused($0) == 1 } ?? false }
    var isOpen: Bool { self.state == .open }

    /// Whether input is read. When off, the kernel's buffer fills and the peer must buffer its output.
    var reads = true {
        didSet { if self.state == .open { self.watch() } }
    }

    // MARK: Writing

    func write(_ bytes: UnsafeRawBufferPointer) {
        guard self.state == .open else { return }
        guard self.waiting.isEmpty else { return self.waiting.append(contentsOf: bytes) }
        let sent = self.send(bytes)
        if sent < bytes.count, self.state == .open {
            self.waiting.append(contentsOf: bytes[sent...])
            self.watch()
        }
    }

    func write(_ bytes: [UInt8]) { bytes.withUnsafeBytes { self.write($0) } }

    /// Returns how many bytes the kernel accepted.
    private func send(_ bytes: UnsafeRawBufferPointer) -> Int {
        var sent = 0
        while sent < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[sent...])
            let count: Int
            if let ssl, let tls {
                tls.socket = self.descriptor
                count = Int(SSL_write(ssl, rest.baseAddress!, Int32(rest.count)))
                if count <= 0, SSL_get_error(ssl, Int32(count)) == SSL_ERROR_WANT_WRITE { return sent }
            } else {
                count = Glibc.send(self.descriptor, rest.baseAddress!, rest.count, Int32(MSG_NOSIGNAL))
                if count < 0, errno == EAGAIN { return sent }
            }
            guard count > 0 else {
                self.end("write: \(self.tls == nil ? LoadError.reason(errno) : TLSClient.lastError)")
                return sent
            }
            sent += count
        }
        return sent
    }

    private func flush() {
        let bytes = self.waiting
        let sent = bytes.withUnsafeBytes { self.send($0) }
        guard self.state == .open else { return }
        self.waiting.removeFirst(sent)
        self.watch()
    }

    // MARK: Reading

    func ready(_ events: UInt32) {
        switch self.state {
        case .connecting: self.connected()
        case .handshaking, .open:
            if events & Loop.writable != 0, self.state == .open { self.flush() }
            if events & (Loop.readable | Loop.failed) != 0, self.state != .closed { self.receive() }
        case .closed: break
        }
    }

    private func connected() {
        var code: Int32 = 0
        var size = socklen_t(4)
        getsockopt(self.descriptor, SOL_SOCKET, SO_ERROR, &code, &size)
        guard code == 0 else { return self.end("connect: \(LoadError.reason(code))") }
        guard let tls else { return self.open() }
        self.ssl = tls.connection(host: self.host, resuming: self.session)
        self.state = .handshaking
        self.watch()
        self.shakeHands(tls)
    }

    private func receive() {
        let count = recv(self.descriptor, self.loop.input.baseAddress!, self.loop.input.count, 0)
        if count < 0, errno == EAGAIN { return }
        guard count > 0 else { return self.end(count == 0 ? "the peer closed" : "recv: \(LoadError.reason(errno))") }
        guard let tls else {
            self.owner?.received(UnsafeMutableRawBufferPointer(rebasing: self.loop.input[..<count]))
            return
        }
        tls.input = UnsafeRawBufferPointer(rebasing: self.loop.input[..<count])
        if self.state == .handshaking { self.shakeHands(tls) }
        if self.state == .open { self.decrypt(tls) }
    }

    private func shakeHands(_ tls: TLSClient) {
        tls.socket = self.descriptor
        let result = SSL_do_handshake(self.ssl)
        if result == 1 { return self.open() }
        if SSL_get_error(self.ssl, result) != SSL_ERROR_WANT_READ { self.end("handshake: \(TLSClient.lastError)") }
    }

    private func decrypt(_ tls: TLSClient) {
        let plain = self.loop.plain
        while let ssl = self.ssl {
            tls.socket = self.descriptor
            let count = SSL_read(ssl, plain.baseAddress!, Int32(plain.count))
            if count > 0 {
                // The owner may write or close in this call; the current ciphertext belongs to this connection until it
                // returns.
                self.owner?.received(UnsafeMutableRawBufferPointer(rebasing: plain[..<Int(count)]))
                // Without ciphertext and buffered plaintext another call would only ask for more input.
                if tls.input.isEmpty, let ssl = self.ssl, SSL_has_pending(ssl) == 0 { return }
                continue
            }
            switch SSL_get_error(ssl, count) {
            case SSL_ERROR_WANT_READ: return
            case SSL_ERROR_ZERO_RETURN: return self.end("the peer closed")
            default: return self.end("TLS: \(TLSClient.lastError)")
            }
        }
    }

    private func open() {
        self.state = .open
        self.watch()
        self.owner?.opened()
    }

    private func watch() {
        let wanted = (self.reads ? Loop.readable : 0) | (self.waiting.isEmpty ? 0 : Loop.writable)
        guard wanted != self.interest else { return }
        self.interest = wanted
        self.loop.change(self.descriptor, wanted)
    }

    // MARK: Closing

    /// Sends close_notify and ends the output; the peer closes the connection.
    func finish() {
        guard self.state == .open else { return }
        if let ssl, let tls {
            tls.socket = self.descriptor
            SSL_shutdown(ssl)
        }
        shutdown(self.descriptor, Int32(SHUT_WR))
    }

    func close() { self.end("closed here") }

    private func end(_ reason: String) {
        guard self.state != .closed else { return }
        self.state = .closed
        self.loop.remove(self.descriptor)
        // Without TIME_WAIT: tens of thousands of connections use few ports.
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        Glibc.close(self.descriptor)
        if let ssl { TLSClient.free(ssl) }
        self.ssl = nil
        self.owner?.closed(reason)
    }
}
