// The work of Redis: the commands that its nodes have counted (INFO commandstats), including those of scripts.

internal import Glibc

/// Executed commands since Redis started.
struct RedisCounts {
    var calls: [String: Int] = [:]
    /// Time in commands; that of scripts contains the time of their commands.
    var microseconds: [String: Double] = [:]

    /// - Parameter text: the answer to INFO commandstats, with a line for each command and subcommand:
    ///   `cmdstat_get:calls=3,usec=12,…`.
    mutating func add(_ text: String) {
        for line in text.split(whereSeparator: \.isNewline) where line.hasPrefix("cmdstat_") {
            let parts = line.dropFirst("cmdstat_".count).split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            let name = String(parts[0])
            for field in parts[1].split(separator: ",") {
                if field.hasPrefix("calls="), let count = Int(field.dropFirst("calls=".count)) {
                    self.calls[name, default: 0] += count
                }
                if field.hasPrefix("usec="), let time = Double(field.dropFirst("usec=".count)) {
                    self.microseconds[name, default: 0] += time
                }
            }
        }
    }

    static func - (later: Self, earlier: Self) -> Self {
        var difference = later
        for (name, count) in earlier.calls { difference.calls[name, default: 0] -= count }
        for (name, time) in earlier.microseconds { difference.microseconds[name, default: 0] -= time }
        return difference
    }
}

/// Requests the counts of one or more nodes, each over its own connection.
final class RedisCounter {
    private let nodes: [Node]
    private let loop: Loop

    /// s; a node answers within a ms unless it is saturated.
    private static let longestWait = 10.0

    init(_ endpoints: [Endpoint], loop: Loop) throws {
        self.loop = loop
        self.nodes = try endpoints.map { try Node($0, loop: loop) }
    }

    func counts() throws -> RedisCounts {
        for node in self.nodes { node.request() }
        self.loop.run(seconds: Self.longestWait) { self.nodes.contains { $0.isWaiting } }
        var counts = RedisCounts()
        for node in self.nodes {
            guard let text = node.answer else {
                throw LoadError("Redis: \(node.failure ?? "no answer to INFO commandstats")")
            }
            counts.add(text)
        }
        return counts
    }

    func close() { for node in self.nodes { node.close() } }

    private final class Node: TransportOwner {
        private var transport: Transport?
        private var bytes: [UInt8] = []
        private var isOpen = false
        private var hasRequest = false
        private(set) var answer: String?
        private(set) var failure: String?

        init(_ endpoint: Endpoint, loop: Loop) throws {
            let transport = try Transport(Dial(endpoint, tls: nil), source: 0, loop: loop)
            transport.owner = self
            self.transport = transport
        }

        var isWaiting: Bool { self.answer == nil && self.failure == nil }

        func request() {
            (self.bytes, self.answer, self.hasRequest) = ([], nil, true)
            if self.isOpen { self.send() }
        }

        private func send() {
            self.hasRequest = false
            self.transport?.write(Array("*2\r\n$4\r\nINFO\r\n$12\r\ncommandstats\r\n".utf8))
        }

        func opened() {
            self.isOpen = true
            if self.hasRequest { self.send() }
        }

        /// A bulk string: `$<length>`, line end, text, line end.
        func received(_ bytes: UnsafeMutableRawBufferPointer) {
            self.bytes.append(contentsOf: bytes)
            guard let head = self.bytes.firstRange(of: [13, 10]) else { return }
            let first = String(decoding: self.bytes[..<head.lowerBound], as: UTF8.self)
            guard first.hasPrefix("$"), let length = Int(first.dropFirst()), length >= 0 else {
                self.failure = first
                return
            }
            guard self.bytes.count >= head.upperBound + length + 2 else { return }
            self.answer = String(decoding: self.bytes[head.upperBound..<head.upperBound + length], as: UTF8.self)
        }

        func closed(_ reason: String) {
            self.transport = nil
            self.failure = self.failure ?? reason
        }

        func close() { self.transport?.close() }
    }
}

/// The work of Redis for each published location, including everything else that the gateway does.
public struct RedisFigures: Codable, Sendable {
    /// EVALSHA and EVAL.
    public var scriptsPerLocation: Double
    /// Other commands, whether scripts or the gateway execute them.
    public var commandsPerLocation: Double
    /// µs in scripts and in commands outside of them, as Redis measures it: without reading requests and writing answers.
    public var executionPerLocation: Double
    /// By command, as INFO commandstats names it.
    public var callsPerLocation: [String: Double]

    init(_ counts: RedisCounts, per locations: Int) {
        let scale = 1 / Double(max(1, locations))
        var (scripts, commands, scriptTime, time) = (0, 0, 0.0, 0.0)
        // INFO is the generator's own.
        for (name, count) in counts.calls where name != "info" && count > 0 {
            if name == "evalsha" || name == "eval" {
                scripts += count
                scriptTime += counts.microseconds[name] ?? 0
            } else {
                commands += count
                time += counts.microseconds[name] ?? 0
            }
        }
        self.scriptsPerLocation = Double(scripts) * scale
        self.commandsPerLocation = Double(commands) * scale
        // Nearly all commands run in scripts, whose time contains theirs.
        self.executionPerLocation = max(scriptTime, time) * scale
        self.callsPerLocation = counts.calls.filter { $0.key != "info" && $0.value > 0 }.mapValues {
            Double($0) * scale
        }
    }

    var lines: [String] {
        let calls = self.callsPerLocation.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            .filter { $0.value >= Self.leastListed }.map { "\($0.key) \(decimals($0.value, 2))" }
        return [
            "  Redis          \(decimals(self.scriptsPerLocation, 2)) scripts and \(decimals(self.commandsPerLocation, 1)) commands "
                + "per location, at least \(decimals(self.executionPerLocation, 1)) µs in them",
            "  Redis calls    " + calls.joined(separator: ", "),
        ]
    }

    private static let leastListed = 0.05
}
