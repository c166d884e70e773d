// The cost of processes: CPU time (exact, from the process CPU clock), its split into user and system (by the kernel's ticks,
// from /proc), and memory.

internal import Glibc

/// A process and its children: nginx is a master and its workers.
public struct ProcessGroup: Sendable {
    public let name: String
    public let pids: [Int32]

    public init(_ name: String, _ pids: [Int32]) throws {
        self.name = name
        self.pids = pids.flatMap { [$0] + Self.descendants(of: $0) }
        for pid in self.pids where Proc.text("/proc/\(pid)/stat") == nil {
            throw LoadError("\(name): there is no process \(pid)")
        }
    }

    private init(alone pid: Int32, _ name: String) { (self.name, self.pids) = (name, [pid]) }

    /// The generator without its children: the runner is the parent of all peers.
    static var own: ProcessGroup { ProcessGroup(alone: getpid(), "generator") }

    private static func descendants(of pid: Int32) -> [Int32] {
        Proc.names(in: "/proc/\(pid)/task").flatMap { task in
            (Proc.text("/proc/\(pid)/task/\(task)/children") ?? "").split(separator: " ").compactMap { Int32($0) }
        }.flatMap { [$0] + Self.descendants(of: $0) }
    }

    public var isAlive: Bool { self.pids.allSatisfy { Proc.text("/proc/\($0)/stat") != nil } }
    /// CPU time so far.
    public var cpu: CPUTime { self.pids.reduce(into: CPUTime()) { $0 += CPUTime(of: $1) } }
    /// Current memory.
    public var memory: Memory { self.pids.reduce(into: Memory()) { $0 += Memory(of: $1) } }
}

/// Time on CPUs, in s.
public struct CPUTime: Sendable {
    /// By the kernel's clock ticks of 10 ms.
    public var user = 0.0
    public var system = 0.0
    /// Time its threads ran, including ended ones, according to the scheduler, in ns.
    public var scheduled = 0.0

    init() {}

    init(of pid: Int32) {
        // The name in parentheses may contain spaces; the rest does not.
        let stat = Proc.text("/proc/\(pid)/stat") ?? ""
        let fields = stat[(stat.lastIndex(of: ")") ?? stat.startIndex)...].split(separator: " ")
        let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
        if fields.count > 13 {
            self.user = (Double(fields[12]) ?? 0) / ticks
            self.system = (Double(fields[13]) ?? 0) / ticks
        }
        var clock = clockid_t()
        var time = timespec()
        if clock_getcpuclockid(pid, &clock) == 0, clock_gettime(clock, &time) == 0 {
            self.scheduled = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
    }

    static func += (sum: inout Self, time: Self) {
        sum.user += time.user
        sum.system += time.system
        sum.scheduled += time.scheduled
    }

    public static func - (later: Self, earlier: Self) -> Self {
        var difference = later
        difference.user -= earlier.user
        difference.system -= earlier.system
        difference.scheduled -= earlier.scheduled
        return difference
    }
}

extension CPUTime {
    /// Of the whole machine: all time that was not idle, in `scheduled`; by ticks.
    static var machine: CPUTime {
        var time = CPUTime()
        let line = Proc.text("/proc/stat")?.split(separator: "\n").first ?? ""
        // user nice system idle iowait irq softirq steal: all except the fourth and fifth.
        let fields = line.split(separator: " ").dropFirst().prefix(8).compactMap { Double($0) }
        guard fields.count == 8 else { return time }
        time.scheduled = (fields.reduce(0, +) - fields[3] - fields[4]) / Double(sysconf(Int32(_SC_CLK_TCK)))
        return time
    }
}

/// Memory in KB, from smaps_rollup, without the kernel's memory for sockets.
public struct Memory: Sendable, Codable {
    public var residentKB = 0
    /// Pages shared with other processes count in proportion.
    public var proportionalKB = 0
    /// The maximum so far.
    public var peakKB = 0

    init() {}

    init(of pid: Int32) {
        for line in (Proc.text("/proc/\(pid)/status") ?? "").split(separator: "\n") where line.hasPrefix("VmHWM:") {
            self.peakKB = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0
        }
        for line in (Proc.text("/proc/\(pid)/smaps_rollup") ?? "").split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count == 3, let kilobytes = Int(fields[1]) else { continue }
            if fields[0] == "Rss:" { self.residentKB = kilobytes }
            if fields[0] == "Pss:" { self.proportionalKB = kilobytes }
        }
    }

    static func += (sum: inout Self, memory: Self) {
        sum.residentKB += memory.residentKB
        sum.proportionalKB += memory.proportionalKB
        sum.peakKB += memory.peakKB
    }
}

/// Small files of /proc.
public enum Proc {
    public static func text(_ path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4096)
        while case let count = fread(&part, 1, part.count, file), count > 0 { bytes += part[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }
}
