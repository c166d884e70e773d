// The wall clock. All code reads it here, so a search finds everything that depends on the time of day.

internal import FoundationEssentials
package import NIOCore

/// The wall clock of this machine.
package enum WallClock {
    /// Milliseconds since the Unix epoch.
    package static var nowMilliseconds: Int64 { Int64(Date.now.timeIntervalSince1970 * 1000) }
}

extension TimeAmount {
    /// Returns the time from now until a point in time, or zero if that has passed or is too far away to represent.
    ///
    /// - Parameter moment: milliseconds since the Unix epoch; any value is allowed.
    package static func until(_ moment: Int64) -> TimeAmount {
        let (left, isAbsurd) = moment.subtractingReportingOverflow(WallClock.nowMilliseconds)
        return isAbsurd ? .zero : .milliseconds(max(0, left))
    }
}
