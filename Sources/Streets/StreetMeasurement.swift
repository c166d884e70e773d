// Measures a compiled file: how much CPU time routes between random places take. `enroute streets measure` prints the result.

package import EnrouteWire

#if canImport(Glibc)
    private import Glibc
#else
    private import Darwin
#endif

/// The CPU time of routes.
package struct StreetMeasurement: Sendable, Hashable {
    /// Routes that were found, and pairs of places without one.
    package var found = 0
    package var missing = 0
    /// CPU time of all queries in ms, ascending.
    package var milliseconds: [Double] = []

    /// - Parameter share: 0.5 for the median.
    package func quantile(_ share: Double) -> Double {
        guard !self.milliseconds.isEmpty else { return 0 }
        let last = self.milliseconds.count - 1
        return self.milliseconds[min(last, max(0, Int((Double(last) * share).rounded())))]
    }
}

extension StreetNetwork {
    /// Searches routes between the ends of random edges, one after the other. The same seed gives the same routes.
    ///
    /// - Parameter queries: 1 or more.
    package func measure(queries: Int, by vehicle: Vehicle?, seed: UInt64 = 1) -> StreetMeasurement {
        var state = seed
        func randomPlace() -> Coordinate? {
            // SplitMix64
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = state
            value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            value ^= value >> 31
            let edge = Int(value % UInt64(self.graph.streetCount))
            return self.graph.point(on: edge, metersAlong: self.graph.meters(of: edge) / 3).coordinate
        }
        var result = StreetMeasurement()
        for _ in 0..<queries {
            guard let from = randomPlace(), let to = randomPlace() else { continue }
            let start = Self.cpuMilliseconds
            let route = self.route(through: [from, to], by: vehicle)
            result.milliseconds.append(Self.cpuMilliseconds - start)
            if route == nil { result.missing += 1 } else { result.found += 1 }
        }
        result.milliseconds.sort()
        return result
    }

    /// The CPU time of this thread, which other work of the machine does not change.
    private static var cpuMilliseconds: Double {
        var time = timespec()
        guard clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0 else { return 0 }
        return Double(time.tv_sec) * 1e3 + Double(time.tv_nsec) / 1e6
    }
}
