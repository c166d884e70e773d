// A TCP port without a Redis or an HTTP server behind it, for the first seconds of a connection.

private import NIOCore
private import NIOPosix

package enum FakePort {
    /// Accepts connections while `body` runs.
    ///
    /// - Parameters:
    ///   - greeting: the bytes that each connection receives; `nil` closes it immediately, like a balancer without a backend.
    ///   - answer: the bytes that everything received is answered with; `nil` for none.
    ///   - body: called with the port, on 127.0.0.1.
    package static func running<Result: Sendable>(
        greeting: String?, answer: String? = nil, _ body: (Int) async throws -> Result
    ) async throws -> Result {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Greeter(greeting, answer))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        defer { listener.close(promise: nil) }
        return try await body(listener.localAddress?.port ?? 0)
    }

    private final class Greeter: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let (greeting, answer): (String?, String?)

        init(_ greeting: String?, _ answer: String?) { (self.greeting, self.answer) = (greeting, answer) }

        func channelActive(context: ChannelHandlerContext) {
            guard let greeting else { return context.close(promise: nil) }
            context.writeAndFlush(NIOAny(ByteBuffer(string: greeting)), promise: nil)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard let answer else { return }
            context.writeAndFlush(NIOAny(ByteBuffer(string: answer)), promise: nil)
        }
    }
}
