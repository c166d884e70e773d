// The first commands on a connection: authenticate, select the database, and check that the server has the expected role.

internal import NIOCore

/// Authenticates a new connection.
struct RedisSignIn: Sendable {
    /// The expected role of the server.
    enum Peer: Sendable {
        case master
        /// Any node of a cluster.
        case node
        case sentinel
    }

    let address: RedisAddress
    let peer: Peer

    /// Pipelines all steps; the first error decides.
    func run(on handler: RedisChannelHandler, _ eventLoop: any EventLoop) -> EventLoopFuture<Void> {
        var steps: [EventLoopFuture<Void>] = []
        if let password = self.address.password {
            let words = ["AUTH"] + [self.address.user].compactMap { $0 } + [password]
            steps.append(
                self.step(handler.send(RedisCommand(words.map { .text($0) }))) { message in
                    Self.concernsCredentials(message) ? self.credentialsRefused(message) : nil
                })
        }
        let database = self.address.database
        if database != 0 {
            steps.append(
                self.step(handler.send(["SELECT", .integer(database)])) { message in
                    .databaseRefused(address: self.address.description, database: database, reason: message)
                })
        }
        steps.append(self.step(handler.send(["PING"])) { _ in nil })
        if self.peer == .master {
            steps.append(self.step(handler.send(["ROLE"]).flatMapThrowing { try self.requireMaster($0) }) { _ in nil })
        }
        return EventLoopFuture.andAllSucceed(steps, on: eventLoop)
    }

    private func requireMaster(_ answer: RESPValue) throws(RedisError) {
        let role = answer.array?.first?.text ?? "server without a role"
        guard role == "master" else { throw .notMaster(address: self.address.description, role: role) }
    }

    // MARK: Errors

    /// - Parameter refusal: the meaning of an error reply that is neither an outage nor about authentication; `nil` if
    ///   its message is clear enough.
    private func step<Answer: Sendable>(
        _ answer: EventLoopFuture<Answer>, refusal: @escaping @Sendable (_ message: String) -> RedisError?
    ) -> EventLoopFuture<Void> {
        answer.map { _ in }.flatMapErrorThrowing { error in
            guard let error = error as? RedisError else { throw error }
            throw self.meaning(of: error, refusal)
        }
    }

    private func meaning(of error: RedisError, _ refusal: (String) -> RedisError?) -> RedisError {
        switch error {
        case .connectionLost, .disconnected:
            self.unreachable("it closed the connection before it replied, as a server with too many clients does")
        case .timedOut: self.unreachable("it did not reply in time")
        case .refused(_, let message) where message.hasPrefix("ERR max number of clients"):
            .tooManyClients(address: self.address.description)
        case .refused("NOAUTH", let message), .refused("WRONGPASS", let message): self.credentialsRefused(message)
        case .refused(_, let message) where !error.isOutage: refusal(message) ?? error
        default: error
        }
    }

    /// Adds the usual cause: a wrong scheme in the URL.
    private func unreachable(_ reason: String) -> RedisError {
        let advice =
            switch (self.address.endpoint, self.address.tls) {
            case (.unix, _): ""
            case (_, nil): "; if this port uses TLS, write rediss instead of redis in the URL"
            case (_, _?): "; if this port does not use TLS, write redis instead of rediss in the URL"
            }
        return .unreachable(address: self.address.description, reason: reason + advice)
    }

    /// Removes the arguments, which Redis repeats if it does not know the command.
    private func credentialsRefused(_ message: String) -> RedisError {
        let reason = String(message.prefix(upTo: message.firstRange(of: ", with args")?.lowerBound ?? message.endIndex))
        return self.peer == .sentinel
            ? .sentinelAuthenticationRefused(address: self.address.description, reason: reason)
            : .authenticationRefused(address: self.address.description, reason: reason)
    }

    /// Whether AUTH was refused because of its arguments: `ERR AUTH <password> called without any password configured`,
    /// `ERR wrong number of arguments for 'auth' command`, `ERR invalid password`.
    private static func concernsCredentials(_ message: String) -> Bool {
        let message = message.lowercased()
        return message.hasPrefix("err ") && (message.contains("auth") || message.contains("password"))
    }
}
