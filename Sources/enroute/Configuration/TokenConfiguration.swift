// The keys that verify tokens: from files, from issuers, or a shared secret. TokenProviders.swift reads the other
// settings.

import Access
import Foundation
import Gateway
import Logging
import OutboundHTTP
import Realtime
import Synchronization
import Telemetry

extension ProcessConfiguration {
    func tokenIssuer() -> String { self.text("ENROUTE_TOKEN_ISSUER") ?? "" }
    func tokenAudience() -> String { self.text("ENROUTE_TOKEN_AUDIENCE") ?? "" }

    /// Returns the verifier of tokens and, if issuers publish their keys, the object that refreshes these keys.
    func tokens() async throws -> (TokenVerifier, IssuerKeys?) {
        var providers: [ConfiguredProvider] = []
        let own = try await self.provider()
        if let path = self.text("ENROUTE_TOKEN_PROVIDERS_FILE") {
            if own.fetch != nil || !own.provider.keys.isEmpty { providers.append(own) }
            for section in try TokenProvidersFile(path: path).sections {
                do {
                    if let fault = section.configuration.sources.fileFaults(for: nil).first {
                        throw ConfigurationError(description: fault)
                    }
                    let one = try await section.configuration.provider()
                    guard one.fetch != nil || !one.provider.keys.isEmpty else { throw Self.noKey }
                    providers.append(one)
                } catch let error as ConfigurationError {
                    // In a section, names have no prefix.
                    let text = error.description.replacing(TokenProvidersFile.prefix, with: "")
                    throw ConfigurationError(
                        description: "\(path), [\(section.name)]: \(text)", isMissing: error.isMissing)
                }
            }
        } else {
            guard own.fetch != nil || !own.provider.keys.isEmpty else { throw Self.noKey }
            providers = [own]
        }
        guard providers.count <= IdentityProvider.most else {
            throw ConfigurationError(
                description: "There are \(providers.count) identity providers; the maximum is \(IdentityProvider.most)."
            )
        }
        let verifier = TokenVerifier(providers.map(\.provider))
        let logger = try self.logger()
        let sources = Self.sources(of: providers, verifier, logger)
        return (verifier, sources.isEmpty ? nil : IssuerKeys(sources))
    }

    /// A provider with the keys that are configured, and the fetcher of its other keys.
    private typealias ConfiguredProvider = (provider: IdentityProvider, fetch: JWKSFetcher?)

    /// Returns one source for each key set, so that all providers that use the set get a new key at the same moment.
    private static func sources(
        of providers: [ConfiguredProvider], _ verifier: TokenVerifier, _ logger: Logger
    ) -> [JWKSSource] {
        let fetchers = providers.enumerated().compactMap { index, one in one.fetch.map { (index: index, fetch: $0) } }
        return Dictionary(grouping: fetchers, by: \.fetch.keySet).values.map { sharing in
            let fixed = sharing.map { ($0.index, providers[$0.index].provider.keys) }
            let issuers = Set(sharing.map { providers[$0.index].provider.issuer }).sorted().joined(separator: ", ")
            let fetch = sharing[0].fetch
            return JWKSSource(
                verifier: verifier, fixed: Dictionary(uniqueKeysWithValues: fixed),
                report: { [known = KnownKeys()] in Self.report($0, of: issuers, known, logger) }
            ) { try await fetch() }
        }
    }

    /// Where shared secrets (HS256) are set: in these settings, or in sections of the providers file.
    var tokenSecrets: [String] {
        let name = "ENROUTE_TOKEN_SECRET"
        let own = self.text(name) == nil ? [] : [name]
        guard let path = self.text("ENROUTE_TOKEN_PROVIDERS_FILE"), let file = try? TokenProvidersFile(path: path)
        else {
            return own
        }
        let sections = file.sections.filter { $0.configuration.text(name) != nil }
        return own + sections.map { "\(path), [\($0.name)]: \(name.replacing(TokenProvidersFile.prefix, with: ""))" }
    }

    private static let noKey = ConfigurationError(
        description:
            "No token verification key is set: set ENROUTE_TOKEN_PUBLIC_KEY_FILES (PEM files: P-256, RSA or Ed25519), "
            + "ENROUTE_TOKEN_JWKS_URL (where an issuer publishes its keys) or, for development, "
            + "ENROUTE_TOKEN_SECRET (HS256, at least 32 bytes).",
        isMissing: true)

    private func provider() async throws -> ConfiguredProvider {
        var provider = try self.identityProvider()
        var name = "ENROUTE_TOKEN_PUBLIC_KEY_FILES with ENROUTE_TOKEN_KEY_IDS"
        do {
            let sources = try self.list("ENROUTE_TOKEN_PUBLIC_KEY_FILES").map { file in
                guard let pem = try? String(contentsOfFile: file, encoding: .utf8) else {
                    throw ConfigurationError(
                        description: "ENROUTE_TOKEN_PUBLIC_KEY_FILES names \(file), which cannot be read.")
                }
                return (name: file, pem: pem)
            }
            // Key ids without keys have no effect.
            let kids = sources.isEmpty ? [] : self.list("ENROUTE_TOKEN_KEY_IDS")
            provider.keys = try await TokenVerifier.Key.asymmetric(sources: sources, kids: kids)
            name = "ENROUTE_TOKEN_SECRET"
            if let secret = self.text("ENROUTE_TOKEN_SECRET") {
                provider.keys.append(try await .hs256(secret: secret))
            }
        } catch let error as TokenVerifier.Key.InvalidSetting {
            throw ConfigurationError(description: "\(name): \(error)")
        }
        return (provider, try self.keyFetch())
    }

    /// - Returns: `nil` if no issuer is configured.
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

    private static func report(
        _ outcome: JWKSSource.Outcome, of issuers: String, _ known: KnownKeys, _ logger: Logger
    ) {
        switch outcome {
        case .throttled: break
        case .fresh:
            known.areFetched.store(true, ordering: .relaxed)
            logger.debug("JWKS refreshed", metadata: [LogKey.issuer: "\(issuers)"])
        case .failed(let error):
            logger.warning(
                known.areFetched.load(ordering: .relaxed)
                    ? "JWKS refresh failed; keeping previous keys"
                    : "JWKS fetch failed; no keys of the issuer are known yet",
                metadata: [LogKey.issuer: "\(issuers)", LogKey.reason: "\(error)"])
        }
    }

    /// Whether the keys of an issuer have ever been fetched.
    private final class KnownKeys: Sendable {
        let areFetched = Atomic(false)
    }
}

/// Fetches the issuers' keys before the gateway starts. Without any key, a gateway would reject every token, so it does
/// not start.
func fetchFirstKeys(_ settings: GatewaySettings) async throws {
    guard let keys = settings.issuerKeys, let error = await keys.refreshIfStale(), !settings.tokens.hasKeys else {
        return
    }
    throw Unavailable(
        description: "No token verification key is available. \(error) "
            + "To start without the issuer, set ENROUTE_TOKEN_PUBLIC_KEY_FILES too.")
}
