// The settings of a gateway on this machine, for the demo and for development: it listens on loopback only, and does
// not wait when it stops.

import Access
import EnrouteWire
import Gateway
import REST
import Realtime
import Redis
import SecureSocket
import TrafficControl

extension GatewaySettings {
    private static let longestLoopLagMilliseconds = 60_000

    /// - Parameters:
    ///   - secret: verifies the tokens (HS256).
    ///   - issuer: the issuer and the audience of the tokens.
    ///   - port: 0 for any free one.
    static func onThisMachine(
        live: String, ledger: String, secret: String, issuer: String, port: Int = 0, credentials: TLSCredentials? = nil
    ) async throws -> GatewaySettings {
        var settings = GatewaySettings(
            host: "127.0.0.1", port: port, credentials: credentials, live: try RedisAddress(url: live),
            ledger: try RedisAddress(url: ledger),
            tokens: TokenVerifier(keys: [try await .hs256(secret: secret)], issuer: issuer, audience: issuer))
        settings.drainAccept = .zero
        settings.drain = .seconds(1)
        // Everything runs on one machine, so another gateway would not be faster: even a lagging one should accept
        // connections. With the default value, a gateway on a busy desktop stopped accepting, and the end of the trip
        // was never reported.
        settings.overload.loopLagMilliseconds = Self.longestLoopLagMilliseconds
        settings.management = nil
        return settings
    }

    /// All clients are on this machine, and one person opens many pages.
    mutating func liftLimitsOfAddresses() {
        self.limits.sessionsPerPerson = 0
        self.limits.sessionsPerAddress = 0
        self.limits.connectionsPerAddress = 0
        self.limits.messagesPerAddressBurst = 0
        self.limits.anonymousRequestsPerAddressBurst = 0
    }
}
