// The work of a redis-server in a period: its commands, as `INFO commandstats` counts them, and its CPU time.
//
// Redis counts every call, from clients and from inside scripts alike, and an EVALSHA in addition to the calls of its
// script. INFO is not counted here.

import Foundation

/// Reads the counts of a stage's redis-server.
struct RedisMeter {
    private let stage: Stage

    init(_ stage: Stage) { self.stage = stage }

    func read() async throws -> RedisUse {
        let cpu = try self.cpuSeconds()
        let (folder, socket) = (self.stage.folder, self.stage.redisSocket)
        let text = try await Blocking.run {
            try Program.run(["redis-cli", "-s", socket, "INFO", "commandstats"], in: folder)
        }
        var calls: [String: Double] = [:]
        for line in text.split(whereSeparator: \.isNewline) where line.hasPrefix("cmdstat_") {
            // cmdstat_get:calls=17,usec=34,…
            let parts = line.dropFirst("cmdstat_".count).split(separator: ":", maxSplits: 1)
            let count = parts.last?.split(separator: ",").first?.split(separator: "=").last.flatMap { Double($0) }
            guard parts.count == 2, let count else { throw BenchFailure("redis-cli INFO: \(line)") }
            calls[String(parts[0])] = count
        }
        // This reading is one, too.
        calls["info"] = nil
        return RedisUse(cpuSeconds: cpu, calls: calls)
    }

    private func cpuSeconds() throws -> Double {
        var (clock, time) = (clockid_t(), timespec())
        guard clock_getcpuclockid(self.stage.redis.processID, &clock) == 0, clock_gettime(clock, &time) == 0 else {
            throw BenchFailure("The CPU time of redis-server cannot be read.")
        }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// The work of Redis. Can be subtracted and scaled, like a `Profile`.
struct RedisUse {
    fileprivate var cpuSeconds = 0.0
    /// By command.
    fileprivate var calls: [String: Double] = [:]

    static func - (one: RedisUse, other: RedisUse) -> RedisUse {
        RedisUse(
            cpuSeconds: one.cpuSeconds - other.cpuSeconds,
            calls: one.calls.merging(other.calls.mapValues { -$0 }) { $0 + $1 })
    }

    static func * (use: RedisUse, factor: Double) -> RedisUse {
        RedisUse(cpuSeconds: use.cpuSeconds * factor, calls: use.calls.mapValues { $0 * factor })
    }

    /// The names of its figures.
    static func figures(_ suffix: String) -> [String] {
        ["scripts", "commands", "microseconds"].map { "redis_\($0)_per_location_\(suffix)" }
    }

    /// The work of Redis for one location.
    func figures(_ suffix: String) -> [Figure] {
        let names = Self.figures(suffix)
        let detail = self.calls.filter { $0.value > 0.005 }.sorted { $0.value > $1.value }
            .map { "\($0.value.hundredths.rightAligned(10))  \($0.key)" }
        return [
            Figure(names[0], (self.calls["evalsha"] ?? 0) + (self.calls["eval"] ?? 0)),
            Figure(names[1], self.calls.values.reduce(0, +), detail), Figure(names[2], self.cpuSeconds * 1e6),
        ]
    }
}
