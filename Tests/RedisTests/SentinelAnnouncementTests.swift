import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import Redis

/// A Sentinel may announce a new master seconds after another one has reported it in replies to queries.
@Suite struct SentinelAnnouncementTests {
    /// A Sentinel that the test controls.
    private struct Sentinel {
        let server: ScriptedServer
        private let named: NIOLockedValueBox<Int>

        /// - Parameter port: the port of the master, on 127.0.0.1.
        static func running(naming port: Int, _ body: (Sentinel) async throws -> Void) async throws {
            let named = NIOLockedValueBox(port)
            try await ScriptedServer.running { words in
                switch words.first {
                case "SENTINEL":
                    let port = named.withLockedValue { "\($0)" }
                    return .text("*2\r\n$9\r\n127.0.0.1\r\n$\(port.utf8.count)\r\n\(port)\r\n")
                case "SUBSCRIBE": return .text("*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n")
                default: return .ordinary
                }
            } _: { server in
                try await body(Sentinel(server: server, named: named))
            }
        }

        var url: String {
            guard case .tcp(let host, let port) = self.server.address.endpoint else { return "" }
            return "redis+sentinel://\(host):\(port)/m"
        }

        func name(_ port: Int) { self.named.withLockedValue { $0 = port } }

        func announce(_ port: Int) async throws {
            let payload = "m 127.0.0.1 1 127.0.0.1 \(port)"
            try await self.server.writeToAll(
                "*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$\(payload.utf8.count)\r\n\(payload)\r\n")
        }
    }

    private static func options(_ port: Int) -> [String] { ["--port", "\(port)", "--bind", "127.0.0.1"] }

    /// The ids of all connections to the client's master.
    private static func connections(_ client: RedisClient) async throws -> Set<Substring> {
        let lines = try await client.run("CLIENT", "LIST").text?.split(separator: "\n") ?? []
        return Set(lines.compactMap { $0.split(separator: " ").first })
    }

    @Test func `an announcement closes only connections to another master`() async throws {
        let (first, second) = (try await freePort(), try await freePort())
        try await withServer(options: Self.options(first)) { _ in
            try await withServer(options: Self.options(second)) { _ in
                try await Sentinel.running(naming: first) { sentinel in
                    let (observer, eventLoop) = (RecordingObserver(), MultiThreadedEventLoopGroup.singleton.next())
                    let address = try RedisAddress(url: sentinel.url)
                    let client = try await eventLoop.submit {
                        RedisClient(
                            address: address, eventLoop: eventLoop, timing: .patient, logger: .quiet, witness: observer)
                    }.get()
                    defer { client.stop() }
                    try await client.start().get()
                    let subscriptions = try await eventLoop.submit {
                        NIOLoopBound(
                            Subscriptions(client: client, connections: 2, timing: .patient, logger: .quiet),
                            eventLoop: eventLoop)
                    }.get()
                    defer { eventLoop.execute { subscriptions.value.stop() } }
                    try await eventLoop.flatSubmit { subscriptions.value.start() }.get()
                    let before = try await Self.connections(client)
                    // The client has subscribed to the announcements.
                    while try await sentinel.server.commands.next().first != "SUBSCRIBE" {}

                    try await sentinel.announce(first)
                    #expect(
                        await eventually { observer.received.events == [.masterSwitched(to: "127.0.0.1:\(first)")] })
                    #expect(try await Self.connections(client) == before)

                    sentinel.name(second)
                    try await sentinel.announce(second)
                    let hasMoved = await eventually {
                        let port = try? await client.run("CONFIG", "GET", "port").array?.last?.text
                        let count = try? await Self.connections(client).count
                        return port == "\(second)" && count == 3
                    }
                    #expect(hasMoved)
                }
            }
        }
    }

    @Test func `a connection that is being opened to the former master is not used`() async throws {
        let port = try await freePort()
        try await withServer(options: Self.options(port)) { _ in
            try await ScriptedServer.running { _ in
                .silence
            } _: { server in
                var former = server.address
                former.password = "hunter2"
                let master = RedisAddress.Node(host: "127.0.0.1", port: port)
                let (turn, observer) = (LockedCounter(), RecordingObserver())
                let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
                let link = try await eventLoop.submit { [former] in
                    let link = RedisLink(
                        eventLoop: eventLoop, timing: .patient, logger: .quiet, witness: observer,
                        locate: {
                            eventLoop.makeSucceededFuture(
                                turn.next() == 1
                                    ? former : RedisAddress(endpoint: .tcp(host: master.host, port: master.port)))
                        })
                    link.connectWithRetries()
                    return NIOLoopBound(link, eventLoop: eventLoop)
                }.get()
                defer { eventLoop.execute { link.value.stop() } }
                #expect(try await server.commands.next() == ["AUTH", "hunter2"])

                try await eventLoop.submit { link.value.leave(for: master) }.get()
                try await server.write("+OK\r\n+PONG\r\n*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n")
                let isConnected = try await eventually {
                    try await eventLoop.submit {
                        link.value.handler != nil
                            && link.value.address?.endpoint == .tcp(host: master.host, port: master.port)
                    }.get()
                }
                #expect(isConnected)
                let place = former.description
                #expect(
                    observer.received.events == [
                        .attemptFailed(.notMaster(address: place, role: "former master"), at: place)
                    ])
            }
        }
    }

    @Test(arguments: ["", "?sentinel_password=wrong", "?sentinel_user=alice&sentinel_password=wrong"])
    func `refused credentials of a Sentinel are not reported as those of Redis`(query: String) async throws {
        let port = try await freePort()
        try await withServer(options: Self.options(port) + ["--requirepass", "hunter2"]) { _ in
            let url = "redis+sentinel://alice:secret@127.0.0.1:\(port)/m\(query)"
            let client = try await RedisClient.made(at: RedisAddress(url: url))
            defer { client.stop() }
            let error = await failure(of: client.start())
            guard case .sentinelAuthenticationRefused("127.0.0.1:\(port)", _)? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(error?.description.contains("Check sentinel_user and sentinel_password in the URL") == true)
            #expect(error?.isOutage == false)
        }
    }
}
