// An issuer of keys on loopback, with TLS. It responds as the test decides, when the test decides, and records
// requests.

private import Embedded
private import FoundationEssentials
private import NIOConcurrencyHelpers
private import NIOCore
private import NIOHTTP1
private import NIOPosix
private import NIOSSL

package final class KeyIssuer: Sendable {
    package enum Answer: Hashable, Sendable {
        case body(String)
        case status(Int)
        case redirect(to: String)
        /// No response until another one is set.
        case silence
    }

    private struct State {
        var answer: Answer
        var asked: [String] = []
        var held: [any Channel] = []
    }

    private let state: NIOLockedValueBox<State>
    package let port: Int
    /// PEM file of its certificate.
    package let authorities: String
    package var url: String { "https://localhost:\(self.port)/keys" }
    /// The paths of all requests so far.
    package var asked: [String] { self.state.withLockedValue { $0.asked } }

    private init(_ state: NIOLockedValueBox<State>, port: Int, authorities: String) {
        (self.state, self.port, self.authorities) = (state, port, authorities)
    }

    /// Responds to future requests and to those that were held back.
    package func publish(_ answer: Answer) {
        let held = self.state.withLockedValue { state in
            defer { if answer != .silence { state.held = [] } }
            state.answer = answer
            return answer == .silence ? [] : state.held
        }
        for channel in held { channel.eventLoop.execute { Self.send(answer, on: channel) } }
    }

    /// Runs an issuer while `body` runs.
    package static func running<Result: Sendable>(
        _ answer: Answer, _ body: (KeyIssuer) async throws -> Result
    ) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-issuer-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let files = try DevelopmentCertificate().write(to: folder)
        let tls = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: NIOSSLCertificate.fromPEMFile(files.certificate).map { .certificate($0) },
                privateKey: .privateKey(NIOSSLPrivateKey(file: files.key, format: .pem))))
        let state = NIOLockedValueBox(State(answer: answer))
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 256)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls))
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Listener(state))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let issuer = KeyIssuer(state, port: listener.localAddress?.port ?? 0, authorities: files.certificate)
        do {
            let result = try await body(issuer)
            try await listener.close()
            return result
        } catch {
            try await listener.close()
            throw error
        }
    }

    fileprivate static func send(_ answer: Answer, on channel: any Channel) {
        var (status, headers, body) = (HTTPResponseStatus.ok, HTTPHeaders([("connection", "close")]), ByteBuffer())
        switch answer {
        case .body(let text): body = ByteBuffer(string: text)
        case .status(let code): status = HTTPResponseStatus(statusCode: code)
        case .redirect(let place):
            status = .found
            headers.add(name: "location", value: place)
        case .silence: return
        }
        // Chunked, so that the length is not announced.
        headers.add(name: "transfer-encoding", value: "chunked")
        channel.write(
            HTTPServerResponsePart.head(.init(version: .http1_1, status: status, headers: headers)), promise: nil)
        channel.write(HTTPServerResponsePart.body(.byteBuffer(body)), promise: nil)
        channel.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
    }

    private final class Listener: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        private let state: NIOLockedValueBox<State>

        init(_ state: NIOLockedValueBox<State>) { self.state = state }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .head(let head) = self.unwrapInboundIn(data) else { return }
            let answer = self.state.withLockedValue { state in
                state.asked.append(head.uri)
                if state.answer == .silence { state.held.append(context.channel) }
                return state.answer
            }
            KeyIssuer.send(answer, on: context.channel)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
