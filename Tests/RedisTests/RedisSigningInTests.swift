import NIOCore
import Redis
import TestSupport
import Testing

@Suite struct RedisSigningInTests {
    private func startFailure(_ address: RedisAddress, timing: RedisTiming = .patient) async throws -> RedisError? {
        let client = try await RedisClient.made(at: address, timing: timing)
        defer { client.stop() }
        return await failure(of: client.start())
    }

    @Test func `the right password authenticates`() async throws {
        try await withServer(options: ["--requirepass", "hunter2"]) { server in
            var address = server.address
            address.password = "hunter2"
            let client = try await RedisClient.started(at: address)
            defer { client.stop() }
            #expect(try await client.run("PING").text == "PONG")
        }
    }

    @Test(arguments: [0, 3])
    func `a wrong or missing password fails with advice, for any database`(database: Int) async throws {
        try await withServer(options: ["--requirepass", "hunter2"]) { server in
            for (password, word) in [("wrong-secret", "WRONGPASS"), (nil, "NOAUTH")] {
                var address = server.address
                (address.password, address.database) = (password, database)
                let error = try await self.startFailure(address)
                guard case .authenticationRefused(address.description, let reason)? = error else {
                    Issue.record("\(error as Any)")
                    continue
                }
                #expect(reason.hasPrefix(word))
                #expect(error?.description.contains("Check the user and password in the URL.") == true)
                #expect(error?.description.contains("..") == false)
                #expect(error?.description.contains("wrong-secret") == false)
                #expect(error?.isOutage == false)
            }
        }
    }

    @Test func `an ACL user authenticates by name and is limited to its permissions`() async throws {
        try await withRedis { admin, server in
            try await admin.run("ACL", "SETUSER", "alice", "on", ">hunter2", "~mine:*", "&*", "+@all")
            var address = server.address
            (address.user, address.password) = ("alice", "hunter2")
            let client = try await RedisClient.started(at: address)
            defer { client.stop() }
            #expect(try await client.run("ACL", "WHOAMI").text == "alice")
            try await client.run("SET", "mine:a", "1")
            guard case .refused("NOPERM", _)? = await failure(of: client.send(["SET", "a", "1"])) else {
                Issue.record("not refused")
                return
            }
            address.user = "bob"
            guard case .authenticationRefused? = try await self.startFailure(address) else {
                Issue.record("not refused")
                return
            }
        }
    }

    @Test func `an unnecessary password is rejected by Redis and reported`() async throws {
        try await withServer { server in
            var address = server.address
            (address.user, address.password) = ("alice", "hunter2")
            guard case .authenticationRefused? = try await self.startFailure(address) else {
                Issue.record("not refused")
                return
            }
        }
    }

    @Test func `the database of the URL is selected`() async throws {
        try await withRedis { client, server in
            var address = server.address
            address.database = 3
            let third = try await RedisClient.started(at: address)
            defer { third.stop() }
            try await third.run("SET", "a", "1")
            #expect(try await client.run("GET", "a") == .null)
            #expect(try await third.run("GET", "a").text == "1")
        }
    }

    @Test func `a nonexistent database fails with its number and advice`() async throws {
        try await withServer { server in
            var address = server.address
            address.database = 99
            let error = try await self.startFailure(address)
            guard case .databaseRefused(address.description, 99, let reason)? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(reason == "ERR DB index is out of range")
            #expect(error?.description.contains("Check the number after the last slash in the URL.") == true)
        }
    }

    @Test func `a server on TCP is reached by host and port`() async throws {
        let port = try await freePort()
        try await withServer(options: ["--port", String(port), "--bind", "127.0.0.1"]) { _ in
            let client = try await RedisClient.started(at: RedisAddress(url: "redis://127.0.0.1:\(port)/1"))
            defer { client.stop() }
            #expect(try await client.run("PING").text == "PONG")
        }
    }

    @Test func `an unreachable server is reported with its address, the reason and advice`() async throws {
        let port = try await freePort()
        for url in ["unix:/nowhere/redis.sock", "redis://127.0.0.1:\(port)", "redis://no-such-host.invalid"] {
            let address = try RedisAddress(url: url)
            let error = try await self.startFailure(address)
            guard case .unreachable(address.description, let reason)? = error else {
                Issue.record("\(url): \(error as Any)")
                continue
            }
            #expect(!reason.isEmpty)
            #expect(error?.description.contains("cannot be reached") == true)
            #expect(error?.description.hasSuffix("Check that it is running and that the URL is correct.") == true)
            #expect(error?.isOutage == true)
            #expect(error?.isOutcomeUnknown == false)
        }
    }

    @Test func `a server that is loading its data counts as an outage and its message is kept`() async throws {
        let line = "LOADING Redis is loading the dataset in memory"
        try await ScriptedServer.running { _ in
            .text("-\(line)\r\n")
        } _: { server in
            let error = try await self.startFailure(server.address)
            #expect(error == .refused(code: "LOADING", message: line))
            #expect(error?.isOutage == true)
        }
    }

    @Test func `a server that accepts but never replies is given up in time`() async throws {
        var timing = RedisTiming()
        timing.answer = .milliseconds(100)
        try await ScriptedServer.running { _ in
            .silence
        } _: { server in
            let error = try await self.startFailure(server.address, timing: timing)
            #expect(
                error
                    == .unreachable(
                        address: server.address.description,
                        reason:
                            "it did not reply in time; if this port uses TLS, write rediss instead of redis in the URL")
            )
            #expect(error?.isOutage == true)
        }
    }
}
