// The issuer whose keys check tokens: where it is asked, and what is said when it does not answer. The tokens themselves are
// never part of it.

import Access
import Gateway
import Realtime
import Logging
import Telemetry

extension ProcessConfiguration {
    /// `nil` where no issuer is named.
    func keyFetch() throws -> JWKSFetcher? {
        guard let url = self.text("ENROUTE_TOKEN_JWKS_URL") else {
            guard self.text("ENROUTE_TOKEN_JWKS_CA_FILE") == nil else {
                throw ConfigurationError(
                    description:
                        "ENROUTE_TOKEN_JWKS_CA_FILE is set and no issuer is asked: name it in ENROUTE_TOKEN_JWKS_URL, "
                        + "or unset it.")
            }
            return nil
        }
        do throws(JWKSFetcher.InvalidSetting) {
            return try JWKSFetcher(url: url, authorities: self.text("ENROUTE_TOKEN_JWKS_CA_FILE"))
        } catch {
            throw ConfigurationError(description: error.description)
        }
    }

    func issuerKeys(
        of verifier: TokenVerifier, fixed: [TokenVerifier.Key], _ fetch: JWKSFetcher
    ) throws -> JWKSSource {
        let logger = try self.logger()
        return JWKSSource(verifier: verifier, fixed: fixed, report: { Self.report($0, logger) }) { try await fetch() }
    }

    private static func report(_ outcome: JWKSSource.Outcome, _ logger: Logger) {
        switch outcome {
        case .asked: break
        case .fresh: logger.debug("the issuer's keys were fetched")
        case .failed(let error):
            logger.warning(
                "the issuer's keys were not fetched, those of before stay", metadata: [LogKey.reason: "\(error)"])
        }
    }
}

/// A gateway that knows no key at all would refuse everybody: then it does not start.
func fetchFirstKeys(_ settings: GatewaySettings) async throws {
    guard let keys = settings.issuerKeys, case .failed(let error) = await keys.refreshIfStale(), !keys.hasFixedKeys
    else {
        return
    }
    throw Unavailable(
        description: "There is no key to check tokens with. \(error) "
            + "To start without the issuer, set ENROUTE_TOKEN_PUBLIC_KEY_FILES besides.")
}
