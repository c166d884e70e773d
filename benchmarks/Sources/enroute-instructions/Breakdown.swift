// Where the instructions are spent: by kind of code, by step of the hot path, and by function.
//
// Kinds are derived from the library and, within the gateway, from the module in the mangled name. Debian's libssl and
// libcrypto name only exported functions; the rest are addresses.

/// The kind of code of a function.
enum Kind: String, CaseIterable {
    case libcrypto = "libcrypto (AES-GCM and the code around it)"
    case libssl = "libssl"
    case boringSSL = "BoringSSL (the twin's)"
    case nio = "NIO"
    case nioSSL = "NIOSSL"
    case gateway = "Realtime, Fanout and neighbours"
    case secureSocket = "SecureSocket"
    case redis = "Redis, LiveState, hiredis"
    case wire = "EnrouteWire, Access"
    case counting = "retain and release"
    case exclusivity = "exclusivity checks"
    case swift = "Swift's library and runtime"
    case memory = "malloc and free"
    case copying = "memcpy, strcmp and similar"
    case systemCalls = "system calls"
    case redisServer = "redis-server"
    case lua = "Lua"
    case other = "other"

    init(_ function: Function) {
        let name = function.name
        func named(_ parts: [String]) -> Bool { parts.contains { name.contains($0) } }
        switch function.object {
        case let object where object.hasPrefix("libcrypto"): self = .libcrypto
        case let object where object.hasPrefix("libssl"): self = .libssl
        case let object where object.hasPrefix("libhiredis"): self = .redis
        // Swift's runtime, linked into the gateway or not.
        case let object where Self.isSwift(object) && named(Self.countingNames): self = .counting
        case let object where Self.isSwift(object) && named(Self.exclusivityNames): self = .exclusivity
        // Swift's runtime uses it to find the accesses of a thread, and it has few other callers.
        case let object where object.hasPrefix("ld-linux") && name == "__tls_get_addr": self = .exclusivity
        case let object where object.hasPrefix("libswift"): self = .swift
        case let object where object.hasPrefix("libc."):
            self =
                named(["malloc", "free", "calloc", "realloc", "unlink_chunk", "memalign"])
                ? .memory
                : named(["memcpy", "memmove", "memset", "memcmp", "strcmp", "strlen"])
                    ? .copying
                    : named(["send", "recv", "read", "write", "epoll", "syscall", "timerfd"]) ? .systemCalls : .other
        case "enroute":
            let modules: [(Kind, [String])] = [
                (.boringSSL, ["BoringSSL", "bssl", "gcm_", "aesni", "vaes"]), (.nioSSL, ["$s6NIOSSL"]),
                (.nio, ["$s7NIOCore", "$s8NIOPosix", "$s11NIOEmbedded", "$s8NIOHTTP1", "$s12NIOWebSocket"]),
                (.nio, ["CNIO", "$s15CNIO", "DequeModule", "Atomics"]), (.secureSocket, ["$s12SecureSocket"]),
                (.gateway, ["$s8Realtime", "$s7Gateway", "$s6Fanout", "$s9WebSocket", "$s14TrafficControl"]),
                (.gateway, ["$s3ETA", "$s4Jobs", "$s10HTTPValues", "$s8Tracking", "$s7HotPath"]),
                (.redis, ["$s5Redis", "$s9LiveState"]),
                (.wire, ["$s11EnrouteWire", "$s6Access"]), (.swift, ["$sS", "$ss", "swift_"]),
            ]
            self = modules.first { $0.1.contains { name.contains($0) } }?.0 ?? .other
        case let object where object.hasPrefix("redis-"): self = .redisServer
        case let object where object.hasPrefix("liblua"): self = .lua
        default: self = .other
        }
    }

    private static func isSwift(_ object: String) -> Bool { object == "enroute" || object.hasPrefix("libswift") }
    private static let countingNames = [
        "swift_retain", "swift_release", "RefCount", "swift_bridgeObject", "swift_weak", "swift_unowned",
    ]
    private static let exclusivityNames = ["swift_beginAccess", "swift_endAccess", "AccessSet", "SwiftTLSContext"]
}

