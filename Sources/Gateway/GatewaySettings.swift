// The settings of a gateway in three parts: for the listener, for the event loops and for the pages.

package import Access
package import Events
package import Push
package import REST
package import Realtime
package import Redis
package import SecureSocket
package import TrafficControl
package import Webhooks

/// All settings of a gateway. The process creates them from its configuration. Each target receives only its own part; dynamic
/// member lookup gives access to the members of all parts.
@dynamicMemberLookup
package struct GatewaySettings: Sendable {
    package var host: String
    /// The port to listen on; 0 lets the system choose one.
    package var port: Int
    /// `nil` for plain TCP, on loopback or behind a load balancer that terminates TLS.
    package var credentials: TLSCredentials?
    /// The address of the management listener, which serves probes and metrics over plain HTTP and must not be public; `nil`
    /// for none.
    package var management: (host: String, port: Int)?
    /// Layer-4 balancers that name the client with the PROXY protocol, versions 1 and 2. Every connection must then start with
    /// such a header and come from one of them. `nil`: no connection starts with one.
    package var proxyProtocol: TrustedProxies?
    /// The origins of web pages that may open a WebSocket and use the REST interface.
    package var origins = AllowedOrigins.own
    /// Opens `/v1/_echo` for WebSocket conformance suites. Never set it in production: it requires no sign-in and has almost
    /// no limits.
    package var hasEchoEndpoint = false
    /// The Amazon SNS topics whose events are accepted; `nil` for none.
    package var topics: SNSVerifier?
    /// The Amazon SQS queue whose events are consumed; `nil` for none.
    package var queue: EventQueue?
    /// How events are delivered to other systems.
    package var webhooks = WebhookSettings.usual
    /// How browsers are notified that a rider is near; `nil` to notify none.
    package var push: PushSettings? { didSet { self.pages.pushKey = self.push?.key.publicKey } }
    /// How long a gateway continues to accept connections during shutdown, while `/readyz` already fails.
    package var drainAccept: Duration = .seconds(5)
    /// How long a gateway then waits for its connections to close.
    package var drain: Duration = .seconds(10)
    /// The settings that must be the same on every gateway, by name, for the metrics. Nothing else reads them.
    package var sharedSettings: [String: Int] = [:]
    package var realtime: RealtimeSettings
    package var pages = PageSettings()

    package init(
        host: String, port: Int, credentials: TLSCredentials?, live: RedisAddress, ledger: RedisAddress,
        tokens: TokenVerifier
    ) {
        (self.host, self.port, self.credentials) = (host, port, credentials)
        self.realtime = RealtimeSettings(live: live, ledger: ledger, tokens: tokens)
    }

    package subscript<Value>(dynamicMember member: WritableKeyPath<RealtimeSettings, Value>) -> Value {
        get { self.realtime[keyPath: member] }
        set { self.realtime[keyPath: member] = newValue }
    }

    package subscript<Value>(dynamicMember member: WritableKeyPath<PageSettings, Value>) -> Value {
        get { self.pages[keyPath: member] }
        set { self.pages[keyPath: member] = newValue }
    }
}
