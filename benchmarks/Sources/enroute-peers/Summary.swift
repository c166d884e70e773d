// Medians over the rounds, by name: `enroute/one-to-one/1000/cpu_us`. Also the data needed to trust them: the spread of
// the rounds, how many messages were missing, and which core was busy.

import Foundation
import LoadEngine

/// One figure over all rounds.
struct Figure: Codable {
    var median: Double
    var min: Double
    var max: Double
    var rounds: Int

    init?(_ values: [Double]) {
        guard !values.isEmpty else { return nil }
        let sorted = values.sorted()
        let middle = sorted.count / 2
        self.median = sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
        (self.min, self.max, self.rounds) = (sorted[0], sorted[sorted.count - 1], sorted.count)
    }
}

struct Machine: Codable {
    var cores: Int
    var model: String
    var kernel: String

    init() {
        self.cores = ProcessInfo.processInfo.activeProcessorCount
        let line = Proc.text("/proc/cpuinfo")?.split(separator: "\n").first { $0.hasPrefix("model name") }
        self.model = line?.split(separator: ":").last?.trimmingCharacters(in: .whitespaces) ?? "unknown"
        self.kernel =
            Proc.text("/proc/sys/kernel/osrelease")?.trimmingCharacters(in: .whitespacesAndNewlines) ?? "unknown"
    }
}

struct Summary: Codable {
    var date: String
    var machine: Machine
    /// Of the folder in which the runner was started.
    var commit: String
    var rate: Double
    var seconds: Double
    var payload: Int
    var cipher = TLSClient.cipher
    /// In order of appearance, with their versions.
    var contestants: [String]
    var versions: [String: [String: String]]
    var leftOut: [String: String]
    var figures: [String: Figure] = [:]
    /// Warnings of the runs, by contestant and load.
    var warnings: [String: [String]] = [:]
    var failures: [String] = []
    var records: [Record]

    init(_ records: [Record], _ contestants: [Contestant], leftOut: [String: String], _ program: Program) {
        self.date = ISO8601DateFormatter().string(from: Date())
        self.machine = Machine()
        let revision = Child.run(["git", "rev-parse", "--short=12", "HEAD"])
        let isDirty = !Child.run(["git", "status", "--porcelain", "--untracked-files=no"]).output.isEmpty
        self.commit = revision.succeeded ? revision.output + (isDirty ? ", with changes" : "") : "unknown"
        (self.rate, self.seconds, self.payload) = (program.rate, program.seconds, program.payload)
        self.contestants = contestants.map(\.name)
        self.versions = Dictionary(contestants.map { ($0.name, $0.versions) }) { first, _ in first }
        (self.leftOut, self.records) = (leftOut, records)
        self.collect()
    }

    private mutating func collect() {
        var values: [String: [Double]] = [:]
        var kinds: [String: Int] = [:]
        var order: [(kind: String, name: String, warning: String)] = []
        for record in self.records {
            let name = "\(record.contestant)/\(record.work)"
            if let failure = record.failure { self.failures.append("\(name), round \(record.round): \(failure)") }
            guard let report = record.report else { continue }
            for (figure, value) in Self.figures(of: report) { values["\(name)/\(figure)", default: []].append(value) }
            for warning in report.warnings {
                // Equal except for their numbers: listed once, with the first numbers.
                let kind = "\(name) " + warning.filter { !$0.isNumber }
                if kinds[kind] == nil { order.append((kind, name, warning)) }
                kinds[kind, default: 0] += 1
            }
        }
        for (kind, name, warning) in order {
            let rounds = kinds[kind]! > 1 ? " (and in \(kinds[kind]! - 1) more rounds)" : ""
            self.warnings[name, default: []].append(warning + rounds)
        }
        self.figures = values.compactMapValues { Figure($0) }
    }

    private static func figures(of report: Report) -> [(String, Double)] {
        var figures: [(String, Double)] = []
        for cpu in report.cpu {
            if cpu.name == CPUFigures.others {
                figures.append(("others_core_percent", cpu.corePercent))
                continue
            }
            let prefix = cpu.name == "redis" || cpu.name == "generator" ? cpu.name + "_" : ""
            figures += [
                ("\(prefix)cpu_us", cpu.total), ("\(prefix)user_us", cpu.user), ("\(prefix)system_us", cpu.system),
                (prefix.isEmpty ? "server_core_percent" : "\(prefix)core_percent", cpu.corePercent),
            ]
        }
        if let latency = report.latency {
            figures += [
                ("p50_ms", latency.p50), ("p99_ms", latency.p99), ("p999_ms", latency.p999), ("max_ms", latency.max),
            ]
        }
        if let messages = report.messages {
            figures += [("missing", Double(messages.missing)), ("disordered", Double(messages.disordered))]
        }
        if let memory = report.memory { figures.append(("kb_per_connection", memory.residentKBPerConnection)) }
        if let cpu = report.opening?.cpu { figures.append(("opening_cpu_us", cpu)) }
        if let handshakes = report.handshakes {
            figures += [("per_second", handshakes.perSecond), ("resumed", Double(handshakes.resumed))]
        }
        return figures
    }

    func figure(_ contestant: String, _ work: String, _ name: String) -> Figure? {
        self.figures["\(contestant)/\(work)/\(name)"]
    }

    var works: [String] {
        var works: [String] = []
        for record in self.records where !works.contains(record.work) && record.report != nil {
            works.append(record.work)
        }
        return works
    }

    func write(to folder: String, name: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try encoder.encode(self).write(to: URL(fileURLWithPath: "\(folder)/\(name).json"))
        try Data(self.markdown.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name).md"))
    }
}
