// Everything that a measurement needs, in a temporary folder: a redis-server, a certificate, tokens, and the gateway, one of
// them under callgrind. Nothing remains afterwards.
//
// The gateway's settings differ from the defaults only where these would distort the count:
// - one event loop, so that a location stays on one thread;
// - no limit on how many connections and messages come from one address: everything comes from here;
// - for scenes in lockstep, no limit on how often a rider reports, and no pings;
// - the same seed for Swift's hashing in every run.

import Foundation

final class Stage: Sendable {
    /// The program that runs under callgrind, and its settings.
    enum Kind: Sendable {
        /// The gateway, for scenes that send the next message when the previous one has arrived everywhere.
        case lockstep
        /// The gateway, with the limits and timers of production.
        case field
        /// The redis-server, with the limits and timers of production.
        case countingRedis
    }

    let folder: String
    let url: String
    let certificate: String
    let callgrind: Callgrind
    let redis: KeptProgram
    let redisSocket: String
    let port: Int
    private let binary: String
    private let gateway: KeptProgram
    private let environment: [String: String]

    /// Starts everything, until `end`. Call it on the main thread.
    ///
    /// - Parameter path: of `enroute`, a release build.
    init(_ kind: Kind, gateway path: String) throws {
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw BenchFailure("\(path) is not a program. Build it with: make release")
        }
        let folder = Self.ownFolder
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var isComplete = false
        defer { if !isComplete { try? FileManager.default.removeItem(atPath: folder) } }
        self.folder = folder
        (self.binary, self.certificate) = ("\(folder)/enroute", "\(folder)/certificate.pem")
        try Program.run(["strip", "--strip-debug", "-o", self.binary, path], in: folder)
        try Program.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
                + ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
                + ["-keyout", "\(folder)/key.pem", "-out", self.certificate], in: folder)
        let valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=\(folder)/callgrind.out"]

        let socket = "\(folder)/redis.sock"
        self.redisSocket = socket
        let redis = try Program.keep(
            (kind == .countingRedis ? valgrind : [])
                + ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no"]
                + ["--dir", folder], log: "\(folder)/redis.log", environment: [:])
        try Self.wait(seconds: 60, for: "redis-server's socket") {
            try redis.requireRunning()
            return FileManager.default.fileExists(atPath: socket)
        }
        self.redis = redis

        self.port = try FreePort.find()
        self.url = "wss://127.0.0.1:\(self.port)"
        self.environment = [
            "ENROUTE_TOKEN_SECRET": UUID().uuidString, "ENROUTE_REDIS_LIVE_URL": "unix:\(socket)",
            "ENROUTE_MODE": "development", "ENROUTE_LISTEN_HOST": "127.0.0.1", "ENROUTE_LISTEN_PORT": "\(self.port)",
            "ENROUTE_TLS_CERTIFICATE_FILE": self.certificate, "ENROUTE_TLS_KEY_FILE": "\(folder)/key.pem",
            "ENROUTE_EVENT_LOOPS": "1", "ENROUTE_MANAGEMENT": "off", "SWIFT_DETERMINISTIC_HASHING": "1",
        ].merging(Self.limits(kind)) { $1 }
        var environment = self.environment
        if kind != .countingRedis { environment["LD_PRELOAD"] = try Valgrind.sigsuspend(in: folder) }
        self.gateway = try Program.keep(
            (kind == .countingRedis ? [] : valgrind) + [self.binary, "serve"], log: "\(folder)/gateway.log",
            environment: environment)
        let counted = kind == .countingRedis ? redis : self.gateway
        self.callgrind = Callgrind(processID: counted.processID, folder: folder)
        isComplete = true
    }

    private static func limits(_ kind: Kind) -> [String: String] {
        let unlimited = ["SESSIONS_PER_ADDRESS", "CONNECTIONS_PER_ADDRESS", "MESSAGES_PER_ADDRESS_PER_SECOND"]
        var limits = Dictionary(uniqueKeysWithValues: unlimited.map { ("ENROUTE_LIMIT_\($0)", "0") })
        limits["ENROUTE_OVERLOAD_LOOP_LAG_MS"] = "60000"
        for name in ["TLS_HANDSHAKE_SECONDS", "REQUEST_HEAD_SECONDS"] { limits["ENROUTE_LIMIT_\(name)"] = "60" }
        for name in ["NEW_CONNECTIONS_PER_SECOND", "NEW_CONNECTIONS_BURST"] {
            limits["ENROUTE_LIMIT_\(name)"] = "100000"
        }
        guard kind == .lockstep else { return limits }
        for name in ["POSITIONS", "MESSAGES", "MESSAGES_PER_PERSON"] {
            limits["ENROUTE_LIMIT_\(name)_PER_SECOND"] = name == "POSITIONS" ? "1000" : "100000"
            limits["ENROUTE_LIMIT_\(name)_BURST"] = limits["ENROUTE_LIMIT_\(name)_PER_SECOND"]
        }
        limits["ENROUTE_LIMIT_SESSIONS_PER_PERSON"] = "0"
        limits["ENROUTE_LIMIT_PING_INTERVAL_SECONDS"] = "3600"
        return limits
    }

    /// Waits until the gateway listens, which it does once it is connected to Redis.
    func becomeReady() throws {
        let context = try TLSContext(authorities: self.certificate)
        try Self.wait(seconds: 120, for: "the gateway to listen") {
            try self.gateway.requireRunning()
            return (try? TLSConnection(port: self.port, context)) != nil
        }
    }

    /// Stops everything and removes the folder, for the next stage to reuse.
    func end() {
        self.gateway.end()
        self.redis.end()
        try? FileManager.default.removeItem(atPath: self.folder)
    }

    /// Only one stage of this process at a time.
    private static let ownFolder = FileManager.default.temporaryDirectory
        .appendingPathComponent("enroute-instructions-\(getpid())").path

    /// Ctrl-C cleans up as well: the kernel kills the programs, and this removes the folder.
    static func tidyWhenInterrupted() -> any DispatchSourceSignal {
        signal(SIGINT, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
        source.setEventHandler {
            try? FileManager.default.removeItem(atPath: Self.ownFolder)
            _exit(130)
        }
        source.resume()
        return source
    }

    func token(_ role: String, _ person: String) throws -> String {
        try Program.run(
            [self.binary, "token", "--role", role, "--lifetime", "86400", person], in: self.folder,
            environment: self.environment
        ).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// A new connection to the gateway, for requests of this person.
    func restConnection(_ role: String, _ person: String) throws -> RESTConnection {
        let tls = try TLSConnection(port: self.port, TLSContext(authorities: self.certificate))
        return RESTConnection(tls, token: try self.token(role, person))
    }

    private static func wait(seconds: Double, for what: String, until isDone: () throws -> Bool) throws {
        let deadline = Date().addingTimeInterval(seconds)
        while try !isDone() {
            guard Date() < deadline else { throw BenchFailure("Waited \(Int(seconds)) s for \(what).") }
            Thread.sleep(forTimeInterval: 0.1)
        }
    }
}
