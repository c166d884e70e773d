// The results of one run, as JSON and as readable lines.

/// CPU of one process group in the measured window.
public struct CPUFigures: Codable, Sendable {
    public var name: String
    /// µs per delivered message; per handshake, or per connection and second, if there are no messages.
    public var user: Double
    public var system: Double
    /// According to the scheduler; user and system are its parts, by the kernel's ticks.
    public var total: Double
    /// Of one core, in %.
    public var corePercent: Double

    /// The name for everything else that ran on the machine.
    public static let others = "others"

    init(_ name: String, _ time: CPUTime, per count: Int, seconds: Double) {
        let scale = 1e6 / Double(max(1, count))
        let ticks = time.user + time.system
        // The split by ticks of 10 ms, applied to the exact sum.
        let share = ticks > 0 ? time.scheduled / ticks : 0
        self.name = name
        self.user = time.user * share * scale
        self.system = time.system * share * scale
        self.total = time.scheduled * scale
        self.corePercent = time.scheduled / seconds * 100
    }
}

/// Latency in ms, from the scheduled time of a message to its receipt.
public struct LatencyFigures: Codable, Sendable {
    public var p50 = 0.0
    public var p95 = 0.0
    public var p99 = 0.0
    public var p999 = 0.0
    public var max = 0.0
    public var count = 0
}

public struct MessageFigures: Codable, Sendable {
    /// Messages that followers should have received, and did.
    public var expected = 0
    public var delivered = 0
    public var missing = 0
    public var disordered = 0
    /// Measured messages that took more than 2 s.
    public var late = 0
    /// Messages that reached followers within the measured window, per second.
    public var deliveredPerSecond = 0.0
    /// How late the generator itself was, ms.
    public var publishLatenessP99 = 0.0
    /// Published but not confirmed when the run ended.
    public var unconfirmed = 0
}

public struct HandshakeFigures: Codable, Sendable {
    public var perSecond = 0.0
    public var count = 0
    public var failed = 0
    /// Of those requested.
    public var resumed = 0
    public var asked = 0
    public var p50 = 0.0
    public var p99 = 0.0
}

public struct MemoryFigures: Codable, Sendable {
    public var before: Memory
    public var after: Memory
    public var residentKBPerConnection: Double
    public var proportionalKBPerConnection: Double

    init(before: Memory, after: Memory, connections: Int) {
        // The difference between two counts of connections, so that one-time allocations are excluded.
        (self.before, self.after) = (before, after)
        self.residentKBPerConnection = Double(after.residentKB - before.residentKB) / Double(connections)
        self.proportionalKBPerConnection = Double(after.proportionalKB - before.proportionalKB) / Double(connections)
    }
}

/// Connections from `connect` to "subscribed": TLS, sign-in, subscription.
public struct OpeningFigures: Codable, Sendable {
    public var perSecond: Double
    /// µs of the server's CPU time for each; `nil` without its process id.
    public var cpu: Double?
}

public struct Report: Codable, Sendable {
    public var target: String
    public var mode: String
    public var connections: Int
    public var perSecond: Double
    public var seconds: Double
    public var latency: LatencyFigures?
    public var messages: MessageFigures?
    public var handshakes: HandshakeFigures?
    public var memory: MemoryFigures?
    public var slow: SlowFigures?
    public var opening: OpeningFigures?
    /// Of a scene.
    public var scene: SceneFigures?
    /// The work of Redis for each published location.
    public var redis: RedisFigures?
    /// The server's first, then those of Redis and the generator.
    public var cpu: [CPUFigures] = []
    /// Connections lost after they were subscribed, by close code or reason.
    public var closeCodes: [String: Int] = [:]
    public var losses: [String: Int] = [:]
    /// Remarks that affect the interpretation.
    public var warnings: [String] = []

    init(_ target: String, _ mode: String, connections: Int, perSecond: Double = 0, seconds: Double = 0) {
        (self.target, self.mode, self.connections) = (target, mode, connections)
        (self.perSecond, self.seconds) = (perSecond, seconds)
    }

    /// From here on a core counts as saturated, in %: latencies are then the length of a queue.
    static let saturation = 90.0

    /// The limit for other load during a measurement.
    static let disturbance = 15.0

    private func core(_ name: String) -> Double { self.cpu.first { $0.name == name }?.corePercent ?? 0 }

