// The time of day, asked for in one place, so that a search finds everything that depends on it.

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension Int64 {
    /// ms since the epoch, by this machine's clock.
    package static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
