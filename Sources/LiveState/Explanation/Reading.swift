// The result of reading one thing for an explanation. Unlike other reads, an explanation distinguishes data that is
// absent, malformed or unreadable, because that often explains the problem.

internal import NIOCore
package import Redis

/// What was found.
package enum Reading<Value: Sendable>: Sendable {
    case value(Value)
    case absent
    /// The data under this key is not what Enroute writes there.
    case malformed(key: String)
    /// It could not be read: Redis is unavailable, or refuses the command.
    case failed(RedisError)

    package var value: Value? { if case .value(let value) = self { value } else { nil } }

    /// The key whose content is malformed, if it is.
    package var malformedKey: String? { if case .malformed(let key) = self { key } else { nil } }

    package var error: RedisError? { if case .failed(let error) = self { error } else { nil } }

    package func map<Other>(_ change: (Value) -> Other) -> Reading<Other> {
        switch self {
        case .value(let value): .value(change(value))
        case .absent: .absent
        case .malformed(let key): .malformed(key: key)
        case .failed(let error): .failed(error)
        }
    }
}

extension Reading: Equatable where Value: Equatable {}

extension RedisClient {
    /// Reads a value. Never fails.
    ///
    /// - Parameters:
    ///   - key: the value's key, or another name for what is read.
    ///   - isAbsent: whether nothing is stored: null, an empty list, or fields that are all missing.
    ///   - parse: `nil` for a malformed value. Not called for a missing one.
    func reading<Value: Sendable>(
        _ command: RedisCommand, of key: String, isAbsent: @escaping @Sendable (RESPValue) -> Bool = { $0.isEmpty },
        _ parse: @escaping @Sendable (RESPValue) -> Value?
    ) -> EventLoopFuture<Reading<Value>> {
        self.send(command).map { answer in
            guard !isAbsent(answer) else { return .absent }
            if let value = parse(answer) { return .value(value) }
            self.refuse(key, by: command.verb)
            return .malformed(key: key)
        }.flatMapErrorThrowing { error in
            guard let error = error as? RedisError else { throw error }
            return error.isMalformedData ? .malformed(key: key) : .failed(error)
        }
    }
}

extension RESPValue {
    /// Nothing is stored: null, an empty list, or fields that are all missing.
    var isEmpty: Bool {
        switch self {
        case .null: true
        case .array(let elements): elements.allSatisfy { $0 == .null }
        case .string, .integer, .error: false
        }
    }
}
