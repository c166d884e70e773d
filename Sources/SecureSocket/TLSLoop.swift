// What libssl reads from and writes to: one BIO for all connections of an event loop.
//
// The usual way gives every connection two memory BIOs, with a buffer and a copy each. But a loop works on one connection
// at a time, and a call into libssl returns before the next begins. So one BIO is enough: before a call it is pointed at
// the bytes at hand and its output is emptied; after the call the output belongs to the connection that was called, and
// is sent or copied before the next. libssl keeps what it has of an unfinished record itself, so nothing else is kept
// here per connection.
//
// The BIO counts references: each `SSL` holds one (`SSL_set_bio` takes it), this object holds one.

internal import COpenSSL
internal import Glibc

/// What the connections of one event loop share. Confined to its loop: create one for each loop and use it nowhere else.
package final class TLSLoop {
    /// The BIO that every `SSL` of this loop reads from and writes to.
    let bio: OpaquePointer
    /// The bytes from the socket that libssl has not taken yet. Empty outside of a call into libssl.
    private(set) var input = UnsafeRawBufferPointer(start: nil, count: 0)
    private var buffer: UnsafeMutableRawBufferPointer
    private var count = 0

    /// What libssl said in the last call, in plaintext, where records are ours.
    private(set) var said: [Said] = []
    /// How often the peer took new keys, in the last call.
    private(set) var keyUpdatesHeard = 0
    /// The secret that libssl sends under from now on, of the connection that was called.
    private var sendingSecret: [UInt8]?
    private var ownContext: (source: TLSContext, copy: TLSContext)?
    private var contexts: [OpaquePointer?] = Array(repeating: nil, count: RecordWriter.Suite.allCases.count)

    /// A message of libssl's own.
    enum Said: Equatable {
        case alert(level: UInt8, description: UInt8)
        case keyUpdate
    }

    /// Room for one record of the largest size (RFC 8446, 5.2) and a little. More is given back when it was used.
    private static let usualCapacityBytes = 17 * 1024

    package init() {
        guard let method = Self.method, let bio = BIO_new(method) else {
            // Both fail only when there is no memory, in which case nothing can be done here.
            preconditionFailure("libcrypto has no memory for a BIO")
        }
        self.bio = bio
        self.buffer = .allocate(byteCount: Self.usualCapacityBytes, alignment: 16)
        BIO_set_init(bio, 1)
        // Unretained: connections hold this object, and it holds the BIO; see `deinit`.
        BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit {
        // Every connection holds this object, so no `SSL` uses the BIO any more.
        BIO_free(self.bio)
        for context in self.contexts { EVP_CIPHER_CTX_free(context) }
        self.buffer.deallocate()
    }

    /// What libssl wrote during the last call. Valid until the next call of any connection of this loop.
    var output: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self.buffer[..<self.count])
    }

    /// A call into libssl: empties the output, and lets libssl read `bytes`.
    func withInput<Result>(_ bytes: UnsafeRawBufferPointer, _ body: () -> Result) -> Result {
        self.empty()
        self.input = bytes
        defer { self.input = UnsafeRawBufferPointer(start: nil, count: 0) }
        return body()
    }

    // MARK: records of our own

    /// This loop's own copy of a context; made once for each, so a reload makes one more.
    func own(_ shared: TLSContext) -> TLSContext {
        if let ownContext, ownContext.source === shared { return ownContext.copy }
        // Without memory for it connections use the shared one: then records are libssl's.
        guard let copy = try? TLSContext(forOneLoop: shared) else { return shared }
        self.ownContext = (shared, copy)
        return copy
    }

    /// The context that encrypts records of this suite, with a key given each time.
    func cipherContext(for suite: RecordWriter.Suite) -> OpaquePointer? {
        let index = Int(suite.rawValue & 0xF) - 1
        if let context = self.contexts[index] { return context }
        self.contexts[index] = RecordWriter.makeContext(for: suite)
        return self.contexts[index]
    }

    /// Room behind the output, to be written and then committed.
    func reserve(_ bytes: Int) -> UnsafeMutableRawPointer {
        if self.count + bytes > self.buffer.count { self.grow(to: self.count + bytes) }
        // The buffer is never empty.
        return self.buffer.baseAddress! + self.count
    }

    func commit(_ bytes: Int) { self.count += bytes }

    /// Forgets the output, which is libssl's and not to be sent.
    func dropOutput() { self.count = 0 }

    /// How many records the output holds.
    var outputRecords: UInt64 {
        var (records, place): (UInt64, Int) = (0, 0)
        while place + 5 <= self.count {
            place += 5 + Int(self.buffer[place + 3]) << 8 + Int(self.buffer[place + 4])
            records += 1
        }
        return records
    }

    func takeSendingSecret() -> [UInt8]? {
        defer { self.sendingSecret = nil }
        return self.sendingSecret
    }

    fileprivate func hearKeyUpdate() { self.keyUpdatesHeard += 1 }

    fileprivate func hear(_ said: Said) { self.said.append(said) }

    fileprivate func hear(secret: [UInt8]) { self.sendingSecret = secret }

    /// Before a call that has nothing to read: the output is this call's alone.
    func empty() {
        self.count = 0
        self.keyUpdatesHeard = 0
        if !self.said.isEmpty { self.said.removeAll(keepingCapacity: true) }
        guard self.buffer.count > 4 * Self.usualCapacityBytes else { return }
        self.buffer.deallocate()
        self.buffer = .allocate(byteCount: Self.usualCapacityBytes, alignment: 16)
    }

    fileprivate func take(into destination: UnsafeMutableRawPointer, atMost limit: Int) -> Int {
        let taken = min(limit, self.input.count)
        guard taken > 0, let start = self.input.baseAddress else { return 0 }
        destination.copyMemory(from: start, byteCount: taken)
        self.input = UnsafeRawBufferPointer(rebasing: self.input[taken...])
        return taken
    }

    fileprivate func append(_ bytes: UnsafeRawBufferPointer) {
        if self.count + bytes.count > self.buffer.count { self.grow(to: self.count + bytes.count) }
        UnsafeMutableRawBufferPointer(rebasing: self.buffer[self.count...]).copyMemory(from: bytes)
        self.count += bytes.count
    }

    private func grow(to bytes: Int) {
        let grown = UnsafeMutableRawBufferPointer.allocate(byteCount: max(self.buffer.count * 2, bytes), alignment: 16)
        grown.copyMemory(from: self.output)
        self.buffer.deallocate()
        self.buffer = grown
    }

    /// One for the process, never freed: libssl keeps no copy of it. Written once, read only afterwards.
    private nonisolated(unsafe) static let method: OpaquePointer? = {
        let method = BIO_meth_new(BIO_get_new_index() | Int32(BIO_TYPE_SOURCE_SINK), "enroute event loop")
        guard let method else { return nil }
        BIO_meth_set_read(method, readFromLoop)
        BIO_meth_set_write(method, writeToLoop)
        // Nothing is held back, so a flush is always done; every other question is answered with "no".
        BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
        return method
    }()
}

