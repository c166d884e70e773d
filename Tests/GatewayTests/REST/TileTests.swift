import EnrouteWire
import Foundation
import Routing
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime
@testable import REST

/// Map tiles of the pages, from a provider on loopback.
@Suite struct TileTests {
    private static let key = "sk-tiles-7f3a"

    private static func picture(_ text: String) -> [UInt8] { Array("RIFF....WEBP\(text)".utf8) }

    private static func run(
        _ behaviour: @escaping ProviderServer.Behaviour,
        _ change: @escaping @Sendable (inout GatewaySettings) -> Void = { _ in },
        _ body: @escaping @Sendable (RunningGateway, ProviderServer) async throws -> Void
    ) async throws {
        try await ProviderServer.running(behaviour) { server in
            let source = try TileSource(template: "\(server.url)/tiles/{z}/{x}/{y}.webp?key=\(Self.key)")
            try await within {
                try await RunningGateway.run(isSecure: false) { settings in
                    settings.tiles = TileSettings(source: source, attribution: #"© "Somebody" & others"#)
                    change(&settings)
                } _: { gateway in
                    try await body(gateway, server)
                }
            }
        }
    }

    private static func tile(_ gateway: RunningGateway, _ path: String) async throws -> RESTResponse {
        try await gateway.rest("GET", "/assets/tiles/\(path)", as: nil)
    }

    @Test func `a tile is requested from the provider once, and then served from the cache`() async throws {
        try await Self.run({ .raw(Self.picture($0.uri)) }) { gateway, server in
            for _ in 0..<3 {
                let tile = try await Self.tile(gateway, "14/8760/6089")
                #expect(tile.status == 200 && tile.headers["content-type"] == "image/webp")
                #expect(tile.headers["cache-control"] == "public, max-age=86400")
                #expect(tile.text.hasSuffix("WEBP/tiles/14/8760/6089.webp?key=\(Self.key)"))
            }
            #expect(server.questions.map(\.uri) == ["/tiles/14/8760/6089.webp?key=\(Self.key)"])
            #expect(server.questions[0].headers.first(name: "accept")?.contains("image/png") == true)
            // The provider learns nothing about the client.
            let headers = server.questions[0].headers.map { $0.name.lowercased() }
            #expect(
                Set(headers).isSubset(of: ["host", "user-agent", "accept", "connection", "content-length"]),
                "\(headers)")
            let many = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<8 { group.addTask { try await Self.tile(gateway, "15/1/1").status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(many == Array(repeating: 200, count: 8) && server.questions.count == 2)
        }
    }

    @Test func `pages contain the attribution of the tiles, but not their provider's URL`() async throws {
        try await Self.run({ .raw(Self.picture($0.uri)) }) { gateway, server in
            for path in ["/track/job-1", "/rider", "/ops"] {
                let page = try await gateway.rest("GET", path, as: nil)
                #expect(
                    page.text.contains(
                        #"<meta name="enroute-tiles" content="© &quot;Somebody&quot; &amp; others">"#))
                #expect(!page.text.contains(Self.key) && !page.text.contains(server.url))
            }
        }
    }

    @Test func `invalid tile coordinates cause no request to the provider`() async throws {
        try await Self.run({ .raw(Self.picture($0.uri)) }) { gateway, server in
            for path in [
                "21/0/0", "1/2/0", "1/0/2", "-1/0/0", "1/-1/0", "+1/0/0", "1/0/x", "1/0/0.png", "1.0/0/0",
                "99999999999999999999/0/0", "1/0/%2e%2e", "1/0/0%3Fa", "0/0/1",
            ] {
                let answer = try await Self.tile(gateway, path)
                #expect(answer.status == 404 && !answer.text.contains(Self.key), "\(path)")
            }
            #expect(server.questions.isEmpty)
        }
    }

    @Test(arguments: [
        ProviderServer.Answer.json("<html>", status: 200), .json("", status: 200), .json("", status: 404),
        .json("", status: 500), .json("", status: 204), .bytes(TileSource.largestTile + 1), .bytes(2_000_000), .hangUp,
        .json("", status: 302, headers: ["location": "http://127.0.0.1:1/"]),
    ])
    func `a tile that is not an image or too large is treated as missing`(answer: ProviderServer.Answer) async throws {
        try await Self.run({ _ in answer }) { gateway, server in
            let tile = try await Self.tile(gateway, "3/1/1")
            #expect(tile.status == 204 && tile.text.isEmpty && tile.headers["cache-control"] == "no-store")
            #expect(server.questions.count == 1)
        }
    }

    @Test func `a failing tile provider is no longer called, and a missing tile is not a failure`()
        async throws
    {
        try await Self.run({ $0.uri.contains("/1/0/") ? .json("", status: 404) : .json("", status: 500) }) {
            gateway, server in
            for _ in 0..<5 {
                for row in 0..<2 { _ = try await Self.tile(gateway, "1/0/\(row)") }
            }
            // Each tile is requested once, because its absence is cached.
            #expect(server.questions.count == 2)
            for column in 0..<20 { _ = try await Self.tile(gateway, "5/\(column)/0") }
            #expect(server.questions.count == 5)
        }
    }

    @Test func `concurrent requests to a slow tile provider are limited, and their failures are logged once`()
        async throws
    {
        let lines = RecordedLines()
        try await ProviderServer.running({ _ in .silence }) { server in
            let source = try TileSource(template: "\(server.url)/{z}/{x}/{y}")
            let client = try ProviderClient(longestWait: longestSettling)
            let proxy = TileProxy(source: source, client: client, logger: lines.logger)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for column in 0..<TileProxy.maxConcurrentRequests {
                    group.addTask { _ = await proxy.image(of: Tile(zoom: 9, column: column, row: 0)!) }
                }
                try await becomes("all are under way") {
                    await proxy.requestsInProgress == TileProxy.maxConcurrentRequests
                }
                let another = await proxy.image(of: Tile(zoom: 9, column: 500, row: 0)!)
                #expect(another == nil)
                // Not a single request had to finish.
                #expect(await proxy.requestsInProgress == TileProxy.maxConcurrentRequests)
                await client.shutdown()
                try await group.waitForAll()
            }
            #expect(await proxy.requestsInProgress == 0)
            #expect(lines.all.map(\.message) == ["tile provider unavailable"])
        }
    }

    @Test func `an address that requests tiles too fast gets 429 with a retry time`() async throws {
        try await Self.run({ .raw(Self.picture($0.uri)) }) { settings in
            (settings.limits.tilesPerAddressPerSecond, settings.limits.tilesPerAddressBurst) = (1, 3)
        } _: { gateway, _ in
            try await becomes("the address is rate limited") {
                let tile = try await Self.tile(gateway, "1/0/0")
                if tile.status == 429 { #expect(tile.headers["retry-after"] != nil) }
                return tile.status == 429
            }
        }
    }

    @Test func `a tile URL with a variable host or without TLS is refused at the start`() {
        for template in [
            "https://t.example/{z}/{x}/{y}.png?key=a", "http://127.0.0.1:80/{z}/{x}/{y}",
            "http://localhost/{y}/{x}/{z}",
        ] {
            #expect(throws: Never.self, "\(template)") { try TileSource(template: template) }
        }
        for template in [
            "", "t.example/{z}/{x}/{y}", "http://t.example/{z}/{x}/{y}", "https://{z}.example/{x}/{y}",
            "https://a@t.example/{z}/{x}/{y}", "https://t.example/{z}/{x}", "https://t.example/{z}/{x}/{y}/{s}",
            "https://t.example/{z}/{x}/{y}/{x}", "https://t.example/{z}/{x}/{y}#a", "https:///{z}/{x}/{y}",
            "https://t.example/{z}/{x}/{y} a", "http://127.0.0.1.example/{z}/{x}/{y}",
            "https://t.example:65536/{z}/{x}/{y}", "https://[::1]:0/{z}/{x}/{y}",
        ] {
            #expect(throws: InvalidProviderSetting.self, "\(template)") { try TileSource(template: template) }
        }
    }
}

@Suite struct TileCacheTests {
    private static func tile(_ number: Int) -> Tile { Tile(zoom: 20, column: number, row: 0)! }

    private static func picture(_ count: Int) -> TileImage {
        TileImage(Array("RIFF....WEBP".utf8) + [UInt8](repeating: 0, count: count - 12))!
    }

    @Test func `the tile cache never exceeds its maximum size`() {
        let most = 100_000
        var (cache, generator) = (TileCache(maxBytes: most), SystemRandomNumberGenerator())
        for _ in 0..<5_000 {
            let number = Int.random(in: 0..<200, using: &generator)
            if Bool.random(using: &generator) {
                let size = Int.random(in: 12...60_000, using: &generator)
                cache.insert(Bool.random(using: &generator) ? nil : Self.picture(size), of: Self.tile(number), now: 1)
            } else {
                _ = cache.entry(Self.tile(number), now: 2)
            }
            #expect(cache.bytes <= most)
        }
    }

    @Test func `requested tiles stay cached, and others are evicted`() {
        var cache = TileCache(maxBytes: 20_000)
        for number in 0..<100 {
            cache.insert(Self.picture(1_000), of: Self.tile(number), now: 1)
            #expect(cache.entry(Self.tile(0), now: 2)?.image != nil)
        }
        #expect(cache.entry(Self.tile(1), now: 2) == nil && cache.entry(Self.tile(99), now: 2) != nil)
    }

    @Test func `a tile is cached for a day, and its absence for ten minutes`() {
        var cache = TileCache(maxBytes: 20_000)
        let second: UInt64 = 1_000_000_000
        cache.insert(Self.picture(100), of: Self.tile(1), now: 0)
        cache.insert(nil, of: Self.tile(2), now: 0)
        #expect(cache.entry(Self.tile(1), now: 86_399 * second)?.image != nil)
        #expect(cache.entry(Self.tile(1), now: 86_400 * second) == nil)
        #expect(cache.entry(Self.tile(2), now: 599 * second) != nil)
        #expect(cache.entry(Self.tile(2), now: 600 * second) == nil)
    }
}
