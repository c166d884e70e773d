// A real gateway and a real redis-server for tests. The gateway can be killed, frozen, drained and restarted on the same port.

import EnrouteNIO
import Foundation
import Subprocess
import SystemPackage
import Testing

@testable import Enroute

#if canImport(Glibc)
    import Glibc
#endif

/// `@unchecked Sendable`: one test uses a stage, one step after the other.
final class Stage: @unchecked Sendable {
    static let secret = "a-secret-of-tests-that-is-long-enough-for-hs256-0123456789"
    static let repository = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../..").standardized
    static let executable =
        ProcessInfo.processInfo.environment["ENROUTE_EXECUTABLE"]
        ?? Stage.repository.appending(path: ".build/debug/enroute").path

    /// In CI the gateway is built first, so these tests must not be skipped there.
    static let isBuilt =
        FileManager.default.isExecutableFile(atPath: Stage.executable)
        || ProcessInfo.processInfo.environment["CI"] != nil

    private let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-swift-\(UUID())")
    private var redis: Program?
    private var gateway: Program?
    private let settings: [String: String]
    /// A certificate of a test CA for `localhost`, if the gateway uses TLS.
    private(set) var certificate: String?
    let port: Int
    private var clients: [EnrouteClient] = []

    private init(_ settings: [String: String]) throws {
        (self.port, self.settings) = (try Self.freePort(), settings)
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
    }

    /// Runs a test with a stage, and then ends the gateway and the redis-server.
    static func open(_ settings: [String: String] = [:], _ body: (Stage) async throws -> Void) async throws {
        let stage = try Stage(settings)
        do {
            if settings["ENROUTE_TLS"] == "on" { try await stage.makeCertificate() }
            try await stage.startRedis()
            try await stage.startGateway()
            try await body(stage)
        } catch {
            await stage.close()
            throw error
        }
        await stage.close()
    }

    private var redisSocket: String { self.folder.appending(path: "redis.sock").path }

    /// The gateway waits for it.
    private func startRedis() async throws {
        self.redis = try await Program.start(
            .name("redis-server"),
            [
                "--port", "0", "--unixsocket", self.redisSocket, "--save", "", "--appendonly", "no", "--dir",
                self.folder.path,
            ], environment: .inherit)
    }

    func startGateway() async throws {
        var environment = [
            "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "", "ENROUTE_MODE": "development",
            "ENROUTE_TLS": "off", "ENROUTE_LISTEN_HOST": "127.0.0.1", "ENROUTE_LISTEN_PORT": "\(self.port)",
            "ENROUTE_MANAGEMENT": "off", "ENROUTE_TOKEN_SECRET": Self.secret,
            "ENROUTE_REDIS_LIVE_URL": "unix:\(self.redisSocket)", "ENROUTE_EVENT_LOOPS": "1",
            "ENROUTE_DRAIN_ACCEPT_SECONDS": "0", "ENROUTE_DRAIN_SECONDS": "1", "ENROUTE_OVERLOAD_LOOP_LAG_MS": "60000",
        ]
        environment.merge(self.settings) { _, new in new }
        if let certificate {
            environment["ENROUTE_TLS"] = nil
            environment["ENROUTE_TLS_CERTIFICATE_FILE"] = certificate
            environment["ENROUTE_TLS_KEY_FILE"] = "\(certificate).key"
        }
        let variables = environment.map { (Environment.Key(rawValue: $0)!, $1) }
        self.gateway = try await Program.start(
            .path(FilePath(Self.executable)), ["serve"],
            environment: .custom(Dictionary(uniqueKeysWithValues: variables)))
        let health = TransportRequest(method: "GET", url: self.url.appending(path: "openapi.json"))
        let transport = self.transport
        try await until("the gateway answers") { (try? await transport.send(health))?.status == 200 }
    }

    func signal(_ number: Int32) { self.gateway?.signal(number) }

