import EnrouteClient
import NIOCore
import NIOPosix
import Testing

/// A server that accepts connections and never responds.
@Suite struct SilentGatewayTests {
    @Test(arguments: ["ws", "wss"])
    func `connecting ends when its task is cancelled`(scheme: String) async throws {
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        let opening = Task { try await GatewayConnection.open("\(scheme)://127.0.0.1:\(port)") { _ in } }
        opening.cancel()
        await #expect(throws: CancellationError.self) { try await opening.value }
        try await server.close()
    }
}
