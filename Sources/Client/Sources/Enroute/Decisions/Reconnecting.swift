// When to reconnect: with full jitter or at the time that the gateway specifies, and depending on the close code.
// enroute-timing.js follows the same rules. All times are in ms.

enum Reconnecting {
    /// Upper bound of the first delay after a stable connection.
    static let firstDelay = 3_000.0
    /// Upper bound of all delays.
    static let longestDelay = 30_000.0
    /// How long a session must stay open before the back-off starts over.
    static let stableAfter = 10_000.0
    /// Random spread of a time that the gateway sent to many clients.
    static let spread = 300.0
    /// Longest delay that the client accepts from a gateway.
    static let longestNotBefore = 600_000.0
    /// The delay until the session limit may permit another session: the gateway ends a dead session of this client within 35
    /// s.
    static let sessionLimitRetry = 40_000.0
    static let tokenExpired: UInt16 = 4005
    static let sessionLimit: UInt16 = 4009

    /// Returns the delay before the next attempt: the gateway's own time, or a random back-off.
    ///
    /// - Parameters:
    ///   - failures: attempts since the last stable session.
    ///   - notBefore: when the gateway wants the client to reconnect, by the clock of `now`.
    ///   - random: 0 to 1.
    static func delay(failures: Int, notBefore: Double?, now: Double, random: Double) -> Double {
        if let notBefore { return min(Self.longestNotBefore, max(0, notBefore - now)) + random * Self.spread }
        // From 2^5 s on, the longest delay applies.
        let ceiling = failures == 0 ? Self.firstDelay : min(Self.longestDelay, 1000 * Double(1 << min(failures, 5)))
        return random * ceiling
    }

    /// Whether the client reconnects after this close code: 4500 to 4999 end the connection.
    static func reconnects(after code: UInt16) -> Bool { !(4500...4999).contains(code) }

    /// The minimum delay after this close code; `nil` for the usual back-off.
    static func retry(after code: UInt16) -> Double? { code == Self.sessionLimit ? Self.sessionLimitRetry : nil }

    /// The error that followers receive for a close code.
    static func errorCode(for code: UInt16) -> EnrouteError.Code {
        switch code {
        case 4005: .tokenExpired
        case 4009: .limitExceeded
        case 4500: .unauthorized
        case 4502: .revoked
        case 4503: .unsupportedVersion
        case 4505: .badRequest
        case 4506: .conflict
        default: .unavailable
        }
    }
}
