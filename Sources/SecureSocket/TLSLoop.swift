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

/// What the connections of one event loop share. Confined to its loop: create one for each loop and use it nowhere else.
package final class TLSLoop {
    /// The BIO that every `SSL` of this loop reads from and writes to.
    let bio: OpaquePointer
    /// The bytes from the socket that libssl has not taken yet. Empty outside of a call into libssl.
    private(set) var input = UnsafeRawBufferPointer(start: nil, count: 0)
    private var buffer: UnsafeMutableRawBufferPointer
    private var count = 0

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

    /// Before a call that has nothing to read: the output is this call's alone.
    func empty() {
        self.count = 0
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
        if self.count + bytes.count > self.buffer.count {
            let grown = UnsafeMutableRawBufferPointer.allocate(
                byteCount: max(self.buffer.count * 2, self.count + bytes.count), alignment: 16)
            grown.copyMemory(from: self.output)
            self.buffer.deallocate()
            self.buffer = grown
        }
        UnsafeMutableRawBufferPointer(rebasing: self.buffer[self.count...]).copyMemory(from: bytes)
        self.count += bytes.count
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
