import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import TestSupport
import Testing

@testable import enroute

/// The demo's relay: every connection through it reaches a gateway, and no byte is lost.
@Suite(.needsMachine(for: .faults)) struct DemoRelayTests {
    static let connections = 1_000
    /// As many as a browser opens at the same time.
    static let concurrency = 6

    /// The gateway resets a connection that is not read after 5 s. The relay lost 13 of 120 connections without TLS, and 14
    /// with it, while it connected to a gateway before the accepted connection was registered with its event loop.
    @Test(arguments: [false, true])
    func `D1, B22: the demo loses none of 1,000 connections, six at a time`(isSecure: Bool) async throws {
        try await Turns.servers.take {
            let arguments = ["--port", isSecure ? "22443" : "23443"] + (isSecure ? ["--tls"] : [])
            _ = try await DemoTests.run(arguments, ending: .interrupt) { running in
                let origin = try #require(try await running.origins()["customer"])
                let lost = try await Self.lost(of: Self.connections, to: "\(origin)/api/v1/texts")
                #expect(lost == [], "\(lost.count) lost")
            }
        }
    }

    /// - Returns: the reasons of lost connections. A worker stops after its first one.
    private static func lost(of count: Int, to url: String) async throws -> [String] {
        var configuration = HTTPClient.Configuration(timeout: .init(connect: .seconds(30)))
        configuration.tlsConfiguration = .makeClientConfiguration()
        configuration.tlsConfiguration?.certificateVerification = .none
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = self.concurrency
        let client = HTTPClient(configuration: configuration)
        let lost = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<self.concurrency {
                group.addTask {
                    for _ in 0..<(count / Self.concurrency + 1) {
                        var request = HTTPClientRequest(url: url)
                        request.headers = ["connection": "close"]
                        do {
                            let answer = try await client.execute(request, timeout: .seconds(30))
                            _ = try await answer.body.collect(upTo: 1 << 20)
                            guard answer.status == .ok else { return "\(answer.status)" }
                        } catch {
                            return "\(error)"
                        }
                    }
                    return nil
                }
            }
            return await group.reduce(into: [String]()) { lost, reason in if let reason { lost.append(reason) } }
        }
        try await client.shutdown()
        return lost
    }

    /// Runs the relay in front of one server for as long as `body` does.
    private static func run(
        _ server: @escaping @Sendable () -> any ChannelHandler & Sendable,
        _ body: @escaping @Sendable (_ relay: DemoRelay, _ port: Int, _ server: Int) async throws -> Void
    ) async throws {
        let group = MultiThreadedEventLoopGroup.singleton
        let behind = try await ServerBootstrap(group: group)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in channel.pipeline.addHandler(server()) }
            .bind(host: "127.0.0.1", port: 0).get()
        let relay = DemoRelay()
        let listener = try await relay.listen(host: "127.0.0.1", port: 0, group: group)
        let ports = (try #require(listener.localAddress?.port), try #require(behind.localAddress?.port))
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(relay, ports.0, ports.1)) } catch { outcome = .failure(error) }
        try await listener.close()
        try await behind.close()
        try outcome.get()
    }

    @Test func `B22: a client that closed its output gets the whole response, however slowly it reads`() async throws {
        try await Self.run({ AnswersAtTheEnd() }) { relay, port, server in
            relay.add(server)
            let answer = try await blocking {
                let socket = try RawSocket(port: port, kernelBytes: 4096)
                try socket.send("what")
                socket.finish()
                return try socket.readToEnd()
            }
            #expect(answer.count == AnswersAtTheEnd.bytes && answer.allSatisfy { $0 == UInt8(ascii: "w") })
        }
    }

    @Test func `B22: a client that closed its output while no gateway was available is served later`() async throws {
        try await Self.run({ AnswersAtTheEnd() }) { relay, port, server in
            let early = try await blocking {
                let socket = try RawSocket(port: port)
                try socket.send("early")
                socket.finish()
                return UncheckedSocket(socket)
            }
            relay.add(server)
            let answer = try await blocking { try early.socket.readToEnd() }
            #expect(answer.count == AnswersAtTheEnd.bytes)
            #expect(answer.first == UInt8(ascii: "e"))
        }
    }

    @Test func `B22: a connection closes when its gateway closes it`() async throws {
        try await Self.run({ ClosesImmediately() }) { relay, port, server in
            relay.add(server)
            let answer = try await blocking {
                let socket = try RawSocket(port: port)
                try socket.send("hello")
                return try socket.readToEndOrReset()
            }
            #expect(answer.isEmpty)
        }
    }

    private struct UncheckedSocket: @unchecked Sendable {
        let socket: RawSocket
        init(_ socket: RawSocket) { self.socket = socket }
    }
}

/// Answers the end of the input with many copies of its first byte, then closes.
private final class AnswersAtTheEnd: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    static let bytes = 4 << 20
    private var first: UInt8?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.first = self.first ?? self.unwrapInboundIn(data).readableBytesView.first
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case ChannelEvent.inputClosed = event else { return context.fireUserInboundEventTriggered(event) }
        let channel = context.channel
        let answer = ByteBuffer(repeating: self.first ?? 0, count: Self.bytes)
        context.writeAndFlush(self.wrapOutboundOut(answer)).whenComplete { _ in channel.close(promise: nil) }
    }
}

/// Closes without a response.
private final class ClosesImmediately: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.close(promise: nil) }
}
