// The time of day, asked for in one place, so that a search finds everything that depends on it.

internal import FoundationEssentials
package import NIOCore

extension Int64 {
    /// ms since the epoch, by this machine's clock.
    package static var now: Int64 { Int64(Date.now.timeIntervalSince1970 * 1000) }
}

extension TimeAmount {
    /// From now until a time of day, which may be any number at all; none once it has passed.
    ///
    /// - Parameter moment: ms since the epoch.
    package static func until(_ moment: Int64) -> TimeAmount {
        let (left, isAbsurd) = moment.subtractingReportingOverflow(.now)
        return isAbsurd ? .zero : .milliseconds(max(0, left))
    }
}
