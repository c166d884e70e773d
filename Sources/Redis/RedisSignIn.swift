// The first commands on a connection: authenticate, select the database, and check that the server has the expected role.

internal import NIOCore

/// Authenticates a new connection.
struct RedisSignIn {
    let address: RedisAddress
    /// Whether the server must be a master. A Sentinel is not one.
    let needsMaster: Bool

    /// Pipelines all steps; the first error decides.
    func run(on handler: RedisChannelHandler, _ eventLoop: any EventLoop) -> EventLoopFuture<Void> {
        let place = self.address.description
        var steps: [EventLoopFuture<Void>] = []
        if let password = self.address.password {
            let words = ["AUTH"] + [self.address.user].compactMap { $0 } + [password]
            steps.append(
                handler.send(RedisCommand(words.map { .text($0) })).map { _ in }.flatMapErrorThrowing { error in
                    guard case RedisError.refused(_, let message) = error else { throw error }
                    throw RedisError.authenticationRefused(address: place, reason: message)
                })
        }
        let database = self.address.database
        if database != 0 {
            steps.append(
                handler.send(["SELECT", .integer(database)]).map { _ in }.flatMapErrorThrowing { error in
                    guard case RedisError.refused(let code, let message) = error else { throw error }
                    // Not a problem of the database: PING reports it better.
                    if code == "NOAUTH" { return }
                    throw RedisError.databaseRefused(address: place, database: database, reason: message)
                })
        }
        steps.append(
            handler.send(["PING"]).map { _ in }.flatMapErrorThrowing { error in
                guard case RedisError.refused(let code, let message) = error, ["NOAUTH", "WRONGPASS"].contains(code)
                else { throw error }
                throw RedisError.authenticationRefused(address: place, reason: message)
            })
        if self.needsMaster {
            steps.append(
                handler.send(["ROLE"]).flatMapThrowing { answer in
                    let role = answer.array?.first?.text ?? "server without a role"
                    guard role == "master" else { throw RedisError.notMaster(address: place, role: role) }
                })
        }
        return EventLoopFuture.andAllSucceed(steps, on: eventLoop)
    }
}
