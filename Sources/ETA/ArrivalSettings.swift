// The settings for calculating arrival times.

internal import Jobs
internal import LiveState
package import Routing
package import Streets
package import Tracking

/// The settings for arrival times.
package struct ArrivalSettings: Sendable {
    /// Time between two calculations for a followed job.
    package var interval = Duration.seconds(60)

    /// How long preparation and pickup take, for the arrival time before the rider is on the way.
    package var early = EarlyArrival.Settings()
    /// The routing providers in the order they are tried. The built-in estimator is used when all fail or none is
    /// configured.
    package var services: [ArrivalService] = []
    /// The street network that is used when no provider finds a route; `nil` for none.
    package var streets: StreetNetwork?
    /// The geocoding provider and its daily number of requests for all gateways together; `nil` for no geocoding.
    package var geocoding: (service: MapboxGeocoding, dailyBudget: Int?)?
    /// The pauses before an address is looked up again because the geocoding provider did not answer.
    package var geocodingPauses = GeocodingRetries.usualPauses
    /// PEM file of the trusted certificate authorities for providers; `nil` for the system's.
    package var authorities: String?
    /// Timeout for a query to a provider.
    package var longestWait = ProviderClient.longestWait

    package init() {}

    /// The lease expires a thirtieth of the interval early, so slightly early ticks find it free. With an interval of one
    /// minute the lease lasts 58 s, and there are still at most 60 queries an hour.
    var lease: Duration { self.interval * 29 / 30 }

    /// The bounds of one job's arrival, in proportion to the interval.
    ///
    /// - Parameter freshness: the time after which a position is stale.
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

/// A routing provider and its budget.
package struct ArrivalService: Sendable {
    package let provider: any RouteProvider
    /// The number of queries of all gateways together per UTC day; `nil` for no limit.
    let dailyBudget: Int?

    package init(_ provider: any RouteProvider, dailyBudget: Int?) {
        (self.provider, self.dailyBudget) = (provider, dailyBudget)
    }
}
