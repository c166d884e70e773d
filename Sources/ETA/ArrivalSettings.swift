// How arrival times are calculated: how often, and with whose help.

internal import LiveState
package import Routing
package import Tracking

/// What a gateway is told of arrival times.
package struct ArrivalSettings: Sendable {
    /// From one calculation to the next of a job that is followed.
    package var interval = Duration.seconds(60)

    /// Services that are asked, in this order; the built-in estimator is the last resort, or answers alone.
    package var services: [ArrivalService] = []
    /// Who finds the places of addresses, and how often a day by all gateways together; `nil`: nobody.
    package var geocoding: (service: MapboxGeocoding, dailyBudget: Int?)?
    /// PEM file of who may vouch for services; `nil` for the system's authorities.
    package var authorities: String?
    /// From a question to a service to the last byte of its answer.
    package var longestWait = ProviderClient.longestWait

    package init() {}

    /// A thirtieth before the interval is over nobody holds the lease any more, so that ticks which come early find it
    /// free: with a minute that is 58 s, and never more than 60 questions an hour.
    var lease: Duration { self.interval * 29 / 30 }

    /// The bounds of one job's arrival, in proportion to the interval.
    ///
    /// - Parameter freshness: after how long without a position it is old.
    package func bounds(freshness: Duration = .seconds(30)) -> ArrivalTime.Bounds {
        var bounds = ArrivalTime.Bounds()
        let interval = UInt64(self.interval.milliseconds) * 1_000_000
        bounds.interval = interval
        bounds.shortestInterval = min(bounds.shortestInterval, interval / 6)
        bounds.firstRetry = min(bounds.firstRetry, interval / 6)
        bounds.lastRetry = min(bounds.lastRetry, interval)
        bounds.goodFor = max(bounds.goodFor, interval * 3)
        bounds.freshFor = UInt64(freshness.milliseconds) * 1_000_000
        bounds.longestSilence = max(bounds.longestSilence, bounds.freshFor)
        return bounds
    }
}

/// A service of arrival times.
package struct ArrivalService: Sendable {
    package let provider: any RouteProvider
    /// Questions that all gateways together may ask in a day of UTC; `nil` for as many as they like.
    let dailyBudget: Int?

    package init(_ provider: any RouteProvider, dailyBudget: Int?) {
        (self.provider, self.dailyBudget) = (provider, dailyBudget)
    }
}
