// Observes the errors of one Redis role. Every failed command is reported here, even if its sender can continue without
// a reply, so that no error is lost. Malformed data in Redis and changes of connections are reported too. The observer
// decides what to log and to count.

/// Observes failures. Called on the event loops of the clients, of which there may be several; must not block.
package protocol RedisObserver: Sendable {
    /// A command failed.
    func failed(_ error: RedisError)
    /// The data under these names, or a message of a channel of that name, is malformed and was ignored.
    ///
    /// - Parameters:
    ///   - names: keys or a channel; for a script all of its keys, because its error does not say which one.
    ///   - command: the command that found it, for logs.
    func refused(_ names: [String], by command: String)
    /// A connection changed. A gateway has dozens of connections for each role, so an outage is observed dozens of
    /// times.
    func observed(_ event: RedisConnectionEvent)
    /// Redis accepted a write that needs memory.
    func wrote()
    /// Whether Redis is known to refuse writes. If not, `wrote` is not called.
    var isRefusingWrites: Bool { get }
}

extension RedisClient {
    /// Reports malformed data. The caller continues without it.
    ///
    /// - Parameters:
    ///   - name: the key or channel.
    ///   - command: the command that found it, for logs.
    package func refuse(_ name: String, by command: String) { self.witness?.refused([name], by: command) }

    /// Reports malformed data and returns the error for a caller that cannot continue without it.
    package func refusal(of name: String, by command: String) -> RedisError {
        self.refuse(name, by: command)
        return .unexpectedAnswer(command: command)
    }

    /// Reports a failed command.
    ///
    /// - Parameter script: the name of the script that the command calls.
    func report(_ error: any Error, of command: @autoclosure () -> RedisCommand, by script: String? = nil) {
        guard let witness, let error = error as? RedisError else { return }
        guard error.isMalformedData else { return witness.failed(error) }
        let command = command()
        witness.refused(command.names, by: script ?? command.verb)
    }

    /// Reports a successful command.
    func succeeded(_ command: RedisCommand) {
        guard let witness, witness.isRefusingWrites, command.needsMemory else { return }
        witness.wrote()
    }
}

extension RedisError {
    /// Whether the data under a key does not have the form that the command or script expects.
    package var isMalformedData: Bool {
        guard case .refused(let code, let message) = self else { return false }
        return code == "WRONGTYPE" || code == "ERR" && Self.foreignMarks.contains { message.contains($0) }
    }

    /// Whether the reply does not have the form that the command or script returns, usually because the data that it
    /// read is malformed.
    package var isUnexpectedAnswer: Bool { if case .unexpectedAnswer = self { true } else { false } }

    /// Parts of error messages, from Redis and from Enroute's scripts, that mean malformed data. The last one is part
    /// of every unexpected script error.
    private static let foreignMarks = [
        "not an integer", "would overflow", "not a valid float", "not a float", "would produce NaN", "malformed data",
        "user_script:",
    ]
}

extension RedisCommand {
    /// The first element, in upper case.
    package var verb: String { self.words.first?.plain ?? "" }

    /// The keys that it accesses.
    package var names: [String] {
        let keys: ArraySlice<Word>
        switch self.verb {
        case "EVALSHA":
            let count = self.words.dropFirst(2).first.flatMap { Int($0.plain) } ?? 0
            keys = self.words.dropFirst(3).prefix(max(0, count))
        case "MGET", "DEL": keys = self.words.dropFirst()
        default: keys = self.words.dropFirst().prefix(1)
        }
        return keys.map(\.plain)
    }

    /// Whether Redis refuses this command when it is out of memory.
    fileprivate var needsMemory: Bool { ["SET", "ZADD", "XADD"].contains(self.verb) }
}

extension RedisCommand.Word {
    fileprivate var plain: String {
        switch self {
        case .text(let text): text
        case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
        }
    }
}
