// Commands without futures, for the few that every location needs: the caller writes the bytes into the connection's
// output, and its closure reads the reply in place. For publish_location, the chain of futures cost as much as
// everything else.

internal import NIOCore

/// The outcome of a command that was sent with `RedisClient.sendDirectly`.
package enum DirectReply {
    /// Valid during the call.
    case reply(RESPTape)
    /// Redis refused the command, or the connection ended before the reply.
    case failure(RedisError)
}

/// The leading words of a command, encoded once for many calls.
package struct CommandPrefix: Sendable {
    fileprivate let bytes: [UInt8]
    /// The key that decides which node receives it.
    package let key: String

    /// - Parameters:
    ///   - words: the first words of the command.
    ///   - additional: the number of words that follow in every call.
    ///   - key: one of its keys.
    package init(_ words: [RedisCommand.Word], additional: Int, key: String) {
        var buffer = ByteBuffer()
        RedisCommand(words).write(into: &buffer, announcing: words.count + additional)
        (self.bytes, self.key) = (Array(buffer.readableBytesView), key)
    }
}

extension RedisScript {
    /// The constant part of a call: digest, keys, and the first arguments.
    package func prefix(
        keys: [String], arguments: [RedisCommand.Word], additional: Int
    ) -> CommandPrefix {
        CommandPrefix(self.call(keys: keys, arguments: arguments).words, additional: additional, key: keys.first ?? "")
    }
}

/// Writes the words of one command into memory that is large enough.
package struct CommandWriter {
    private let room: UnsafeMutableRawBufferPointer
    fileprivate private(set) var count = 0

    fileprivate init(_ room: UnsafeMutableRawBufferPointer) { self.room = room }

    /// The maximum encoded size of a word of `count` bytes.
    package static func size(ofWord count: Int) -> Int { count + RedisCommand.maxHeaderBytes + 2 }

    package mutating func word(_ bytes: UnsafeRawBufferPointer) {
        self.count = RedisCommand.writeHeader(UInt8(ascii: "$"), bytes.count, to: self.room, at: self.count)
        self.raw(bytes)
        self.count = RedisCommand.writeLineEnd(to: self.room, at: self.count)
    }

    package mutating func word(_ text: StaticString) {
        self.word(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    package mutating func word(_ text: String) {
        var text = text
        text.withUTF8 { self.word(UnsafeRawBufferPointer($0)) }
    }

    /// A whole number in decimal; at most 20 bytes.
    package mutating func word(_ value: Int64) {
        withUnsafeTemporaryAllocation(byteCount: 20, alignment: 1) { room in
            var (rest, start) = (value.magnitude, room.count)
            repeat {
                start -= 1
                room[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            if value < 0 {
                start -= 1
                room[start] = UInt8(ascii: "-")
            }
            self.word(UnsafeRawBufferPointer(rebasing: room[start...]))
        }
    }

    fileprivate mutating func raw(_ bytes: UnsafeRawBufferPointer) {
        UnsafeMutableRawBufferPointer(rebasing: self.room[self.count...]).copyMemory(from: bytes)
        self.count += bytes.count
    }

    fileprivate mutating func header(words: Int) {
        self.count = RedisCommand.writeHeader(UInt8(ascii: "*"), words, to: self.room, at: self.count)
    }
}

extension RedisClient {
    /// Sends a command that `write` writes word by word. Call it on `eventLoop`.
    ///
    /// - Parameters:
    ///   - key: one of its keys.
    ///   - words: the number of its words.
    ///   - most: the maximum encoded size of the words in bytes; see `CommandWriter.size`.
    ///   - completion: called once, on `eventLoop`. Redirections of a cluster are failures here; the caller then sends
    ///     the command again with `send` or `evaluate`, which follow them. Errors are not reported to the observer.
    /// - Returns: whether it was sent. Otherwise `completion` is not called; `send` and `evaluate` report the reason.
    package func sendDirectly(
        key: String, words: Int, most: Int, _ write: (inout CommandWriter) -> Void,
        _ completion: @escaping (DirectReply) -> Void
    ) -> Bool {
        guard let handler = self.route.value.handler(ofKey: key) else { return false }
        return handler.sendDirectly(completion) { buffer in
            buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: most + RedisCommand.maxHeaderBytes) { room in
                var writer = CommandWriter(room)
                writer.header(words: words)
                write(&writer)
                return writer.count
            }
        }
    }

    /// Like the method above, for a command that starts with `prefix`.
    package func sendDirectly(
        _ prefix: CommandPrefix, most: Int, _ write: (inout CommandWriter) -> Void,
        _ completion: @escaping (DirectReply) -> Void
    ) -> Bool {
        guard let handler = self.route.value.handler(ofKey: prefix.key) else { return false }
        return handler.sendDirectly(completion) { buffer in
            buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: prefix.bytes.count + most) { room in
                var writer = CommandWriter(room)
                prefix.bytes.withUnsafeBytes { writer.raw($0) }
                write(&writer)
                return writer.count
            }
        }
    }

    /// Reports the failure of a direct command to the observer, unless the command is sent again.
    ///
    /// - Parameters:
    ///   - keys: all its keys.
    ///   - command: the command or script, for logs.
    package func reportFailure(_ reply: DirectReply, of keys: @autoclosure () -> [String], by command: String) {
        guard case .failure(let error) = reply, !error.needsGeneralPath, let witness else { return }
        if error.isMalformedData { witness.refused(keys(), by: command) } else { witness.failed(error) }
    }
}

extension RedisError {
    /// The command was not executed, and `send` and `evaluate` handle that: the script must be sent, the slot is on
    /// another node, or the node may have lost its slots to another one without knowing it.
    package var needsGeneralPath: Bool {
        guard case .refused(let code, _) = self else { return false }
        return ["NOSCRIPT", "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN"].contains(code)
    }
}
