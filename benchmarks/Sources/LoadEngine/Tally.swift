// What the followers saw: how late, how much, and what was missing.

public import Histogram

/// Counts of one run. A message counts when it reaches a follower; latency is from the time it was scheduled for.
public struct Tally {
    /// ns; only messages that are measured.
    public var latency = Histogram<UInt64>(
        lowestDiscernibleValue: 1000, highestTrackableValue: 120_000_000_000, numberOfSignificantValueDigits: .three)
    /// Messages that reached a follower, measured or not.
    public var delivered = 0
    /// Messages that came after a later one of the same job.
    public var disordered = 0
    /// Bytes of payload.
    public var deliveredBytes = 0
    /// Messages that are neither about subscribing nor published ones.
    public var others = 0
    /// Errors that came as messages, and what the first of them said.
    public var refusals = 0
    public var firstRefusal: String?
    public var closeCodes: [Int: Int] = [:]
    /// Ends without a close frame, by reason.
    public var losses: [String: Int] = [:]

    public init() {}
}
