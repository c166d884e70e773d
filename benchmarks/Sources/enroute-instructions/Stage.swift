// Everything that a measurement needs, in a temporary folder: a redis-server, a certificate, tokens, and the gateway under
// callgrind. Nothing remains afterwards.
//
// The gateway's settings differ from the defaults only where these would distort the count:
// - one event loop, so that a location stays on one thread;
// - no limit on how often a rider reports and how many followers come from one address, and no pings: everything comes from
//   here, as fast as callgrind permits;
// - the same seed for Swift's hashing in every run.
//
// Two workarounds are needed for valgrind 3.19 of Debian 12. It cannot read the DWARF 5 that Swift writes, so the gateway runs
// without debug information; function names remain. And it crashes in `sigsuspend`, because it writes to the caller's mask,
// which libdispatch stores in read-only memory; so a `sigsuspend` that copies the mask is preloaded.

import Foundation

final class Stage: Sendable {
    let folder: String
    let url: String
    let certificate: String
    let callgrind: Callgrind
    private let binary: String
    private let redis: KeptProgram
    private let gateway: KeptProgram
    private let environment: [String: String]
    private let rest: String

    static let job = "measured-job"
    static let rider = "rider-1"
    static let customer = "customer-1"

    /// Starts everything, until `end`. Call it on the main thread.
    ///
    /// - Parameter gateway: path of `enroute`, a release build.
    init(gateway path: String) throws {
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw BenchFailure("\(path) is not a program. Build it with: swift build -c release --product enroute")
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

        let socket = "\(folder)/redis.sock"
        let redis = try Program.keep(
            ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no"]
                + ["--dir", folder], log: "\(folder)/redis.log", environment: [:])
        try Self.wait(seconds: 10, for: "redis-server's socket") {
            try redis.requireRunning()
            return FileManager.default.fileExists(atPath: socket)
        }

        self.redis = redis
        let port = try Self.freePort()
        self.url = "wss://127.0.0.1:\(port)"
        self.rest = "https://127.0.0.1:\(port)/api/v1"
        self.environment = [
            "ENROUTE_TOKEN_SECRET": UUID().uuidString, "ENROUTE_REDIS_LIVE_URL": "unix:\(socket)",
            "ENROUTE_MODE": "development",
            "ENROUTE_TLS_CERTIFICATE_FILE": self.certificate, "ENROUTE_TLS_KEY_FILE": "\(folder)/key.pem",
            "ENROUTE_LISTEN_HOST": "127.0.0.1", "ENROUTE_LISTEN_PORT": "\(port)", "ENROUTE_EVENT_LOOPS": "1",
            "ENROUTE_MANAGEMENT": "off",
            "ENROUTE_LIMIT_POSITIONS_PER_SECOND": "1000", "ENROUTE_LIMIT_POSITIONS_BURST": "1000",
            "ENROUTE_LIMIT_MESSAGES_PER_SECOND": "100000", "ENROUTE_LIMIT_MESSAGES_BURST": "100000",
            "ENROUTE_LIMIT_MESSAGES_PER_PERSON_PER_SECOND": "100000",
            "ENROUTE_LIMIT_MESSAGES_PER_PERSON_BURST": "100000",
            "ENROUTE_LIMIT_MESSAGES_PER_ADDRESS_PER_SECOND": "100000",
            "ENROUTE_LIMIT_MESSAGES_PER_ADDRESS_BURST": "100000",
            "ENROUTE_LIMIT_SESSIONS_PER_PERSON": "0", "ENROUTE_LIMIT_SESSIONS_PER_ADDRESS": "0",
            "ENROUTE_LIMIT_CONNECTIONS_PER_ADDRESS": "0", "ENROUTE_LIMIT_PING_INTERVAL_SECONDS": "3600",
            "ENROUTE_LIMIT_TLS_HANDSHAKE_SECONDS": "60", "ENROUTE_LIMIT_REQUEST_HEAD_SECONDS": "60",
            "ENROUTE_OVERLOAD_LOOP_LAG_MS": "60000", "SWIFT_DETERMINISTIC_HASHING": "1",
        ]
        let shim = try Self.sigsuspend(in: folder)
        self.gateway = try Program.keep(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=\(folder)/callgrind.out", self.binary, "serve"],
            log: "\(folder)/gateway.log", environment: self.environment.merging(["LD_PRELOAD": shim]) { $1 })
        self.callgrind = Callgrind(processID: self.gateway.processID, folder: folder)
        isComplete = true
    }

    /// Stops everything and removes the folder, for the next stage to reuse.
    func end() {
        self.gateway.end()
        self.redis.end()
        try? FileManager.default.removeItem(atPath: self.folder)
    }

    /// Only one stage at a time.
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

    /// Waits for the gateway and creates the job in a status in which its rider may switch travel mode on.
    func createJob() throws {
        let service = try self.token("service", "orders")
        let job = #"{"job":"\#(Self.job)","kind":"service","customer":"\#(Self.customer)","rider":"\#(Self.rider)"}"#
        // The gateway listens once it is connected to Redis.
        try Self.wait(seconds: 90, for: "the gateway under callgrind to listen") {
            try self.gateway.requireRunning()
            return (try? self.post("jobs", job, service)) != nil
        }
        try self.post("jobs/\(Self.job)/status", #"{"status":"on_the_way"}"#, service)
    }

    func token(_ role: String, _ person: String) throws -> String {
        try Program.run(
            [self.binary, "token", "--role", role, "--lifetime", "86400", person], in: self.folder,
            environment: self.environment
        ).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func post(_ path: String, _ body: String, _ token: String) throws {
        try Program.run(
            ["curl", "--silent", "--show-error", "--fail-with-body", "--max-time", "20", "--cacert", self.certificate]
                + ["--header", "Authorization: Bearer \(token)", "--data", body, "\(self.rest)/\(path)"],
            in: self.folder)
    }

    private static func wait(seconds: Double, for what: String, until isDone: () throws -> Bool) throws {
        let deadline = Date().addingTimeInterval(seconds)
        while try !isDone() {
            guard Date() < deadline else { throw BenchFailure("Waited \(Int(seconds)) s for \(what).") }
            Thread.sleep(forTimeInterval: 0.1)
        }
    }

    private static func sigsuspend(in folder: String) throws -> String {
        let source = """
            #define _GNU_SOURCE
            #include <signal.h>
            #include <sys/syscall.h>
            #include <unistd.h>
            int sigsuspend(const sigset_t *mask) {
                sigset_t copy = *mask;
                return syscall(SYS_rt_sigsuspend, &copy, _NSIG / 8);
            }

            """
        try Data(source.utf8).write(to: URL(fileURLWithPath: "\(folder)/sigsuspend.c"))
        let library = "\(folder)/sigsuspend.so"
        try Program.run(["clang", "-shared", "-fPIC", "-o", library, "\(folder)/sigsuspend.c"], in: folder)
        return library
    }

    /// A port that was just free.
    private static func freePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isBound else { throw BenchFailure("No free port on 127.0.0.1.") }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
