// Redis errors, as far as a caller can act on them.

/// Why a command has no reply, or a connection is not established.
package enum RedisError: Error, Equatable, Sendable {
    /// No connection could be made: wrong address, nothing listening there, no route, no such socket file.
    case unreachable(address: String, reason: String)
    /// The server accepts no further connections until others end.
    case tooManyClients(address: String)
    /// AUTH was refused, or the server requires it and the URL has no password.
    case authenticationRefused(address: String, reason: String)
    /// The same for a Sentinel, which has its own users.
    case sentinelAuthenticationRefused(address: String, reason: String)
    /// The TLS files named in the URL cannot be used.
    case invalidTLS(files: [String], reason: String)
    /// The TLS handshake failed. The reason contains advice.
    case tlsFailed(reason: String)
    /// The server's certificate is not valid yet, according to this machine's clock, which may be wrong after a boot.
    case certificateNotYetValid
    /// The server's certificate has expired. Its renewal changes nothing in the gateway's configuration.
    case certificateExpired
    /// The node is not a master: it was demoted, or the address is wrong.
    case notMaster(address: String, role: String)
    /// SELECT was refused.
    case databaseRefused(address: String, database: Int, reason: String)
    /// There is currently no connection; the command was not sent.
    case disconnected
    /// Too many commands are unanswered; this one was not sent.
    case overloaded
    /// The connection ended before the reply arrived: the command may or may not have been executed.
    case connectionLost
    /// No reply in time. The connection is closed, because late replies could not be matched to commands.
    case timedOut
    /// The server does not follow RESP2, or announces lengths beyond the limits.
    case protocolViolation(String)
    /// Redis replied with an error: its code and the whole message.
    case refused(code: String, message: String)
    /// The reply does not have the documented form.
    case unexpectedAnswer(command: String)
}

extension RedisError {
    /// Whether the command was sent without a reply: Redis may have executed it, or may still execute it.
    package var isOutcomeUnknown: Bool {
        switch self {
        case .connectionLost, .timedOut, .protocolViolation: true
        case .unreachable, .tooManyClients, .invalidTLS, .tlsFailed, .certificateNotYetValid, .certificateExpired,
            .authenticationRefused, .sentinelAuthenticationRefused, .databaseRefused, .notMaster, .disconnected,
            .overloaded, .refused, .unexpectedAnswer:
            false
        }
    }

    /// Whether the error is temporary: an outage rather than a mistake in configuration or code.
    package var isOutage: Bool {
        switch self {
        case .unreachable, .tooManyClients, .certificateNotYetValid, .certificateExpired, .notMaster, .disconnected,
            .overloaded, .connectionLost, .timedOut:
            true
        case .refused(let code, _): Self.passingCodes.contains(code)
        case .invalidTLS, .tlsFailed, .authenticationRefused, .sentinelAuthenticationRefused, .databaseRefused,
            .protocolViolation, .unexpectedAnswer:
            false
        }
    }

    private static let passingCodes: Set = [
        "LOADING", "READONLY", "MASTERDOWN", "NOREPLICAS", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK", "OOM", "BUSY",
        "MISCONF", "NOTREADY",
    ]

    /// Parses an error line as Redis sends it, without the leading minus.
    init(errorLine: String) {
        let code = errorLine.prefix { $0 != " " }
        self = .refused(code: String(code), message: errorLine)
    }
}

extension RedisError: CustomStringConvertible {
    /// Removes the full stop with which some of Redis' messages end.
    private static func clause(_ message: String) -> Substring {
        message.hasSuffix(".") ? message.dropLast() : message[...]
    }

    package var description: String {
        switch self {
        case .unreachable(let address, let reason):
            "Redis at \(address) cannot be reached: \(reason). Check that it is running and that the URL is correct."
        case .tooManyClients(let address):
            "Redis at \(address) has reached its maximum number of clients. Raise maxclients there, or disconnect unused "
                + "clients."
        case .authenticationRefused(let address, let reason):
            "Redis at \(address) refused the credentials: \(Self.clause(reason)). Check the user and password in the URL."
        case .sentinelAuthenticationRefused(let address, let reason):
            "The Sentinel at \(address) refused the credentials: \(Self.clause(reason)). Check sentinel_user and "
                + "sentinel_password in the URL; Sentinels do not use the user and password of Redis."
        case .invalidTLS(let files, let reason):
            "TLS to Redis cannot be set up with \(files.isEmpty ? "the system's CAs" : files.joined(separator: ", ")): "
                + "\(reason). Check that the files are readable and in PEM."
        case .tlsFailed(let reason):
            "TLS with Redis failed: \(reason)."
        case .certificateNotYetValid:
            "TLS with Redis failed: the server's certificate is not valid yet. Check the clocks of both machines."
        case .certificateExpired:
            "TLS with Redis failed: the server's certificate has expired. Renew it, or correct this machine's clock."
        case .notMaster(let address, let role):
            "Redis at \(address) is a \(role), not a master. Use the address of the master, or let Sentinels find it "
                + "(redis+sentinel://host:port,host:port/master)."
        case .databaseRefused(let address, let database, let reason):
            "Redis at \(address) refused database \(database): \(Self.clause(reason)). Check the number after the last slash "
                + "in the URL."
        case .disconnected: "Redis is not connected."
        case .overloaded: "Too many commands are waiting for Redis."
        case .connectionLost: "The connection to Redis ended before the reply arrived."
        case .timedOut: "Redis did not reply in time."
        case .protocolViolation(let what): "Redis violated RESP2: \(what)."
        case .refused(_, let message): "Redis replied with an error: \(message)"
        case .unexpectedAnswer(let command): "Redis sent an unexpected reply to \(command)."
        }
    }
}

extension RedisError {
    /// How Redis replies to an unknown command. The name follows in quotes, and then the arguments.
    private static let unknownCommand = "ERR unknown command "
    /// The same within a script. Redis does not report which command it was.
    private static let unknownCommandOfScript = "ERR Unknown Redis command called from script"
    /// Redis repeats at most this much of a command's name.
    private static let maxCommandName = 128

    /// Whether Redis does not know the command, for example because its configuration renames it.
    package var isUnknownCommand: Bool {
        guard case .refused(_, let message) = self else { return false }
        return message.hasPrefix(Self.unknownCommand) || message.hasPrefix(Self.unknownCommandOfScript)
    }

    /// For logs: only the error code of a reply, because the message may repeat what was sent. The name of an unknown
    /// command is included, without its arguments.
    package var withoutArguments: String {
        guard case .refused(let code, let message) = self else { return "\(self)" }
        if message.hasPrefix(Self.unknownCommandOfScript) { return "Redis replied \(Self.unknownCommandOfScript)" }
        guard message.hasPrefix(Self.unknownCommand) else { return "Redis replied \(code)" }
        let name = message.dropFirst(Self.unknownCommand.count).dropFirst().prefix(Self.maxCommandName).prefix {
            $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "." || $0 == "_" || $0 == "-")
        }
        return "Redis replied \(Self.unknownCommand)\(name.uppercased())"
    }
}
