// One BIO for all connections of an event loop. libssl reads from it and writes to it.
//
// Usually each connection has two memory BIOs, each with a buffer and a copy. But a loop works on one connection at a
// time, and a call into libssl returns before the next one starts. One BIO therefore suffices: before a call, it is
// pointed at the input and its output is emptied. After the call, the output belongs to that connection, and is sent or
// copied before the next call. libssl itself stores an incomplete record, so nothing else is stored here per
// connection.
//
// The BIO is reference-counted: each `SSL` holds a reference (`SSL_set_bio` takes it), and this object holds one.

internal import COpenSSL
internal import Glibc

/// State shared by the connections of one event loop. Confined to its loop: create one for each loop and use it nowhere else.
package final class TLSLoop {
    /// The BIO that every `SSL` of this loop reads from and writes to.
    let bio: OpaquePointer
    /// The bytes from the socket that libssl has not consumed yet. Empty outside of a call into libssl.
    private(set) var input = UnsafeRawBufferPointer(start: nil, count: 0)
    private var buffer: UnsafeMutableRawBufferPointer
    private var count = 0

    /// Messages that libssl sent in the last call, in plaintext, if records are written by `RecordWriter`.
    private(set) var libraryMessages: [LibraryMessage] = []
    /// How often the peer updated its keys in the last call.
    private(set) var keyUpdatesReceived = 0
    /// The new sending secret of the connection that was called.
    private var sendingSecret: [UInt8]?
    private var ownContext: (source: TLSContext, copy: TLSContext)?
    private var contexts: [OpaquePointer?] = Array(repeating: nil, count: RecordWriter.Suite.allCases.count)

    /// A message that libssl generates itself.
    enum LibraryMessage: Equatable {
        case alert(level: UInt8, description: UInt8)
        case keyUpdate
    }

    /// Room for one record of maximum size (RFC 8446, 5.2) and a little more. A larger buffer is released after use.
    private static let usualCapacityBytes = 17 * 1024

    package init() {
        guard let method = Self.method, let bio = BIO_new(method) else {
            // Both fail only without memory, and then nothing can be done here.
            preconditionFailure("libcrypto has no memory for a BIO")
        }
        self.bio = bio
        self.buffer = .allocate(byteCount: Self.usualCapacityBytes, alignment: 16)
        BIO_set_init(bio, 1)
        // Unretained: connections hold this object, and it holds the BIO; see `deinit`.
        BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit {
        // Every connection holds this object, so no `SSL` uses the BIO any longer.
        BIO_free(self.bio)
        for context in self.contexts { EVP_CIPHER_CTX_free(context) }
        self.buffer.deallocate()
    }

    /// The bytes that libssl wrote during the last call. Valid until the next call of any connection of this loop.
    var output: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self.buffer[..<self.count])
    }

    /// Makes a call into libssl: empties the output and provides `bytes` as input.
    func withInput<Result>(_ bytes: UnsafeRawBufferPointer, _ body: () -> Result) -> Result {
        self.empty()
        self.input = bytes
        defer { self.input = UnsafeRawBufferPointer(start: nil, count: 0) }
        return body()
    }

    // MARK: Records written by Enroute

    /// This loop's own copy of a context, created once per context, so a reload creates another one.
    func copy(of shared: TLSContext) -> TLSContext {
        if let ownContext, ownContext.source === shared { return ownContext.copy }
        // Without memory for a copy, connections use the shared context, and libssl writes their records.
        guard let copy = try? TLSContext(forOneLoop: shared) else { return shared }
        self.ownContext = (shared, copy)
        return copy
    }

    /// The context that encrypts records of this suite, given a key each time.
    func cipherContext(for suite: RecordWriter.Suite) -> OpaquePointer? {
        let index = Int(suite.rawValue & 0xF) - 1
        if let context = self.contexts[index] { return context }
        self.contexts[index] = RecordWriter.makeContext(for: suite)
        return self.contexts[index]
    }

    /// Returns space after the output, to be written and then committed.
    func reserve(_ bytes: Int) -> UnsafeMutableRawPointer {
        if self.count + bytes > self.buffer.count { self.grow(to: self.count + bytes) }
        // The buffer is never empty.
        return self.buffer.baseAddress! + self.count
    }

    func commit(_ bytes: Int) { self.count += bytes }

    /// Discards output of libssl that must not be sent.
    func dropOutput() { self.count = 0 }

    /// The number of records in the output.
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

    fileprivate func recordKeyUpdate() { self.keyUpdatesReceived += 1 }

    fileprivate func record(_ message: LibraryMessage) { self.libraryMessages.append(message) }

    fileprivate func record(secret: [UInt8]) { self.sendingSecret = secret }

    /// Prepares a call without input: the output is then only this call's.
    func empty() {
        self.count = 0
        self.keyUpdatesReceived = 0
        if !self.libraryMessages.isEmpty { self.libraryMessages.removeAll(keepingCapacity: true) }
        guard self.buffer.count > 4 * Self.usualCapacityBytes else { return }
        self.buffer.deallocate()
        self.buffer = .allocate(byteCount: Self.usualCapacityBytes, alignment: 16)
    }

    fileprivate func read(into destination: UnsafeMutableRawPointer, atMost limit: Int) -> Int {
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

    /// One per process and never freed, because libssl does not copy it. Written once, read-only afterwards.
    private nonisolated(unsafe) static let method: OpaquePointer? = {
        let method = BIO_meth_new(BIO_get_new_index() | Int32(BIO_TYPE_SOURCE_SINK), "enroute event loop")
        guard let method else { return nil }
        BIO_meth_set_read(method, readFromLoop)
        BIO_meth_set_write(method, writeToLoop)
        // Nothing is buffered, so a flush always succeeds. Every other control operation returns 0.
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

/// Returns the available bytes. When there are none, it reports "try again" and never "end of file": the channel reports the
/// end of a socket.
private let readFromLoop: @convention(c) (OpaquePointer?, UnsafeMutablePointer<CChar>?, CInt) -> CInt = {
    bio, destination, limit in
    guard let bio, let destination, let loop = loop(of: bio) else { return -1 }
    enroute_BIO_clear_retry_flags(bio)
    let taken = loop.read(into: destination, atMost: Int(limit))
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

/// Counts the peer's KeyUpdate messages (SSL_CTX_set_msg_callback), for connections whose records libssl writes.
let countKeyUpdates:
    @convention(c) (CInt, CInt, CInt, UnsafeRawPointer?, Int, OpaquePointer?, UnsafeMutableRawPointer?) -> Void = {
        isSent, version, content, bytes, count, ssl, _ in
        guard isSent == 0, content == SSL3_RT_HANDSHAKE, version == TLS1_3_VERSION, count > 0, let bytes,
            CInt(bytes.load(as: UInt8.self)) == SSL3_MT_KEY_UPDATE
        else { return }
        ssl.flatMap { SSL_get_wbio($0) }.flatMap { loop(of: $0) }?.recordKeyUpdate()
    }

/// Does the same, and records the messages of libssl that may follow a handshake.
let recordMessage:
    @convention(c) (CInt, CInt, CInt, UnsafeRawPointer?, Int, OpaquePointer?, UnsafeMutableRawPointer?) -> Void = {
        isSent, version, content, bytes, count, ssl, argument in
        guard isSent == 1 else { return countKeyUpdates(isSent, version, content, bytes, count, ssl, argument) }
        guard let bytes, let ssl, let loop = SSL_get_wbio(ssl).flatMap({ loop(of: $0) }) else { return }
        if content == SSL3_RT_ALERT, count == 2 {
            loop.record(.alert(level: bytes.load(as: UInt8.self), description: (bytes + 1).load(as: UInt8.self)))
        } else if content == SSL3_RT_HANDSHAKE, version == TLS1_3_VERSION, count > 0 {
            switch CInt(bytes.load(as: UInt8.self)) {
            case SSL3_MT_KEY_UPDATE: loop.record(.keyUpdate)
            // The next secret that libssl derives is the one for sending. The key log callback is set only for that one,
            // because libssl formats each secret as text with one `sprintf` per byte, which takes a tenth of a handshake for
            // all five.
            case SSL3_MT_FINISHED: SSL_CTX_set_keylog_callback(SSL_get_SSL_CTX(ssl), recordSecret)
            default: break
            }
        }
    }

/// Receives libssl's secrets as NSS key log lines (SSL_CTX_set_keylog_callback) and records the one for sending. The line
/// belongs to libssl and is not stored.
let recordSecret: @convention(c) (OpaquePointer?, UnsafePointer<CChar>?) -> Void = { ssl, line in
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
    loop.record(secret: stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
}
