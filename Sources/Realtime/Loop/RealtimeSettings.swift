// The settings that event loops receive when a gateway starts: Redis addresses, accepted tokens, and limits.

package import Access
package import ETA
package import EnrouteWire
package import LiveState
package import Redis
package import Tracking
package import TrafficControl

/// The settings of sessions, relay and REST handlers.
package struct RealtimeSettings: Sendable {
    package var live: RedisAddress
    package var ledger: RedisAddress
    package var redisTiming = RedisTiming()
    package var liveState = LiveStateSettings()
    package var tokens: TokenVerifier
    /// Keeps the keys of `tokens` in step with those that the issuer publishes; `nil` if all keys are configured.
    package var issuerKeys: IssuerKeys?
    /// How arrival times are calculated, and by which providers.
    package var arrivals = ArrivalSettings()
    package var limits = Limits()
    /// A position older than this is stale (US-072: 30 s).
    package var freshness: Duration = .seconds(30)
    /// Whether travel mode is switched off when a rider arrives at the destination. Otherwise the arrival is only reported.
    package var arrivalStopsTravel = false
    /// The bounds for validating locations.
    package var validation = LocationValidator.Bounds()
    /// The streets on which followers see riders; `nil` to show riders where the filter puts them.
    package var streetSource: (any StreetSource)?
    package var overload = OverloadBounds()
    /// Load balancers whose `X-Forwarded-For` header is trusted.
    package var trustedProxies = TrustedProxies.none
    /// The name of this gateway in the audit trail.
    package var name = "gateway"
    /// How often a viewer lease is renewed. A lease lasts long enough to miss one renewal (`TrackingLinks.leaseDuration`).
    package var viewerLeaseRenewal: Duration = .seconds(60)
    /// The average interval between two rider sweeps.
    package var sweepPace: Duration = .seconds(3)
    /// The maximum age of the revocation state. If it is older, no positions are shown. This is part of the promise
    /// that a revocation takes effect within a second.
    package var maxRevocationAge: Duration = .seconds(1)

    package init(live: RedisAddress, ledger: RedisAddress, tokens: TokenVerifier) {
        (self.live, self.ledger, self.tokens) = (live, ledger, tokens)
    }
}
