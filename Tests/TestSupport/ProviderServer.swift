// A provider on loopback. It responds as the test decides, and records requests.

internal import NIOConcurrencyHelpers
internal import NIOCore
package import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

package final class ProviderServer: Sendable {
    package struct Question: Sendable {
        package var method: String
        /// Path and query.
        package var uri: String
        package var headers: HTTPHeaders
        package var body: [UInt8]
    }

    package enum Answer: Sendable {
        case raw([UInt8], headers: [String: String] = [:])
        case json(String, status: Int = 200, headers: [String: String] = [:])
        /// No response.
        case silence
        /// A head, the start of a body, and nothing more.
        case stuck(String, status: Int = 200)
        /// A body of this many bytes.
        case bytes(Int)
        /// The connection is closed without a response.
        case hangUp
    }

    package typealias Behaviour = @Sendable (Question) -> Answer

    private let asked = NIOLockedValueBox<[Question]>([])
    private let accepted = NIOLockedValueBox(0)
    private let behaviour: NIOLockedValueBox<Behaviour>
    private let listener: any Channel
    package var questions: [Question] { self.asked.withLockedValue { $0 } }
    /// The number of connections that were opened.
    package var connections: Int { self.accepted.withLockedValue { $0 } }
    package var port: Int { self.listener.localAddress?.port ?? 0 }
    package var url: String { "http://127.0.0.1:\(self.port)" }

    private init(
        _ listener: any Channel, _ behaviour: NIOLockedValueBox<Behaviour>
    ) {
        (self.listener, self.behaviour) = (listener, behaviour)
    }

    package func behave(_ behaviour: @escaping Behaviour) { self.behaviour.withLockedValue { $0 = behaviour } }

    /// Runs a provider while `body` runs.
    ///
    /// - Parameters:
    ///   - host: an address of loopback.
    ///   - port: 0 for a free one.
    ///   - certificate: `nil` for plain HTTP.
    package static func running<Result: Sendable>(
        host: String = "127.0.0.1", port: Int = 0, _ behaviour: @escaping Behaviour,
        certificate: TestAuthority.Files? = nil,
        _ body: (ProviderServer) async throws -> Result
    ) async throws -> Result {
        let tls = try certificate.map { files in
            try NIOSSLContext(
                configuration: .makeServerConfiguration(
                    certificateChain: NIOSSLCertificate.fromPEMFile(files.certificate).map { .certificate($0) },
                    privateKey: .privateKey(NIOSSLPrivateKey(file: files.key, format: .pem))))
        }
        let box = NIOLockedValueBox(behaviour)
        let server = NIOLockedValueBox<ProviderServer?>(nil)
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    server.withLockedValue { $0 }?.accepted.withLockedValue { $0 += 1 }
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(
                        Listener { question in
                            server.withLockedValue { $0 }?.asked.withLockedValue { $0.append(question) }
                            return box.withLockedValue { $0 }(question)
                        })
                }
            }
            .bind(host: host, port: port).get()
        let running = ProviderServer(listener, box)
        server.withLockedValue { $0 = running }
        defer { server.withLockedValue { $0 = nil } }
        do {
            let result = try await body(running)
            try await listener.close()
            return result
        } catch {
            try await listener.close()
            throw error
        }
    }

    private final class Listener: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        private let answer: Behaviour
        private var head: HTTPRequestHead?
        private var body: [UInt8] = []

        init(_ answer: @escaping Behaviour) { self.answer = answer }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch self.unwrapInboundIn(data) {
            case .head(let head): (self.head, self.body) = (head, [])
            case .body(let part): self.body += Array(part.readableBytesView)
            case .end:
                guard let head = self.head else { return }
                let question = Question(
                    method: head.method.rawValue, uri: head.uri, headers: head.headers, body: self.body)
                self.send(self.answer(question), on: context.channel)
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        private func send(_ answer: Answer, on channel: any Channel) {
            var (status, fields, text, isWhole) = (200, [String: String](), "", true)
            var raw: [UInt8]?
            switch answer {
            case .raw(let bytes, let headers): (raw, fields) = (bytes, headers)
            case .json(let json, let code, let headers): (text, status, fields) = (json, code, headers)
            case .stuck(let begun, let code): (text, status, isWhole) = (begun, code, false)
            case .bytes(let count): text = String(repeating: " ", count: count)
            case .silence: return
            case .hangUp: return channel.close(promise: nil)
            }
            var headers = HTTPHeaders([("transfer-encoding", "chunked")])
            for (name, value) in fields { headers.add(name: name, value: value) }
            channel.write(
                HTTPServerResponsePart.head(
                    .init(version: .http1_1, status: .init(statusCode: status), headers: headers)), promise: nil)
            let body = HTTPServerResponsePart.body(
                .byteBuffer(raw.map { ByteBuffer(bytes: $0) } ?? ByteBuffer(string: text)))
            guard isWhole else { return channel.writeAndFlush(body, promise: nil) }
            channel.write(body, promise: nil)
            channel.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
        }
    }
}
