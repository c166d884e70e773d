// The bounds of an arrival time: how often it is calculated, when a result counts, and how long it stays valid.

extension ArrivalTime {
    package struct Bounds: Hashable, Sendable {
        /// Time between two calculations while the job is followed. One minute means at most 60 queries an hour.
        package var interval = UInt64.seconds(60)
        /// Minimum time between two calculations, whatever the rider does.
        package var shortestInterval = UInt64.seconds(10)
        /// Meters. A rider who is this much farther from the destination than at the closest point since the calculation is
        /// assumed to take another route. On a known route, distances are measured along it.
        package var deviationMeters = 250.0
        /// Timeout of a calculation.
        package var longestCalculation = UInt64.seconds(10)
        /// Delays before a failed calculation is repeated: the first one and the maximum.
        package var firstRetry = UInt64.seconds(10)
        package var lastRetry = UInt64.seconds(60)
        /// How long the result of a calculation is counted down if no newer one succeeds.
        package var goodFor = UInt64.seconds(180)
        /// After this time without a location, the arrival time is doubtful.
        package var freshFor = ViewFacts.freshness
        /// After this time without a location, there is nothing to calculate from.
        package var longestSilence = UInt64.seconds(300)
        /// A new estimate is ignored if it differs from the shown one by less than these seconds and by less than this
        /// share of the remaining time. Once the arrival is overdue, an estimate within these seconds is still "any
        /// moment".
        package var jitterSeconds = 30.0
        package var jitterShare = 0.1

        package init() {}
    }
}
