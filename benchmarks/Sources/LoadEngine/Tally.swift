// The messages that the followers received: latency, counts, and how many were missing.

public import Histogram

/// Counts of one run. A message counts when it reaches a follower; its latency counts from its scheduled time.
public struct Tally {
    /// ns; only of measured messages.
    public var latency = Histogram<UInt64>(
        lowestDiscernibleValue: 1000, highestTrackableValue: 120_000_000_000, numberOfSignificantValueDigits: .three)
    /// Messages that reached a follower, measured or not.
    public var delivered = 0
    /// Messages that arrived after a later one of the same job.
    public var disordered = 0
    /// Bytes of payload.
    public var deliveredBytes = 0
    /// Messages that are neither published nor about subscribing.
    public var others = 0
    /// Errors received as messages, and the first of them.
    public var refusals = 0
    public var firstRefusal: String?
    public var closeCodes: [Int: Int] = [:]
    /// Ends without a close frame, by reason.
    public var losses: [String: Int] = [:]

    public init() {}
}
