// A real gateway and a real redis-server for tests. The gateway can be killed, frozen, drained and restarted on the same port.

@testable import Enroute
import EnrouteNIO
import Foundation
import Testing

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
    private let redis = Process()
    private var gateway = Process()
    private let settings: [String: String]
    /// A certificate of a test CA for `localhost`, if the gateway uses TLS.
    private(set) var certificate: String?
    let port: Int
    private let redisPort: Int
    private var clients: [EnrouteClient] = []

    private init(_ settings: [String: String]) throws {
        (self.port, self.redisPort, self.settings) = (try Self.freePort(), try Self.freePort(), settings)
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
    }

    /// Runs a test with a stage, and then ends the gateway and the redis-server.
    static func open(_ settings: [String: String] = [:], _ body: (Stage) async throws -> Void) async throws {
        let stage = try Stage(settings)
        do {
            if settings["ENROUTE_TLS"] == "on" { try stage.makeCertificate() }
            try stage.startRedis()
            try await stage.startGateway()
            try await body(stage)
        } catch {
            await stage.close()
            throw error
        }
        await stage.close()
    }

    private func startRedis() throws {
        self.redis.executableURL = URL(filePath: "/usr/bin/env")
        self.redis.arguments = [
            "redis-server", "--port", "\(self.redisPort)", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
            "--dir", self.folder.path,
        ]
        self.redis.standardOutput = FileHandle.nullDevice
        try self.redis.run()
    }

    func startGateway() async throws {
        self.gateway = Process()
        // Foundation starts children with a blocked SIGTERM; a gateway needs it to drain.
        self.gateway.executableURL = URL(filePath: "/usr/bin/env")
        self.gateway.arguments = [
            "python3", "-c",
            "import os,signal,sys; signal.pthread_sigmask(signal.SIG_SETMASK, []); os.execv(sys.argv[1], sys.argv[1:])",
            Self.executable, "serve",
        ]
        var environment = [
            "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "", "ENROUTE_MODE": "development",
            "ENROUTE_TLS": "off", "ENROUTE_LISTEN_HOST": "127.0.0.1", "ENROUTE_LISTEN_PORT": "\(self.port)",
            "ENROUTE_MANAGEMENT": "off", "ENROUTE_TOKEN_SECRET": Self.secret,
            "ENROUTE_REDIS_LIVE_URL": "redis://127.0.0.1:\(self.redisPort)", "ENROUTE_EVENT_LOOPS": "1",
            "ENROUTE_DRAIN_ACCEPT_SECONDS": "0", "ENROUTE_DRAIN_SECONDS": "1",
        ]
        environment.merge(self.settings) { _, new in new }
        if let certificate {
            environment["ENROUTE_TLS"] = nil
            environment["ENROUTE_TLS_CERTIFICATE_FILE"] = certificate
            environment["ENROUTE_TLS_KEY_FILE"] = "\(certificate).key"
        }
        self.gateway.environment = environment
        (self.gateway.standardOutput, self.gateway.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        try self.gateway.run()
        let health = TransportRequest(method: "GET", url: self.url.appending(path: "openapi.json"))
        let transport = self.transport
        try await until("the gateway answers") { (try? await transport.send(health))?.status == 200 }
    }

    func signal(_ number: Int32) { kill(self.gateway.processIdentifier, number) }

    func gatewayEnds() async throws { try await until("the gateway ended") { !self.gateway.isRunning } }

    var url: URL { URL(string: self.certificate == nil ? "http://127.0.0.1:\(port)" : "https://localhost:\(port)")! }

    var transport: any Transport {
        #if NIO
            NIOTransport(trust: self.certificate.map { .authorities(file: $0) } ?? .system)
        #else
            URLSessionTransport()
        #endif
    }

    private func makeCertificate() throws {
        let file = self.folder.appending(path: "certificate.pem").path
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", "\(file).key", "-out", file,
        ]
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        self.certificate = file
    }

    /// A development token.
    func token(_ role: String, _ person: String, lifetime: Int = 900) throws -> String {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(filePath: Self.executable)
        process.arguments = ["token", "--role", role, person, "--lifetime", "\(lifetime)"]
        process.environment = ["ENROUTE_TOKEN_SECRET": Self.secret]
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
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
        let token = try self.token(role, person)
        return await self.client(speed: speed) { .token(token) }
    }

    private func close() async {
        for client in self.clients { await client.stop() }
        for process in [self.gateway, self.redis] where process.isRunning {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
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
