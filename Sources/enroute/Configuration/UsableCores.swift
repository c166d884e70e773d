// How many processor cores the process may use. Containers, systemd and taskset permit fewer than the machine has.

internal import Foundation
internal import NIOCore

enum UsableCores {
    /// The number of cores: those of the CPU affinity, or fewer if the container has a CPU quota (rounded up).
    static var count: Int {
        let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        return max(1, min(status.flatMap(Self.affinity) ?? .max, NIOCore.System.coreCount))
    }

    /// Returns the number of cores in the CPU affinity, from which the kernel removes cores outside of the cpuset.
    ///
    /// - Parameter status: the contents of `/proc/self/status`, where the affinity is a hexadecimal mask.
    static func affinity(in status: String) -> Int? {
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("Cpus_allowed:") }) else {
            return nil
        }
        return line.drop { $0 != ":" }.reduce(0) { $0 + ($1.hexDigitValue ?? 0).nonzeroBitCount }
    }
}