    /// Waits until the gateway has ended.
    func gatewayEnds() async throws {
        try await self.gateway?.ends()
        self.gateway = nil
    }

    var url: URL { URL(string: self.certificate == nil ? "http://127.0.0.1:\(port)" : "https://localhost:\(port)")! }

    var transport: any Transport {
        #if NIO
            NIOTransport(trust: self.certificate.map { .authorities(file: $0) } ?? .system)
        #else
            URLSessionTransport()
        #endif
    }

    private func makeCertificate() async throws {
        let file = self.folder.appending(path: "certificate.pem").path
        _ = try await Subprocess.run(
            .name("openssl"),
            arguments: [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj",
                "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", "\(file).key", "-out", file,
            ], output: .discarded)
        self.certificate = file
    }

    /// A development token.
    func token(_ role: String, _ person: String, lifetime: Int = 900) async throws -> String {
        try await Subprocess.run(
            .path(FilePath(Self.executable)),
            arguments: ["token", "--role", role, person, "--lifetime", "\(lifetime)"],
            environment: .custom(["ENROUTE_TOKEN_SECRET": Self.secret]), output: .string(limit: 1 << 16)
        ).standardOutput.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// A client that is started, and stopped with the stage.
    func client(
        speed: Double = 1,
        _ credential: @escaping @Sendable () async throws -> Credential?
    ) async -> EnrouteClient {
        let configuration = EnrouteClient.Configuration(
            gateway: self.url, transport: self.transport, credential: credential)
        let client = EnrouteClient(configuration, timebase: Timebase(speed: speed))
        self.clients.append(client)
        await client.start()
        return client
    }

    func client(
        role: String, _ person: String, speed: Double = 1
    ) async throws -> EnrouteClient {
        let token = try await self.token(role, person)
        return await self.client(speed: speed) { .token(token) }
    }

    private func close() async {
        for client in self.clients { await client.stop() }
        for program in [self.gateway, self.redis] {
            program?.signal(SIGKILL)
            try? await program?.ends()
        }
        try? FileManager.default.removeItem(at: self.folder)
    }

    private static func freePort() throws -> Int {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { Glibc.close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 && getsockname(socket, $0, &length) == 0
            }
        }
        guard isBound else { throw CocoaError(.featureUnsupported) }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}

/// A program that runs in the background.
struct Program {
    private let id: pid_t
    private let end: Task<Void, any Error>

    static func start(_ executable: Executable, _ words: [String], environment: Environment) async throws -> Program {
        let (ids, started) = AsyncStream.makeStream(of: pid_t.self)
        let end = Task {
            defer { started.finish() }
            _ = try await Subprocess.run(
                executable, arguments: Arguments(words), environment: environment, input: .none, output: .discarded,
                error: .discarded
            ) { started.yield($0.processIdentifier.value) }
        }
        for await id in ids { return Program(id: id, end: end) }
        try await end.value
        throw TransportError("\(executable) did not start")
    }

    func signal(_ number: Int32) { kill(self.id, number) }

    /// Waits until it has ended.
    func ends() async throws { try await self.end.value }
}

/// Polls until `look` is true; CI machines are slow.
func until(_ what: String, seconds: Double = 60, _ look: () async throws -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(seconds)
    while try await !look() {
        guard ContinuousClock.now < end else { throw TransportError("This did not happen in time: \(what)") }
        try await Task.sleep(for: .milliseconds(25))
    }
}

/// What a follower saw, in order.
actor Seen<Value: Sendable> {
    private(set) var values: [Value] = []
    private(set) var error: EnrouteError?
    private(set) var isOver = false
    private var task: Task<Void, Never>?

    init(_ updates: Updates<Value>) async {
        self.task = Task { await self.read(updates) }
    }

    private func read(_ updates: Updates<Value>) async {
        do {
            for try await value in updates { self.values.append(value) }
        } catch {
            self.error = error as? EnrouteError
        }
        self.isOver = true
    }

    var last: Value? { self.values.last }
}
