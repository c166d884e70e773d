// The server of the tests: one loop and one `TLSLoop` for all of them, as in a gateway, so that suites running in parallel also
// show that connections do not affect each other.

import NIOCore
import NIOPosix

@testable import SecureSocket

enum Loops {
    static let server = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()
    static let client = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()
    static let tls = NIOLoopBoundBox.makeBoxSendingValue(TLSLoop(), as: TLSLoop.self, eventLoop: Loops.server)
    static let files = Result { try CertificateFiles() }
    static let context = Result { () throws -> TLSContext in
        let files = try Loops.files.get()
        return try TLSContext(certificateChain: files.certificatePath, privateKey: files.keyPath)
    }
}

/// An accepted socket.
struct Connection: Sendable {
    let channel: any Channel
    let socket: NIOLoopBound<SecureSocketHandler>
    let recorder: Recorder

    var seen: Signal<Seen> { self.recorder.seen }

    /// Runs a body on the loop of the socket.
    @discardableResult
    func run<Result: Sendable>(_ body: @escaping @Sendable (SecureSocketHandler) throws -> Result) async throws
        -> Result
    {
        try await self.channel.eventLoop.submit { try body(self.socket.value) }.get()
    }

    func write(_ text: String) async throws {
        try await self.channel.writeAndFlush(ByteBuffer(string: text)).get()
    }

    func writeNow(_ text: String) async throws {
        try await self.run { $0.writeNow(text) }
    }
}

extension SecureSocketHandler {
    func writeNow(_ text: String) {
        var text = text
        text.withUTF8 { self.writeNow(UnsafeRawBufferPointer($0)) }
    }
}

struct Listener: Sendable {
    enum Transport: Sendable, CaseIterable { case plain, tls }

    let channel: any Channel
    private let connections: Signal<[Connection]>

    var address: SocketAddress {
        get throws { try self.channel.localAddress ?? { throw ChannelError.unknownLocalAddress }() }
    }

    /// - Parameters:
    ///   - tls: called for each connection
    ///   - sendBuffer: approximate size of the kernel's send buffer; a small one fills up quickly
    static func start(
        tls: @escaping @Sendable () throws -> TLSContext?, allowsHalfClosure: Bool = false, sendBuffer: Int? = nil,
        setUp: @escaping @Sendable (SecureSocketHandler, any Channel) -> Void = { _, _ in }
    ) async throws -> Listener {
        let connections = Signal<[Connection]>([])
        var bootstrap = ServerBootstrap(group: Loops.server, childGroup: Loops.server)
            .childChannelOption(.allowRemoteHalfClosure, value: allowsHalfClosure)
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let socket = SecureSocketHandler(loop: Loops.tls.value, tls: try tls())
                    let recorder = Recorder()
                    try channel.pipeline.syncOperations.addHandlers([socket, recorder])
                    setUp(socket, channel)
                    let bound = NIOLoopBound(socket, eventLoop: channel.eventLoop)
                    connections.update { $0.append(Connection(channel: channel, socket: bound, recorder: recorder)) }
                }
            }
        if let sendBuffer {
            bootstrap = bootstrap.childChannelOption(.socketOption(.so_sndbuf), value: sendBuffer)
        }
        let channel = try await bootstrap.bind(host: "127.0.0.1", port: 0).get()
        return Listener(channel: channel, connections: connections)
    }

    static func start(
        _ transport: Transport = .tls, allowsHalfClosure: Bool = false, sendBuffer: Int? = nil
    ) async throws -> Listener {
        let context = transport == .tls ? try Loops.context.get() : nil
        return try await self.start(tls: { context }, allowsHalfClosure: allowsHalfClosure, sendBuffer: sendBuffer)
    }

    /// The accepted connection number `index`, from 0.
    func connection(_ index: Int = 0) async throws -> Connection {
        let all = try await self.connections.until("connection \(index)") { $0.count > index }
        return all[index]
    }

    /// Forgets the connections, on their loop.
    func forget() async throws {
        try await Loops.server.submit { self.connections.update { $0 = [] } }.get()
    }

    /// Closes the port and every accepted connection.
    func stop() async throws {
        for connection in self.connections.value { connection.channel.close(promise: nil) }
        try await self.channel.close().get()
    }
}
