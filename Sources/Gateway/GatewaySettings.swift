// What a gateway is told when it starts, in three parts: the listener's, the event loops', the pages'.

package import Access
package import Events
package import REST
package import Realtime
package import Redis
package import SecureSocket
package import TrafficControl

/// Everything a gateway needs to know; made by the process from its configuration. Each target sees its own part; whoever
/// writes settings finds the members of all parts here.
@dynamicMemberLookup
package struct GatewaySettings: Sendable {
    package var host: String
    /// 0 lets the system choose.
    package var port: Int
    /// `nil` for plain sockets, behind a balancer that terminates TLS or on loopback.
    package var credentials: TLSCredentials?
    /// Where probes and metrics are asked for, in plain HTTP: not a place for the public. `nil`: nowhere.
    package var management: (host: String, port: Int)?
    /// Web pages that may open a WebSocket.
    package var origins = AllowedOrigins.own
    /// Opens `/v1/_echo` for conformance suites. Never in production: it has no limits worth the name.
    package var testEcho = false
    /// Topics of SNS whose events are taken; `nil` for none.
    package var topics: SNSVerifier?
    /// A queue of SQS whose events are taken; `nil` for none.
    package var queue: EventQueue?
    /// How long a stopping gateway goes on accepting, while `/readyz` fails already.
    package var drainAccept: Duration = .seconds(5)
    /// How long a stopping gateway waits for its connections to end, after that.
    package var drain: Duration = .seconds(10)
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