/// Confined to a loop.
@available(*, unavailable)
extension TLSLoop: Sendable {}

private func loop(of bio: OpaquePointer) -> TLSLoop? {
    BIO_get_data(bio).map { Unmanaged<TLSLoop>.fromOpaque($0).takeUnretainedValue() }
}

/// Gives what there is; when there is nothing, "try again" and never "the end": the end of a socket is the channel's to
/// tell.
private let readFromLoop: @convention(c) (OpaquePointer?, UnsafeMutablePointer<CChar>?, CInt) -> CInt = {
    bio, destination, limit in
    guard let bio, let destination, let loop = loop(of: bio) else { return -1 }
    enroute_BIO_clear_retry_flags(bio)
    let taken = loop.take(into: destination, atMost: Int(limit))
    guard taken > 0 else {
        enroute_BIO_set_retry_read(bio)
        return -1
    }
    return CInt(taken)
}

private let writeToLoop: @convention(c) (OpaquePointer?, UnsafePointer<CChar>?, CInt) -> CInt = { bio, source, count in
    guard let bio, let source, count > 0, let loop = loop(of: bio) else { return 0 }
    enroute_BIO_clear_retry_flags(bio)
    loop.append(UnsafeRawBufferPointer(start: source, count: Int(count)))
    return count
}

