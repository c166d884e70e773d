// Who hears of what goes wrong with one role's Redis. Every command that fails is told here, whoever sent it, so that no
// error is lost because its sender could go on without an answer; and so is every value that is not ours. What to log and
// count is up to the witness.

/// Hears of failures. Called on a client's event loop, of which there may be several; must not block.
package protocol RedisWitness: Sendable {
    /// A command was not carried out.
    func failed(_ error: RedisError)
    /// What lies under these names, or came from a channel of that name, is not ours: it was not used.
    ///
    /// - Parameters:
    ///   - names: keys or a channel; of a script all of its keys, since it does not say which one.
    ///   - command: that met it, for people.
    func refused(_ names: [String], by command: String)
    /// Redis took a write that needs memory.
    func wrote()
    /// Redis refuses writes, as far as is known: `wrote` is worth a call.
    var isRefusingWrites: Bool { get }
}

extension RedisClient {
    /// Tells that something is not ours. The caller goes on without it.
    ///
    /// - Parameters:
    ///   - name: of the key or channel.
    ///   - command: that met it, for people.
    package func refuse(_ name: String, by command: String) { self.witness?.refused([name], by: command) }

    /// The same, and the error for who cannot go on without it.
    package func refusal(of name: String, by command: String) -> RedisError {
        self.refuse(name, by: command)
        return .unexpectedAnswer(command: command)
    }

    /// A command came to nothing.
    func report(_ error: any Error, of command: @autoclosure () -> RedisCommand) {
        guard let witness, let error = error as? RedisError else { return }
        guard error.isForeignData else { return witness.failed(error) }
        let command = command()
        witness.refused(command.names, by: command.verb)
    }

    /// A command was carried out.
    func succeeded(_ command: RedisCommand) {
        guard let witness, witness.isRefusingWrites, command.needsMemory else { return }
        witness.wrote()
    }
}

extension RedisError {
    /// What lies under a key is nothing that the command or the script works on.
    package var isForeignData: Bool {
        guard case .refused(let code, let message) = self else { return false }
        return code == "WRONGTYPE" || code == "ERR" && Self.foreignMarks.contains { message.contains($0) }
    }

    /// As Redis and our scripts word it; the last one stands in every error that a script did not expect.
    private static let foreignMarks = [
        "not an integer", "would overflow", "not a valid float", "not a float", "would produce NaN", "is not ours",
        "user_script:",
    ]
}

extension RedisCommand {
    /// Its first word.
    var verb: String { self.words.first?.plain ?? "" }

    /// The keys it is about.
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

    /// Redis refuses it when it is full, whatever it holds.
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
