import Access
import AsyncHTTPClient
import EnrouteWire
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import enroute

/// B23: the demo's order system retries while a button of the panel has made the gateways unavailable.
@Suite struct DemoOrdersTests {
    /// Answers a number of times with 503, then with 200, and records the idempotency keys.
    private final class Gateway: ChannelInboundHandler, Sendable {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart
        let refusals: Int
        let keys = Mutex<[String]>([])

        init(refusing refusals: Int) { self.refusals = refusals }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch self.unwrapInboundIn(data) {
            case .head(let head): self.keys.withLock { $0.append(head.headers.first(name: "idempotency-key") ?? "") }
            case .body: return
            case .end:
                let isRefused = self.keys.withLock { $0.count <= self.refusals }
                let head = HTTPResponseHead(
                    version: .http1_1, status: isRefused ? .serviceUnavailable : .ok, headers: ["content-length": "0"])
                context.write(self.wrapOutboundOut(.head(head)), promise: nil)
                context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }

    /// - Returns: the idempotency keys that the gateway received, and the outcome.
    private static func ask(refusals: Int) async throws -> (keys: [String], outcome: Result<Void, any Error>) {
        let gateway = Gateway(refusing: refusals)
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.pipeline.configureHTTPServerPipeline().flatMap { channel.pipeline.addHandler(gateway) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let client = HTTPClient()
        let orders = DemoOrders(
            mint: try await TokenMint(
                secret: "a secret of at least thirty-two bytes", issuer: "demo", audience: "demo"),
            url: "http://127.0.0.1:\(try #require(server.localAddress?.port))", client: client, pause: .milliseconds(1))
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await orders.set(.workInProgress, of: JobID("order-1")!)) } catch {
            outcome = .failure(error)
        }
        try await client.shutdown()
        try await server.close()
        return (gateway.keys.withLock { $0 }, outcome)
    }

    @Test func `B23: a status is retried until it is accepted, under one idempotency key`() async throws {
        // On a busy machine, some attempts may fail before the server has seen them.
        let refusals = DemoOrders.attempts / 2
        let (keys, outcome) = try await Self.ask(refusals: refusals)
        try outcome.get()
        #expect(keys.count == refusals + 1 && Set(keys).count == 1 && keys.first?.isEmpty == false)
    }

    @Test func `B23: retries are limited`() async throws {
        let (keys, outcome) = try await Self.ask(refusals: .max)
        // On a busy machine, an attempt may be late before the server has seen it.
        #expect((2...DemoOrders.attempts).contains(keys.count))
        #expect(throws: DemoOrders.Refusal.self) { try outcome.get() }
    }
}
