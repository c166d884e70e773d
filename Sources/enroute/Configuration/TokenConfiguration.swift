// The keys that tokens are verified with: from files, from an issuer, or a shared secret.

import Access
import Foundation
import Gateway
import Logging
import OutboundHTTP
import Realtime
import Telemetry

extension ProcessConfiguration {
    func tokenIssuer() -> String { self.text("ENROUTE_TOKEN_ISSUER") ?? "" }
    func tokenAudience() -> String { self.text("ENROUTE_TOKEN_AUDIENCE") ?? "" }

    /// What verifies tokens and, where an issuer is configured, what refreshes its keys.
    func tokens() async throws -> (TokenVerifier, JWKSSource?) {
        var keys: [TokenVerifier.Key] = []
        var name = "ENROUTE_TOKEN_PUBLIC_KEY_FILES with ENROUTE_TOKEN_KEY_IDS"
        do {
            let sources = try self.list("ENROUTE_TOKEN_PUBLIC_KEY_FILES").map { file in
                guard let pem = try? String(contentsOfFile: file, encoding: .utf8) else {
                    throw ConfigurationError(
                        description: "ENROUTE_TOKEN_PUBLIC_KEY_FILES names \(file), which cannot be read.")
                }
                return (name: file, pem: pem)
            }
            // Key ids without a key have no effect.
            let kids = sources.isEmpty ? [] : self.list("ENROUTE_TOKEN_KEY_IDS")
            keys += try await TokenVerifier.Key.asymmetric(sources: sources, kids: kids)
            name = "ENROUTE_TOKEN_SECRET"
            if let secret = self.text("ENROUTE_TOKEN_SECRET") { keys.append(try await .hs256(secret: secret)) }
        } catch let error as TokenVerifier.Key.InvalidSetting {
            throw ConfigurationError(description: "\(name): \(error)")
        }
        let fetch = try self.keyFetch()
        guard !keys.isEmpty || fetch != nil else {
            throw ConfigurationError(
                description:
                    "No key to verify tokens with: set ENROUTE_TOKEN_PUBLIC_KEY_FILES (PEM files: P-256, RSA or Ed25519), "
                    + "ENROUTE_TOKEN_JWKS_URL (where an issuer publishes its keys) or, for development, "
                    + "ENROUTE_TOKEN_SECRET (HS256, at least 32 bytes).",
                isMissing: true)
        }
        let verifier = TokenVerifier(keys: keys, issuer: self.tokenIssuer(), audience: self.tokenAudience())
        return (verifier, try fetch.map { try self.issuerKeys(of: verifier, fixed: keys, $0) })
    }

    /// - Returns: `nil` where no issuer is configured.
    private func keyFetch() throws -> JWKSFetcher? {
        guard let url = self.text("ENROUTE_TOKEN_JWKS_URL") else {
            guard self.text("ENROUTE_TOKEN_JWKS_CA_FILE") == nil else {
                throw ConfigurationError(
                    description:
                        "ENROUTE_TOKEN_JWKS_CA_FILE is set, but ENROUTE_TOKEN_JWKS_URL is not. Set it, or unset "
                        + "ENROUTE_TOKEN_JWKS_CA_FILE.")
            }
            return nil
        }
        do throws(JWKSFetcher.InvalidSetting) {
            return try JWKSFetcher(url: url, authorities: self.text("ENROUTE_TOKEN_JWKS_CA_FILE"))
        } catch {
            let name =
                switch error.setting {
                case .url: "ENROUTE_TOKEN_JWKS_URL"
                case .authorities: "ENROUTE_TOKEN_JWKS_CA_FILE"
                }
            throw ConfigurationError(description: "\(name) \(error.problem)")
        }
    }

    private func issuerKeys(
        of verifier: TokenVerifier, fixed: [TokenVerifier.Key], _ fetch: JWKSFetcher
    ) throws -> JWKSSource {
        let logger = try self.logger()
        return JWKSSource(verifier: verifier, fixed: fixed, report: { Self.report($0, logger) }) { try await fetch() }
    }

    private static func report(_ outcome: JWKSSource.Outcome, _ logger: Logger) {
        switch outcome {
        case .throttled: break
        case .fresh: logger.debug("JWKS refreshed")
        case .failed(let error):
            logger.warning("JWKS refresh failed; keeping previous keys", metadata: [LogKey.reason: "\(error)"])
        }
    }
}

/// Fetches the issuer's keys before the gateway starts. A gateway without any key would refuse every token, so it does not start.
func fetchFirstKeys(_ settings: GatewaySettings) async throws {
    guard let keys = settings.issuerKeys, case .failed(let error) = await keys.refreshIfStale(), !keys.hasFixedKeys
    else {
        return
    }
    throw Unavailable(
        description: "No key to verify tokens with. \(error) "
            + "To start without the issuer, set ENROUTE_TOKEN_PUBLIC_KEY_FILES too.")
}