/// Of the peer's messages in plaintext (SSL_CTX_set_msg_callback) those that take new keys, where records are libssl's.
let hearKeyUpdates:
    @convention(c) (CInt, CInt, CInt, UnsafeRawPointer?, Int, OpaquePointer?, UnsafeMutableRawPointer?) -> Void = {
        isSent, version, content, bytes, count, ssl, _ in
        guard isSent == 0, content == SSL3_RT_HANDSHAKE, version == TLS1_3_VERSION, count > 0, let bytes,
            CInt(bytes.load(as: UInt8.self)) == SSL3_MT_KEY_UPDATE
        else { return }
        ssl.flatMap { SSL_get_wbio($0) }.flatMap { loop(of: $0) }?.hearKeyUpdate()
    }

/// The same, and of those that libssl sends the ones that may come after the handshake.
let hearMessage:
    @convention(c) (CInt, CInt, CInt, UnsafeRawPointer?, Int, OpaquePointer?, UnsafeMutableRawPointer?) -> Void = {
        isSent, version, content, bytes, count, ssl, argument in
        guard isSent == 1 else { return hearKeyUpdates(isSent, version, content, bytes, count, ssl, argument) }
        guard let bytes, let ssl, let loop = SSL_get_wbio(ssl).flatMap({ loop(of: $0) }) else { return }
        if content == SSL3_RT_ALERT, count == 2 {
            loop.hear(.alert(level: bytes.load(as: UInt8.self), description: (bytes + 1).load(as: UInt8.self)))
        } else if content == SSL3_RT_HANDSHAKE, version == TLS1_3_VERSION, count > 0 {
            switch CInt(bytes.load(as: UInt8.self)) {
            case SSL3_MT_KEY_UPDATE: loop.hear(.keyUpdate)
            // The next secret that libssl derives is the one that we send under. Only for that one it is asked to tell:
            // it writes each secret as text with a `sprintf` for each byte, a tenth of a handshake for all five.
            case SSL3_MT_FINISHED: SSL_CTX_set_keylog_callback(SSL_get_SSL_CTX(ssl), hearSecret)
            default: break
            }
        }
    }

/// libssl's secrets, a line for each as in NSS's key log (SSL_CTX_set_keylog_callback): the one that we send under. The
/// line is libssl's and goes nowhere else.
let hearSecret: @convention(c) (OpaquePointer?, UnsafePointer<CChar>?) -> Void = { ssl, line in
    guard let ssl, let line, let loop = SSL_get_wbio(ssl).flatMap({ loop(of: $0) }) else { return }
    let label: StaticString = "SERVER_TRAFFIC_SECRET_0 "
    let bytes = UnsafeBufferPointer(start: line, count: strlen(line))
    guard bytes.count > label.utf8CodeUnitCount, memcmp(line, label.utf8Start, label.utf8CodeUnitCount) == 0,
        let space = bytes.lastIndex(of: CChar(UInt8(ascii: " ")))
    else { return }
    SSL_CTX_set_keylog_callback(SSL_get_SSL_CTX(ssl), nil)
    let digits = bytes[(space + 1)...].map { character -> UInt8 in
        let digit = UInt8(bitPattern: character)
        return digit < UInt8(ascii: "a") ? digit & 0x0F : digit - UInt8(ascii: "a") + 10
    }
    loop.hear(secret: stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
}
