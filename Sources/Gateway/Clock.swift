// The time of day, asked for in one place, so that a search finds everything that depends on it.

internal import FoundationEssentials

extension Int64 {
    /// ms since the epoch, by this machine's clock.
    package static var now: Int64 { Int64(Date.now.timeIntervalSince1970 * 1000) }
}
