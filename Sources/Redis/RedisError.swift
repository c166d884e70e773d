// What can go wrong with Redis, as far as somebody can act on it.

/// Why a command has no answer, or a connection does not stand.
package enum RedisError: Error, Equatable, Sendable {
    /// No connection could be made: wrong address, nobody listens, no route, no such socket file.
    case unreachable(address: String, reason: String)
    /// AUTH was refused, or the server wants it and the URL names no password.
    case authenticationRefused(address: String, reason: String)
    /// The files that the URL names for TLS can not be used.
    case unusableTLS(files: [String], reason: String)
    /// The TLS handshake failed.
    case tlsRefused(reason: String)
    /// The node is no master: it was one, or it is the wrong address.
    case notMaster(address: String, role: String)
    /// SELECT was refused.
    case databaseRefused(address: String, database: Int, reason: String)
    /// There is no connection at the moment; the command was not sent.
    case disconnected
    /// Too many commands wait for an answer; the command was not sent.
    case overloaded
    /// The connection ended before the answer came: the command may have been carried out or not.
    case connectionLost
    /// No answer in time; the connection is given up, since later answers could not be told apart.
    case timedOut
    /// The other side does not speak RESP2 as we do, or names lengths beyond our bounds.
    case protocolViolation(String)
    /// Redis answered with an error: its first word, and all of it.
    case refused(code: String, message: String)
    /// The answer does not have the shape that the command promises.
    case unexpectedAnswer(command: String)
}

extension RedisError {
    /// Whether the same command may be sent again without being carried out twice.
    package var isSafeToRepeat: Bool {
        switch self {
        case .unreachable, .unusableTLS, .tlsRefused, .authenticationRefused, .databaseRefused, .notMaster,
            .disconnected, .overloaded:
            true
        case .connectionLost, .timedOut, .protocolViolation, .refused, .unexpectedAnswer: false
        }
    }

    /// Whether it passes by itself: an outage, not a mistake in configuration or code.
    package var isOutage: Bool {
        switch self {
        case .unreachable, .notMaster, .disconnected, .overloaded, .connectionLost, .timedOut: true
        case .refused(let code, _): Self.passingCodes.contains(code)
        case .unusableTLS, .tlsRefused, .authenticationRefused, .databaseRefused, .protocolViolation, .unexpectedAnswer:
            false
        }
    }

    private static let passingCodes: Set = [
        "LOADING", "READONLY", "MASTERDOWN", "NOREPLICAS", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK", "OOM", "BUSY",
        "MISCONF", "NOTREADY",
    ]

    /// An error line as Redis sends it, without the leading minus.
    init(errorLine: String) {
        let code = errorLine.prefix { $0 != " " }
        self = .refused(code: String(code), message: errorLine)
    }
}

extension RedisError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unreachable(let address, let reason):
            "Redis at \(address) can not be reached: \(reason). Is it running there, and is the URL right?"
        case .authenticationRefused(let address, let reason):
            "Redis at \(address) refused to sign us in: \(reason). Check user and password in the URL."
        case .unusableTLS(let files, let reason):
            "TLS to Redis can not be set up with \(files.isEmpty ? "the system's authorities" : files.joined(separator: ", ")): "
                + "\(reason). Check that the files are PEM and can be read."
        case .tlsRefused(let reason):
            "TLS with Redis failed: \(reason). Check ca= and name= in the URL, and that the port speaks TLS."
        case .notMaster(let address, let role):
            "Redis at \(address) is a \(role), not a master. Name the master, or let Sentinels name it "
                + "(redis+sentinel://host:port,host:port/master)."
        case .databaseRefused(let address, let database, let reason):
            "Redis at \(address) refused database \(database): \(reason). Check the number after the last slash of the URL."
        case .disconnected: "There is no connection to Redis at the moment."
        case .overloaded: "Too many commands wait for Redis."
        case .connectionLost: "The connection to Redis ended before the answer came."
        case .timedOut: "Redis did not answer in time."
        case .protocolViolation(let what): "Redis sent what RESP2 does not allow: \(what)."
        case .refused(_, let message): "Redis refused: \(message)"
        case .unexpectedAnswer(let command): "Redis answered \(command) with something else than it promises."
        }
    }
}

extension RedisError {
    /// For the log: of what Redis answered the code alone, since the rest may repeat what was sent.
    package var withoutArguments: String {
        if case .refused(let code, _) = self { "Redis answered \(code)" } else { "\(self)" }
    }
}