/// A step of the hot path, identified by a part of its demangled name; if several match, the most expensive one. Code that the
/// compiler inlined into its caller is not found.
private let places = [
    ("1 a frame off the socket", "Session.channelRead"), ("3 rate, grant", "RiderSession.report"),
    ("2 bytes to a value", "ClientMessage.init"), ("5 to Redis", "LocationPublisher.publish"),
    ("6 the script: in Redis, not counted", nil), ("7 from Redis", "RESPReader.consume"),
    ("8 frame, followers", "LoopRelay.relayFeed"), ("9 one follower", "FollowedJob.offerPosition"),
    ("9 its session", "Session.send(_:_:"), ("10 TLS and send", "SecureSocketHandler.writeNow"),
    ("  encrypt (ours)", "TLSConnection.write"), ("  a record (ours)", "RecordWriter.seal"),
    ("  SSL_write", "SSL_write"),
    ("  AES-GCM, of that", "CRYPTO_gcm128"), ("  NIOSSL (the twin's)", "NIOSSLHandler.doUnbufferActions"),
    ("  NIO's write path (the twin's)", "writeAndFlush0"),
]

/// A profile as text.
struct Breakdown {
    let profile: Profile
    /// Demangled, by function.
    private let names: [Function: String]

    init(_ profile: Profile, _ names: [Function: String]) {
        (self.profile, self.names) = (profile, names)
    }

    func kinds() -> [String] {
        var sums: [Kind: Double] = [:]
        for (function, count) in self.profile.own { sums[Kind(function), default: 0] += count }
        return sums.filter { $0.value >= 0.5 }.sorted { $0.value > $1.value }
            .map { Self.line($0.value, $0.key.rawValue) }
    }

    func steps() -> [String] {
        places.compactMap { title, part in
            guard let part else { return title.leftAligned(38) }
            let found = self.profile.inclusive.filter { self.name($0.key).contains(part) }
            // AES-GCM is several independent functions; in all other cases one calls the next.
            let count =
                part == "CRYPTO_gcm128" ? found.values.reduce(0, +) : found.values.max() ?? 0
            return count < 10 ? nil : "\(title.leftAligned(38))\(count.grouped.rightAligned(10))   \(part)"
        }
    }

    func top(_ count: Int, inclusive: Bool = false) -> [String] {
        (inclusive ? self.profile.inclusive : self.profile.own).sorted { $0.value > $1.value }.prefix(count)
            .filter { $0.value >= 0.5 }.map { Self.line($0.value, "\($0.key.object)  \(self.name($0.key))") }
    }

    /// Everything about a figure, as text.
    static func report(_ figure: Figure, in folder: String) -> String {
        var lines = ["\(figure.name): \(figure.value.figure)", ""] + figure.detail
        if let profile = figure.profile {
            let breakdown = Breakdown(profile, Self.names(of: profile, in: folder))
            lines += ["  by kind of code"] + breakdown.kinds()
            lines += ["", "  by step, including callees"] + breakdown.steps().map { "  " + $0 }
            lines += ["", "  by function"] + breakdown.top(Self.functions)
            lines += ["", "  by function, including callees"] + breakdown.top(Self.functions, inclusive: true)
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Functions of a list.
    private static let functions = 200

    private func name(_ function: Function) -> String { self.names[function] ?? function.name }

    private static func line(_ count: Double, _ text: String) -> String {
        "\(count.grouped.rightAligned(10))  \(text.prefix(180))"
    }

    /// Demangled names, or the mangled ones without `swift`.
    static func names(of profile: Profile, in folder: String) -> [Function: String] {
        let functions = Array(profile.inclusive.keys)
        let mangled = functions.map(\.name).joined(separator: "\n")
        guard let demangled = try? Program.run(["swift", "demangle", "--simplified"], in: folder, input: mangled) else {
            return [:]
        }
        let lines = demangled.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard lines.count >= functions.count else { return [:] }
        return Dictionary(uniqueKeysWithValues: zip(functions, lines))
    }
}
