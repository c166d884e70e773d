// Parses RESP2 with hiredis' reader. Its object functions append to a tape instead of building redisReply objects. Only these
// two methods depend on hiredis, so another parser could replace it.

private import CHiredis

/// A RESP2 parser for one connection. Confined to the connection's event loop.
package final class RESPReader {
    private let reader: UnsafeMutablePointer<redisReader>
    private let tape = RESPTape()

    /// Bytes that are passed at a time, because the reader compacts its buffer after each reply of a KiB or more.
    private static let portion = 16_384

    package init() {
        guard let reader = redisReaderCreateWithFunctions(objectFunctions) else {
            preconditionFailure("no memory for a RESP reader")
        }
        self.reader = reader
        reader.pointee.privdata = Unmanaged.passUnretained(self.tape).toOpaque()
        reader.pointee.maxbuf = 0
    }

    deinit { redisReaderFree(self.reader) }

    /// Parses bytes as received from the socket, in pieces of any size, and calls `reply` for each complete reply.
    ///
    /// - Throws: `RedisError.protocolViolation`; the connection cannot be used afterwards.
    package func consume(_ bytes: UnsafeRawBufferPointer, _ reply: (RESPTape) -> Void) throws(RedisError) {
        var offset = 0
        while offset < bytes.count {
            let count = min(Self.portion, bytes.count - offset)
            let start = bytes.baseAddress?.advanced(by: offset).assumingMemoryBound(to: CChar.self)
            guard redisReaderFeed(self.reader, start, count) == REDIS_OK else { throw self.violation }
            offset += count
            while try self.next() { reply(self.tape) }
            self.tape.clearIfIdle(self.isBetweenReplies)
            guard self.reader.pointee.len - self.reader.pointee.pos <= RESPTape.longestString + Self.portion + 64 else {
                throw .protocolViolation("a string longer than \(RESPTape.longestString) bytes")
            }
        }
    }

    private var isBetweenReplies: Bool { self.reader.pointee.ridx < 0 }

    /// Returns whether another reply is complete; if so, it is on the tape.
    private func next() throws(RedisError) -> Bool {
        if self.isBetweenReplies { self.tape.clear() }
        var object: UnsafeMutableRawPointer?
        guard redisReaderGetReply(self.reader, &object) == REDIS_OK else { throw self.violation }
        return object != nil
    }

    private var violation: RedisError {
        if let refusal = self.tape.refusal { return .protocolViolation("\(refusal), which exceeds the limit") }
        let reason = withUnsafeBytes(of: self.reader.pointee.errstr) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        return .protocolViolation(reason.isEmpty ? "the parser gave up" : reason)
    }
}

extension RESPTape {
    fileprivate func clearIfIdle(_ isIdle: Bool) { if isIdle { self.clear() } }
}

/// hiredis retains the pointer to its functions, so they live as long as the process.
private nonisolated(unsafe) let objectFunctions: UnsafeMutablePointer<redisReplyObjectFunctions> = {
    let table = UnsafeMutablePointer<redisReplyObjectFunctions>.allocate(capacity: 1)
    table.initialize(
        to: redisReplyObjectFunctions(
            createString: { task, text, count in
                guard let task else { return nil }
                let kind: RESPTape.Kind =
                    switch task.pointee.type {
                    case REDIS_REPLY_ERROR: .error
                    case REDIS_REPLY_STATUS: .status
                    default: .string
                    }
                return done(tape(task).append(kind, text: UnsafeRawBufferPointer(start: text, count: count)))
            },
            createArray: { task, count in task.flatMap { done(tape($0).append(.array, value: Int64(count))) } },
            createInteger: { task, value in task.flatMap { done(tape($0).append(.integer, value: value)) } },
            createNil: { task in task.flatMap { done(tape($0).append(.null)) } },
            freeObject: { _ in }))
    return table
}()

private func tape(_ task: UnsafePointer<redisReadTask>) -> RESPTape {
    // The reader gets its tape before the first byte.
    Unmanaged<RESPTape>.fromOpaque(task.pointee.privdata!).takeUnretainedValue()
}

/// hiredis expects an object. It only tests whether there is one.
private func done(_ isAccepted: Bool) -> UnsafeMutableRawPointer? {
    isAccepted ? UnsafeMutableRawPointer(bitPattern: 1) : nil
}