    mutating func judge() {
        for cpu in self.cpu where cpu.name != CPUFigures.others && cpu.corePercent > Self.saturation {
            let of = cpu.name == "generator" ? ", so the latencies are invalid" : ""
            self.warnings.append("\(cpu.name) used \(Int(cpu.corePercent)) % of a core\(of)")
        }
        let (redis, generator) = (self.core("redis"), self.core("generator"))
        if redis > 5, generator <= Self.saturation, redis + generator > Self.saturation {
            self.warnings.append(
                "generator and Redis used \(Int(redis + generator)) % together: if they share a core, it was saturated")
        }
        if self.core(CPUFigures.others) > Self.disturbance {
            self.warnings.append(
                "other processes used \(Int(self.core(CPUFigures.others))) % of a core: run nothing beside a measurement"
            )
        }
        if let messages {
            if messages.missing > 0 { self.warnings.append("\(messages.missing) messages missing") }
            if messages.disordered > 0 { self.warnings.append("\(messages.disordered) messages out of order") }
            if messages.late > 0 { self.warnings.append("\(messages.late) messages took more than 2 s") }
            if messages.publishLatenessP99 > 5 {
                self.warnings.append(
                    "the generator published up to \(decimals(messages.publishLatenessP99, 1)) ms late (p99)")
            }
            if messages.unconfirmed > 0 { self.warnings.append("\(messages.unconfirmed) publications unconfirmed") }
        }
        if self.mode == "idle", let before = self.memory?.before, before.peakKB > before.residentKB + 2000 {
            self.warnings.append(
                "the server had \(before.peakKB) KB before: only one started afresh says what a connection takes")
        }
        if let handshakes, handshakes.failed > 0 { self.warnings.append("\(handshakes.failed) handshakes failed") }
        let lost = self.losses.values.reduce(0, +) + self.closeCodes.values.reduce(0, +)
        if lost > 0 { self.warnings.append("\(lost) connections lost") }
    }
}

extension Report: CustomStringConvertible {
    public var description: String {
        var lines = ["\(self.target), \(self.mode), \(self.connections) connections"]
        if self.perSecond > 0 {
            lines[0] += ", \(decimals(self.perSecond, 0)) messages/s for \(decimals(self.seconds, 0)) s"
        }
        if let latency {
            lines.append(
                "  latency ms     p50 \(decimals(latency.p50, 3))  p95 \(decimals(latency.p95, 3))  p99 \(decimals(latency.p99, 3))  "
                    + "p99.9 \(decimals(latency.p999, 3))  max \(decimals(latency.max, 3))")
        }
        if let messages {
            lines.append(
                "  messages       delivered \(messages.delivered) of \(messages.expected), "
                    + "\(decimals(messages.deliveredPerSecond, 0))/s, missing \(messages.missing), "
                    + "out of order \(messages.disordered), late \(messages.late)")
        }
        if let handshakes {
            lines.append(
                "  handshakes     \(decimals(handshakes.perSecond, 0))/s, \(handshakes.count) done, "
                    + "\(handshakes.failed) failed, \(handshakes.resumed) of \(handshakes.asked) resumed, "
                    + "p50 \(decimals(handshakes.p50, 2)) ms, p99 \(decimals(handshakes.p99, 2)) ms")
        }
        if let memory {
            lines.append(
                "  memory         \(decimals(memory.residentKBPerConnection, 1)) KB per connection (RSS), "
                    + "\(decimals(memory.proportionalKBPerConnection, 1)) KB (PSS); \(memory.after.residentKB) KB in total"
            )
        }
        if let opening {
            let cpu = opening.cpu.map { ", \(decimals($0, 0)) µs of server CPU each" } ?? ""
            lines.append("  opening        \(decimals(opening.perSecond, 0)) connections/s\(cpu)")
        }
        lines += self.scene?.lines ?? []
        let per =
            self.scene != nil
            ? "location" : self.handshakes != nil ? "handshake" : self.messages != nil ? "message" : "connection and s"
        for cpu in self.cpu where cpu.name != CPUFigures.others {
            let name = "CPU \(cpu.name)"
            lines.append(
                "  \(name)\(String(repeating: " ", count: max(1, 15 - name.count)))"
                    + "\(decimals(cpu.total, 2)) µs per \(per) (user \(decimals(cpu.user, 2)), "
                    + "system \(decimals(cpu.system, 2))), \(decimals(cpu.corePercent, 0)) % of a core")
        }
        lines += self.redis?.lines ?? []
        if let slow {
            let ends = (slow.closeCodes.map { "\($1) closed with \($0)" } + slow.losses.map { "\($1): \($0)" }).sorted()
            lines.append(
                "  slow           \(slow.stillFollowing) of \(slow.connections) still follow; "
                    + (ends.isEmpty ? "none was disconnected" : ends.joined(separator: ", "))
                    + (slow.residentKBPerConnection.map { ", \(decimals($0, 1)) KB each at the end" } ?? ""))
        }
        for (code, count) in self.closeCodes.sorted(by: { $0.key < $1.key }) {
            lines.append("  closed         \(count) with \(code)")
        }
        for (reason, count) in self.losses.sorted(by: { $0.key < $1.key }) {
            lines.append("  lost           \(count): \(reason)")
        }
        for warning in self.warnings { lines.append("  WARNING        \(warning)") }
        return lines.joined(separator: "\n")
    }
}

/// A number with a fixed number of decimals.
public func decimals(_ value: Double, _ count: Int) -> String {
    guard value.isFinite else { return "-" }
    let scale = (0..<count).reduce(1.0) { scale, _ in scale * 10 }
    let scaled = Int((abs(value) * scale).rounded())
    let sign = value < 0 && scaled > 0 ? "-" : ""
    guard count > 0 else { return "\(sign)\(scaled)" }
    let digits = String(scaled % Int(scale))
    return "\(sign)\(scaled / Int(scale)).\(String(repeating: "0", count: count - digits.count))\(digits)"
}
