import NIOCore
import Redis
import TestSupport
import Testing

/// Which failures of a first connection pass by themselves, and which need an operator: a gateway waits, or exits.
@Suite struct RedisStartOutageTests {
    private static func startFailure(
        _ address: RedisAddress, timing: RedisTiming = .patient
    ) async throws -> RedisError? {
        let client = try await RedisClient.made(at: address, timing: timing)
        defer { client.stop() }
        return await failure(of: client.start())
    }

    private static func varied(_ address: RedisAddress, _ password: String?, _ database: Int) -> RedisAddress {
        var address = address
        (address.password, address.database) = (password, database)
        return address
    }

    @Test(arguments: [nil, "hunter2"], [0, 3])
    func `a server at its maximum number of clients is an outage, whatever command comes first`(
        password: String?, database: Int
    ) async throws {
        try await withRedis { holder, server in
            try await holder.run("CONFIG", "SET", "maxclients", "1")
            // The server may close the connection before its message has been read.
            let error = try await Self.startFailure(Self.varied(server.address, password, database))
            #expect(error?.isOutage == true, "\(error as Any)")
        }
        try await ScriptedServer.running { _ in
            .text("-ERR max number of clients reached\r\n")
        } _: { server in
            let error = try await Self.startFailure(Self.varied(server.address, password, database))
            #expect(error == .tooManyClients(address: server.address.description))
            #expect(error?.isOutage == true && error?.description.contains("maxclients") == true)
        }
    }

    @Test func `a client and its subscriptions can start again after an attempt that failed`() async throws {
        try await withRedis { holder, server in
            let client = try await RedisClient.made(at: server.address, timing: .patient)
            defer { client.stop() }
            let loop = client.eventLoop
            let subscriptions = try await loop.submit {
                NIOLoopBound(
                    Subscriptions(client: client, connections: 2, timing: .patient, logger: .quiet), eventLoop: loop)
            }.get()
            func subscribe() async -> RedisError? { await failure(of: loop.flatSubmit { subscriptions.value.start() }) }
            try await holder.run("CONFIG", "SET", "maxclients", "1")
            for _ in 0..<2 { #expect(await failure(of: client.start())?.isOutage == true) }
            try await holder.run("CONFIG", "SET", "maxclients", "3")
            #expect(await failure(of: client.start()) == nil)
            #expect(await failure(of: client.start()) == nil, "connected already")
            // One of the two connections is refused.
            #expect(await subscribe()?.isOutage == true)
            try await holder.run("CONFIG", "SET", "maxclients", "4")
            #expect(await subscribe() == nil)
            try await loop.flatSubmit { subscriptions.value.subscribe("channel") }.get()
            #expect(try await client.send(["SPUBLISH", "channel", "x"]).get().integer == 1)
            loop.execute { subscriptions.value.stop() }
        }
    }

    @Test func `a client that was stopped does not start again`() async throws {
        try await withRedis { _, server in
            let client = try await RedisClient.made(at: server.address, timing: .patient)
            client.stop()
            #expect(await failure(of: client.start()) == .disconnected)
        }
    }

    @Test(
        arguments: ["LOADING Redis is loading", "BUSY Redis is busy", "MASTERDOWN Link with MASTER is down"],
        [(nil, 0), ("hunter2", 0), (nil, 3)])
    func `a server that temporarily cannot answer counts as an outage`(
        line: String, variation: (password: String?, database: Int)
    ) async throws {
        try await ScriptedServer.running { _ in
            .text("-\(line)\r\n")
        } _: { server in
            let error = try await Self.startFailure(
                Self.varied(server.address, variation.password, variation.database))
            let code = String(line.prefix { $0 != " " })
            #expect(error == .refused(code: code, message: line) && error?.isOutage == true)
        }
    }

    @Test(arguments: ["redis", "rediss"])
    func `a port that accepts and closes is an outage, with and without TLS`(scheme: String) async throws {
        try await FakePort.running(greeting: nil) { port in
            let error = try await Self.startFailure(RedisAddress(url: "\(scheme)://127.0.0.1:\(port)"))
            guard case .unreachable("127.0.0.1:\(port)", let reason)? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(reason.hasPrefix("it closed the connection before it replied"))
            #expect(error?.isOutage == true)
        }
    }

    @Test func `a port that does not answer, or answers without TLS, is reported with the reason`() async throws {
        var timing = RedisTiming()
        timing.answer = .milliseconds(500)
        try await FakePort.running(greeting: "") { port in
            let error = try await Self.startFailure(RedisAddress(url: "rediss://127.0.0.1:\(port)"), timing: timing)
            #expect(
                error
                    == .unreachable(
                        address: "127.0.0.1:\(port)",
                        reason:
                            "it did not reply in time; if this port does not use TLS, write redis instead of rediss in "
                            + "the URL"))
        }
        try await FakePort.running(greeting: "-ERR unknown command\r\n") { port in
            let error = try await Self.startFailure(RedisAddress(url: "rediss://127.0.0.1:\(port)"))
            guard case .tlsFailed(let reason)? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(reason.hasPrefix("the server does not use TLS on this port."))
        }
    }

    @Test func `the password is not repeated when the server does not know AUTH`() async throws {
        let options = ["--rename-command", "AUTH", "OTHER", "--requirepass", "another"]
        try await withServer(options: options) { server in
            var address = server.address
            (address.user, address.password) = ("alice", "hunter2")
            let error = try await Self.startFailure(address)
            #expect(
                error == .authenticationRefused(address: address.description, reason: "ERR unknown command 'AUTH'"))
            #expect(error?.isOutage == false)
        }
    }
}
