// What the event loops are told when a gateway starts: where Redis is, whose tokens count, and how much of everything.

package import Access
package import ETA
package import EnrouteWire
package import LiveState
package import Redis
package import Tracking
package import TrafficControl

/// What sessions, relay and REST handlers need to know.
package struct RealtimeSettings: Sendable {
    package var live: RedisAddress
    package var ledger: RedisAddress
    package var redisTiming = RedisTiming()
    package var liveState = LiveStateSettings()
    package var tokens: TokenVerifier
    /// Keeps the keys of `tokens` those that an issuer publishes; `nil` where they are all configured.
    package var issuerKeys: JWKSSource?
    /// How arrival times are calculated, and who is asked.
    package var arrivals = ArrivalSettings()
    package var limits = Limits()
    /// A position that came longer ago is called stale (US-072: 30 s).
    package var freshness: Duration = .seconds(30)
    /// Travel mode is switched off when a rider stands at the door; else that is only told.
    package var arrivalStopsTravel = false
    /// What of a rider's readings is believed.
    package var validation = LocationValidator.Bounds()
    package var overload = OverloadBounds()
    /// Balancers whose `X-Forwarded-For` is believed.
    package var trustedProxies = TrustedProxies.none
    /// What the gateway is called in the audit trail.
    package var name = "gateway"
    /// How often a guest's place is renewed: twice before it would be somebody else's (`TrackingLinks.hold`).
    package var viewerLeaseRenewal: Duration = .seconds(60)
    /// How often silent riders are looked for, on average.
    package var sweepPace: Duration = .seconds(3)
    /// How old what is known of revocations may be before no position is shown: part of the promise of a second.
    package var revocationPatience: Duration = .seconds(1)

    package init(live: RedisAddress, ledger: RedisAddress, tokens: TokenVerifier) {
        (self.live, self.ledger, self.tokens) = (live, ledger, tokens)
    }
}
