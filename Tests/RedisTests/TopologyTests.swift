import NIOCore
import Redis
import TestSupport
import Testing

/// Clients of TLS servers, Sentinels and clusters.
@Suite(.serialized, .needsMachine(for: .faults)) struct TopologyTests {
    private static func startFailure(_ url: String) async throws -> RedisError? {
        let client = try await RedisClient.made(at: RedisAddress(url: url), timing: .patient)
        defer { client.stop() }
        return await failure(of: client.start())
    }

    // MARK: masters

    @Test func `the masters are the node itself, or every node of a cluster that owns slots`() async throws {
        try await withRedis { client, server in
            let masters = try await client.masters().get()
            #expect(masters == [server.address])
        }
        try await ClusterFleet.running { fleet in
            let client = try await RedisClient.started(at: RedisAddress(url: fleet.url))
            defer { client.stop() }
            let expected = fleet.nodes.prefix(3).map { "127.0.0.1:\($0.port)" }.sorted()
            let masters = try await client.masters().get()
            #expect(masters.map(\.description) == expected)
        }
    }

    // MARK: TLS

    @Test func `commands and subscriptions work over TLS with a trusted CA`() async throws {
        try await TLSRedis.running { server in
            let address = try RedisAddress(url: "\(server.url)/2?ca=\(server.authorityPath)")
            let client = try await RedisClient.started(at: address)
            defer { client.stop() }
            try await client.run("SET", "a", "1")
            #expect(try await client.run("GET", "a").text == "1")
            let subscriber = try await Subscriber.started(at: address)
            defer { subscriber.stop() }
            try await subscriber.subscribe("c")
            try await client.run("SPUBLISH", "c", "secret")
            #expect(try await subscriber.messages.next().text == "secret")
            try await server.redis.restart()
            #expect(try await subscriber.resubscribed.next() == "c")
        }
    }

    @Test func `a certificate with a wrong CA, name or validity is rejected with the reason`() async throws {
        try await TLSRedis.running { server in
            let other = try TestAuthority().write(into: server.folder, as: "other")
            for url in ["\(server.url)?ca=\(other)", server.url] {
                let error = try await Self.startFailure(url)
                guard case .tlsFailed(let reason)? = error else {
                    Issue.record("\(url): \(error as Any)")
                    return
                }
                #expect(
                    reason
                        == "the server's certificate is not signed by a trusted CA. Set ca= in the URL to the file of its CA"
                )
            }
        }
        try await TLSRedis.running(validity: -60) { server in
            let error = try await Self.startFailure("\(server.url)?ca=\(server.authorityPath)")
            #expect(error == .certificateExpired && error?.isOutage == true, "a renewal needs no change of the gateway")
        }
        try await TLSRedis.running(from: 60) { server in
            let error = try await Self.startFailure("\(server.url)?ca=\(server.authorityPath)")
            #expect(error == .certificateNotYetValid && error?.isOutage == true, "the clock may be wrong after a boot")
        }
        try await TLSRedis.running(name: "redis.example") { server in
            let wrong = try await Self.startFailure("\(server.url)?ca=\(server.authorityPath)")
            guard case .tlsFailed(let reason)? = wrong else {
                Issue.record("\(wrong as Any)")
                return
            }
            #expect(reason.contains("is not valid for the host in the URL. Set name= in the URL"))
            let error = try await Self.startFailure("\(server.url)?ca=\(server.authorityPath)&name=redis.example")
            #expect(error == nil)
        }
    }

    @Test func `the error of a client without TLS suggests that the port may use TLS`() async throws {
        try await TLSRedis.running { server in
            let error = try await Self.startFailure("redis://localhost:\(server.port)")
            guard case .unreachable(_, let reason)? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(reason.contains("if this port uses TLS, write rediss instead of redis in the URL"))
        }
    }

    @Test func `a client certificate is presented when the server requires one`() async throws {
        try await TLSRedis.running(requiresClientCertificate: true) { server in
            let trusting = "\(server.url)?ca=\(server.authorityPath)"
            let without = try await Self.startFailure(trusting)
            #expect(without != nil)
            let with = try await Self.startFailure(
                "\(trusting)&cert=\(server.client.certificate)&key=\(server.client.key)")
            #expect(with == nil)
        }
    }

    @Test func `the error for missing TLS files contains their paths`() async throws {
        let error = try await Self.startFailure("rediss://localhost:1?ca=/no/such/file")
        guard case .invalidTLS(files: ["/no/such/file"], reason: "no such file")? = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect("\(try #require(error))".contains("/no/such/file"))
    }

    @Test func `a key of another certificate is reported`() async throws {
        try await TLSRedis.running { server in
            let other = try server.authority.issue(.client(name: "other"), into: server.folder, as: "other")
            let error = try await Self.startFailure(
                "\(server.url)?ca=\(server.authorityPath)&cert=\(server.client.certificate)&key=\(other.key)")
            guard case .invalidTLS(_, let reason)? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(reason == "the key cannot be read or does not belong to the certificate")
        }
    }

    // MARK: Sentinel

    @Test func `Sentinels name the master, a replica is not accepted as one, and an unknown name is reported`()
        async throws
    {
        try await SentinelFleet.running { fleet in
            let client = try await RedisClient.started(at: RedisAddress(url: fleet.url))
            defer { client.stop() }
            try await client.run("SET", "a", "1")
            #expect(try await fleet.master().run("GET", "a").text == "1")
            let replica = try #require(fleet.servers.dropFirst().first?.url)
            guard case .notMaster(_, role: "slave")? = try await Self.startFailure(replica) else {
                Issue.record("a replica was taken for a master")
                return
            }
            let unknown = try await Self.startFailure(fleet.url.replacing("/mymaster", with: "/other"))
            #expect("\(try #require(unknown))".contains("other"))
            // The first Sentinel is gone: the next one is queried.
            await fleet.sentinels[0].crash()
            let second = try await Self.startFailure(fleet.url)
            #expect(second == nil)
        }
    }

    // MARK: Cluster

    @Test func `cluster keys are written to the masters of their slots and followed when slots move`() async throws {
        try await ClusterFleet.running { fleet in
            let client = try await RedisClient.started(at: RedisAddress(url: fleet.url))
            defer { client.stop() }
            let keys = (0..<100).map { "key-\($0)" }
            for key in keys { try await client.run("SET", key, key) }
            for node in fleet.nodes.prefix(3) {
                let count = try await node.redis.run("DBSIZE").integer
                #expect(count ?? 0 > 10)
            }

            let slot = HashSlot.of("key-1")
            let source = try await fleet.master(of: slot)
            let target = try #require(fleet.nodes.prefix(3).first { $0.id != source.id })
            let migration = try await fleet.migration(of: slot, to: target)
            try await migration.begin()
            // The key does not exist on the source: ASK leads to the target.
            try await client.run("SET", "{key-1}new", "2")
            #expect(try await client.run("GET", "key-1").text == "key-1")
            while try await migration.moveKeys() > 0 {}
            #expect(try await client.run("GET", "key-1").text == "key-1")
            try await migration.finish()
            for key in keys { #expect(try await client.run("GET", key).text == key) }
            #expect(try await client.run("GET", "{key-1}new").text == "2")
        }
    }

    @Test func `a channel follows its slot to another node, and its owner is notified`() async throws {
        try await ClusterFleet.running { fleet in
            let address = try RedisAddress(url: fleet.url)
            let client = try await RedisClient.started(at: address)
            defer { client.stop() }
            let subscriber = try await Subscriber.started(at: address)
            defer { subscriber.stop() }
            for channel in ["a", "b", "c"] { try await subscriber.subscribe(channel) }
            let slot = HashSlot.of("a")
            let source = try await fleet.master(of: slot)
            let target = try #require(fleet.nodes.prefix(3).first { $0.id != source.id })
            try await fleet.migration(of: slot, to: target).run()
            #expect(try await subscriber.resubscribed.next() == "a")
            #expect(try await client.run("SPUBLISH", "a", "there").integer == 1)
            #expect(try await subscriber.messages.next().text == "there")
        }
    }

    @Test func `a channel that is unsubscribed while its node is being connected is not subscribed later`()
        async throws
    {
        try await ClusterFleet.running { fleet in
            let subscriber = try await Subscriber.started(at: RedisAddress(url: fleet.url))
            defer { subscriber.stop() }
            try await subscriber.subscribe("{a}old")
            let eventLoop = subscriber.eventLoop
            let (dropped, new) = (eventLoop.makePromise(of: Void.self), eventLoop.makePromise(of: Void.self))
            // NIO crashes if a promise is never completed, and ignores a second completion.
            defer { for promise in [dropped, new] { promise.fail(CancellationError()) } }
            try await eventLoop.submit {
                let connection = subscriber.connection.value
                connection.onState = { [unowned connection] isUp in
                    guard !isUp else { return }
                    connection.subscribe("{a}dropped").cascade(to: dropped)
                    connection.unsubscribe("{a}dropped")
                    connection.subscribe("{a}new").cascade(to: new)
                }
            }.get()
            let node = try await fleet.master(of: HashSlot.of("{a}old"))
            _ = try await node.redis.run("CLIENT", "KILL", "TYPE", "pubsub")
            #expect(await failure(of: dropped.futureResult) == .disconnected)
            try await new.futureResult.within().get()
            #expect(try await subscriber.resubscribed.next() == "{a}old")
            let channels = try await node.redis.run("PUBSUB", "SHARDCHANNELS").array?.compactMap(\.text)
            #expect(channels?.sorted() == ["{a}new", "{a}old"])
        }
    }

    @Test func `a new channel fails with the attempt to connect its node, and may be subscribed again later`()
        async throws
    {
        try await ClusterFleet.running { fleet in
            let subscriber = try await Subscriber.started(at: RedisAddress(url: fleet.url))
            defer { subscriber.stop() }
            let node = try await fleet.master(of: HashSlot.of("{a}new"))
            await node.redis.crash()
            var failures = 0
            let isSubscribed = await eventually(within: .seconds(60)) {
                guard await failure(of: subscriber.onLoop { $0.subscribe("{a}new") }) != nil else { return true }
                failures += 1
                return false
            }
            #expect(isSubscribed && failures > 0)
        }
    }
}
