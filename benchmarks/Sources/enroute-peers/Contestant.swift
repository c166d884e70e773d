// The contestants: Enroute's binaries, the scripts in peers/, and servers that are already running.

import Foundation
import LoadEngine

/// A server that has not been started.
struct Contestant {
    enum Kind {
        /// A binary with the command line of `enroute serve`.
        case enroute(path: String)
        /// A script in peers/.
        case script(path: String, PeerDescription)
        /// It is already running, and is neither started nor stopped here.
        case running(PeerDescription)
    }
    var name: String
    var kind: Kind

    var versions: [String: String] {
        switch self.kind {
        case .enroute: [:]
        case .script(_, let description), .running(let description): description.versions ?? [:]
        }
    }

    /// The scripts of a folder that can run here, and why the others cannot.
    static func scripts(in folder: String) -> (contestants: [Contestant], leftOut: [String: String]) {
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted().filter { name in
            let path = "\(folder)/\(name)"
            var isFolder = ObjCBool(false)
            return !name.contains(".") && name != "install"
                && FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && !isFolder.boolValue
                && FileManager.default.isExecutableFile(atPath: path)
        }
        var contestants: [Contestant] = []
        var leftOut: [String: String] = [:]
        for name in names {
            let path = "\(folder)/\(name)"
            let check = Child.run([path, "check"])
            guard check.succeeded else {
                leftOut[name] = check.output.isEmpty ? "its check fails" : check.output
                continue
            }
            do {
                contestants.append(Contestant(name: name, kind: .script(path: path, try Self.description(path))))
            } catch {
                leftOut[name] = "\(error)"
            }
        }
        return (contestants, leftOut)
    }

    private static func description(_ path: String) throws -> PeerDescription {
        let (output, succeeded) = Child.run([path, "describe"])
        guard succeeded else { throw LoadError("\(path) describe failed") }
        return try JSONDecoder().decode(PeerDescription.self, from: Data(output.utf8))
    }

    /// A description in a file, with `url` and `pids`.
    static func running(_ file: String) throws -> Contestant {
        let description = try JSONDecoder().decode(
            PeerDescription.self, from: Data(contentsOf: URL(fileURLWithPath: file)))
        guard description.url != nil else { throw LoadError("\(file) has no url") }
        return Contestant(name: description.name, kind: .running(description))
    }
}

/// State shared by all contestants of a run.
final class Arena {
    let folder: String
    let loop: Loop
    let tls: TLSClient
    let cores: Cores
    let redis: Child
    let redisPort: UInt16
    private let secret: String

    var certificate: String { "\(self.folder)/certificate.pem" }
    var key: String { "\(self.folder)/key.pem" }
    var redisEndpoint: Endpoint { get throws { try Endpoint("127.0.0.1:\(self.redisPort)") } }

    init(cores: Cores) throws {
        self.cores = cores
        self.folder = NSTemporaryDirectory() + "enroute-peers-\(getpid())"
        try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
        (self.loop, self.tls) = (try Loop(), try TLSClient())
        self.secret = (0..<32).map { _ in String(UInt8.random(in: 0...255), radix: 16) }.joined() + "0123456789abcdef"
        let made = Child.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
            "-subj", "/CN=localhost", "-keyout", "\(self.folder)/key.pem", "-out", "\(self.folder)/certificate.pem",
        ])
        guard made.succeeded else { throw LoadError("openssl created no certificate") }
        self.redisPort = try Ports.freePair()
        self.redis = try Child(
            "redis-server",
            [
                "redis-server", "--port", String(self.redisPort), "--bind", "127.0.0.1", "--save", "", "--appendonly",
                "no",
                "--maxclients", "10000", "--dir", self.folder,
            ], core: cores.redis, folder: self.folder)
        try self.redis.waitUntilReady(port: self.redisPort)
    }

    func close() {
        self.redis.stop()
        try? FileManager.default.removeItem(atPath: self.folder)
    }

    /// Starts a new process.
    func start(_ contestant: Contestant) throws -> Entrant {
        let port = try Ports.freePair()
        switch contestant.kind {
        case .running(let description):
            let peer = try description.peer(port: 0, publishPort: 0, redis: self.redisEndpoint, tls: self.tls)
            return Entrant(
                child: nil, server: try description.pids.map { try ProcessGroup(contestant.name, $0) }, peer: peer)
        case .script(let path, let description):
            let child = try Child(
                contestant.name, [path, "start", String(port), String(self.redisPort), self.certificate, self.key],
                core: self.cores.server, folder: self.folder, lastWord: .terminate)
            try child.waitUntilReady(port: port, word: "ready")
            let peer = try description.peer(port: port, publishPort: port + 1, redis: self.redisEndpoint, tls: self.tls)
            return Entrant(child: child, server: try ProcessGroup(contestant.name, [child.pid]), peer: peer)
        case .enroute(let path):
            let child = try Child(
                contestant.name, [path, "serve"], environment: self.environment(port), core: self.cores.server,
                folder: self.folder)
            try child.waitUntilReady(port: port)
            let gateway = EnrouteGateway(
                name: contestant.name, dial: Dial(try Endpoint("127.0.0.1:\(port)"), tls: self.tls),
                mint: TokenMint(secret: self.secret), redis: try self.redisEndpoint)
            return Entrant(child: child, server: try ProcessGroup(contestant.name, [child.pid]), peer: gateway)
        }
    }

    private func environment(_ port: UInt16) -> [String: String] {
        let own = [
            "ENROUTE_LISTEN_HOST": "127.0.0.1", "ENROUTE_LISTEN_PORT": String(port), "ENROUTE_EVENT_LOOPS": "1",
            "ENROUTE_REDIS_LIVE_URL": "redis://127.0.0.1:\(self.redisPort)",
            "ENROUTE_TLS_CERTIFICATE_FILE": self.certificate,
            "ENROUTE_TLS_KEY_FILE": self.key, "ENROUTE_TOKEN_SECRET": self.secret, "ENROUTE_LOG_LEVEL": "warning",
            "ENROUTE_DRAIN_ACCEPT_SECONDS": "0", "ENROUTE_DRAIN_SECONDS": "0", "ENROUTE_MANAGEMENT": "off",
            "ENROUTE_MODE": "development",
        ]
        return own.merging(EnrouteGateway.unlimited) { first, _ in first }
    }
}

/// A running contestant.
struct Entrant {
    let child: Child?
    let server: ProcessGroup?
    let peer: any Measurable
}

/// The assignment of cores: the server has one to itself.
struct Cores {
    var server = 0
    var redis = 1
    var generator: Int

    init() { self.generator = ProcessInfo.processInfo.activeProcessorCount > 2 ? 2 : 1 }
}
