// What a gateway is told when it starts.

package import Access
package import EnrouteWire
package import Events
package import LiveState
package import Redis
package import SecureSocket
package import Tracking

/// Everything a gateway needs to know; made by the process from its configuration.
package struct GatewaySettings: Sendable {
    package var host: String
    /// 0 lets the system choose.
    package var port: Int
    /// `nil` for plain sockets, behind a balancer that terminates TLS or on loopback.
    package var credentials: TLSCredentials?
    package var live: RedisAddress
    package var ledger: RedisAddress
    package var redisTiming = RedisTiming()
    package var liveState = LiveStateSettings()
    package var tokens: TokenVerifier
    /// Keeps the keys of `tokens` those that an issuer publishes; `nil` where they are all configured.
    package var issuerKeys: JWKSSource?
    /// Topics of SNS whose events are taken; `nil` for none.
    package var topics: TopicTrust?
    /// A queue of SQS whose events are taken; `nil` for none.
    package var queue: EventQueue?
    /// How arrival times are calculated, and who is asked.
    package var arrivals = ArrivalSettings()
    package var limits = Limits()
    /// A position that came longer ago is called stale (US-072: 30 s).
    package var freshness: Duration = .seconds(30)
    /// Travel mode is switched off when a rider stands at the door; else that is only told.
    package var arrivalStopsTravel = false
    /// What of a rider's readings is believed.
    package var judge = FixJudge.Bounds()
    package var overload = OverloadBounds()
    /// Balancers whose `X-Forwarded-For` is believed.
    package var trustedProxies = TrustedProxies.none
    /// Web pages that may open a WebSocket.
    package var origins = AllowedOrigins.own
    /// Where probes and metrics are asked for, in plain HTTP: not a place for the public. `nil`: nowhere.
    package var management: (host: String, port: Int)?
    /// Opens `/v1/_echo` for conformance suites. Never in production: it has no limits worth the name.
    package var testEcho = false
    /// Folder of Leaflet's files, from Debian's libjs-leaflet.
    package var leafletFolder = "/usr/share/javascript/leaflet"
    /// Folder of files that take the place of the pages' own; `nil`: none do.
    package var pagesFolder: String?
    /// Where people sign in, an address that may stand in a page; `nil`: by a code alone.
    package var signInURL: String?
    /// Tiles of the pages' map; `nil`: it is drawn without.
    package var tiles: TileSettings?
    /// Texts of statuses, in the languages that are there.
    package var languages = StatusLanguages()
    /// Streets to draw where there are no tiles, a GeoJSON FeatureCollection.
    package var streets: [UInt8]?
    /// What it is called in the audit trail.
    package var name = "gateway"
    /// How often a guest's place is renewed: twice before it would be somebody else's (`TrackingLinks.hold`).
    package var placeRenewal: Duration = .seconds(60)
    /// How often silent riders are looked for, on average.
    package var sweepPace: Duration = .seconds(3)
    /// How old what is known of revocations may be before no position is shown: part of the promise of a second.
    package var revocationPatience: Duration = .seconds(1)
    /// How long a stopping gateway goes on accepting, while `/readyz` fails already.
    package var drainAccept: Duration = .seconds(5)
    /// How long a stopping gateway waits for its connections to end, after that.
    package var drain: Duration = .seconds(10)

    package init(
        host: String, port: Int, credentials: TLSCredentials?, live: RedisAddress, ledger: RedisAddress,
        tokens: TokenVerifier
    ) {
        self.host = host
        self.port = port
        self.credentials = credentials
        self.live = live
        self.ledger = ledger
        self.tokens = tokens
    }
}
