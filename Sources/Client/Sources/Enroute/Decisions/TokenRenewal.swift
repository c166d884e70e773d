// When to fetch a newer token: before the current one expires, so that the session continues without interruption.

import Foundation

/// Times are in ms.
enum TokenRenewal {
    /// How long before its expiry a token is renewed. A short-lived token is renewed after half of its lifetime.
    static let lead = 60_000.0
    /// The delay before the next attempt, if there was no newer token or the gateway rejected it.
    static let retryAfter = 15_000.0

    /// Returns the expiry in the claims of a JWT, in ms since the epoch; `nil` if it cannot be read.
    static func expiry(of token: String) -> Double? {
        struct Claims: Decodable { let exp: Double? }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        var text = parts[1].replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        text += String(repeating: "=", count: (4 - text.count % 4) % 4)
        guard let data = Data(base64Encoded: text) else { return nil }
        return (try? JSONDecoder().decode(Claims.self, from: data))?.exp.map { $0 * 1000 }
    }

    /// Returns in how many ms to fetch a newer token; `nil` if the token has expired.
    static func delay(expiry: Double, serverTime: Double) -> Double? {
        let rest = expiry - serverTime
        guard rest > 0 else { return nil }
        return max(rest - Self.lead, rest / 2)
    }
}
