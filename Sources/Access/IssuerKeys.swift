// The keys of all identity providers that publish them: a token that names an unknown key may wait for its own issuer's
// keys, but not for another issuer's.

/// The sources of one verifier's keys.
package struct IssuerKeys: Sendable {
    private let sources: [JWKSSource]
    private let verifier: TokenVerifier

    /// - Parameter sources: at least one, all of the same verifier.
    package init(_ sources: [JWKSSource]) {
        guard let first = sources.first else { preconditionFailure("no source of keys") }
        (self.sources, self.verifier) = (sources, first.verifier)
    }

    /// Verifies a token as TokenVerifier does, but a token that names an unknown key may wait for new keys. Of several
    /// providers with the token's issuer, those that do not know the key are queried before the others refuse the
    /// token. Throws `keyUnavailable` if the keys could not be fetched.
    ///
    /// - Parameter now: seconds since the epoch.
    package func verify(_ token: String, now: Int64) async throws(TokenRefusal) -> Grant {
        do throws(TokenRefusal) {
            return try self.verifier.verify(token, now: now)
        } catch {
            guard error.lacksKey else { throw error }
        }
        let lacking = self.verifier.lackingKey(of: token)
        let areFresh = await Self.renew(self.sources.filter { !$0.providers.isDisjoint(with: lacking) })
        // Verify again whatever the outcome: the keys may have arrived just before this call.
        do throws(TokenRefusal) {
            return try self.verifier.verify(token, now: now)
        } catch {
            throw !areFresh && error.lacksKey ? .keyUnavailable : error
        }
    }

    /// Fetches the keys of all these sources at the same time, if `KeyRefresh` allows it.
    ///
    /// - Returns: whether all of them answered.
    private static func renew(_ sources: [JWKSSource]) async -> Bool {
        await withTaskGroup(of: JWKSSource.Outcome.self) { group in
            for source in sources { group.addTask { await source.renew(for: .unknownKey) } }
            return await group.allSatisfy { if case .fresh = $0 { true } else { false } }
        }
    }

    /// Fetches the keys that are old, of all issuers at the same time. Call it at start and periodically.
    ///
    /// - Returns: the first error of a fetch.
    @discardableResult
    package func refreshIfStale() async -> (any Error)? {
        await withTaskGroup(of: JWKSSource.Outcome.self) { group in
            for source in self.sources { group.addTask { await source.refreshIfStale() } }
            var first: (any Error)?
            for await outcome in group {
                if case .failed(let error) = outcome { first = first ?? error }
            }
            return first
        }
    }

    /// Keeps the keys fresh until the task is cancelled.
    package func run() async {
        while (try? await Task.sleep(for: KeyRefresh.shortestInterval)) != nil { await self.refreshIfStale() }
    }

    /// Counts of all completed fetches. The keys count as failing while fetches from any issuer fail.
    package var fetched: JWKSSource.Fetches {
        self.sources.map(\.fetched).reduce(into: JWKSSource.Fetches()) { sum, next in
            sum.good += next.good
            sum.failed += next.failed
            sum.goodSince = max(sum.goodSince, next.goodSince)
            sum.failingSince = [sum.failingSince, next.failingSince].compactMap { $0 }.min()
        }
    }
}
