// The limits of connections, sessions and REST requests for each user and client address. All event loops share them,
// so a lock protects them. It is taken when a connection opens, signs in or closes, and for each REST request. The
// rates of WebSocket messages are limited on each loop without a lock (MessageRates.swift).

package import Access
package import EnrouteWire
package import HTTPValues
internal import Synchronization
package import Telemetry

/// The party whose limits a session, a message or a request counts toward.
package enum SessionOwner: Hashable, Sendable {
    /// A person in one role: a customer and a rider may have the same id.
    case person(PersonID, Role)
    /// The viewers of one tracking link, by its id. They do not use up the rate of the job's customer.
    case link(String)

    package init(_ grant: Grant) {
        self = grant.link.map { .link($0) } ?? .person(grant.person, grant.role)
    }
}

/// The quotas of one gateway. Thread-safe.
package final class Quotas: Sendable {
    private struct State {
        var connections: [ClientAddress: Int] = [:]
        var sessionsOfAddress: [ClientAddress: Int] = [:]
        var sessionsOfOwner: [SessionOwner: Int] = [:]
        /// REST requests by user and role.
        var requests = RateTable<SessionOwner>()
        /// Location reports by REST, by user.
        var positions = RateTable<SessionOwner>()
        /// Availability declarations by rider; they use the slower clock of `declarationDelay`.
        var declarations = RateTable<SessionOwner>()
        /// Invalid tokens by address.
        var invalidTokens = RateTable<ClientAddress>()
        /// Verifications during a lockout by address.
        var verifications = RateTable<ClientAddress>()
        /// Requests without a token by address.
        var anonymousRequests = RateTable<ClientAddress>()
        /// Requests for map tiles by address.
        var tiles = RateTable<ClientAddress>()
        /// Refusals, for the metrics.
        var refused = Counts()
    }

    package enum Refusal: Error {
        case person, address
    }

    private let limits: Limits
    private let state = Mutex(State())

    package init(limits: Limits) { self.limits = limits }

    /// Counts a connection, to be released with `releaseConnection`.
    ///
    /// - Returns: `false` if the address has reached its limit of connections.
    package func acquireConnection(_ address: ClientAddress) -> Bool {
        self.state.withLock { $0.connections.take(address, atMost: self.limits.connectionsPerAddress) }
    }

    package func releaseConnection(_ address: ClientAddress) { self.state.withLock { $0.connections.release(address) } }

    /// Counts a session, to be released with `releaseSession`.
    ///
    /// - Parameter address: `nil` if no limit applies to the client's address.
    package func acquireSession(_ owner: SessionOwner?, _ address: ClientAddress?) throws(Refusal) {
        let refusal: Refusal? = self.state.withLock { state in
            if let address, !state.sessionsOfAddress.take(address, atMost: self.limits.sessionsPerAddress) {
                return .address
            }
            if let owner, !state.sessionsOfOwner.take(owner, atMost: self.limits.sessionsPerPerson) {
                if let address { state.sessionsOfAddress.release(address) }
                return .person
            }
            return nil
        }
        if let refusal { throw refusal }
    }

    /// Returns whether `acquireSession` would currently succeed. Another session may take the capacity before it is called.
    package func hasSessionCapacity(for owner: SessionOwner?, _ address: ClientAddress?) -> Bool {
        self.state.withLock { state in
            let (perAddress, perPerson) = (self.limits.sessionsPerAddress, self.limits.sessionsPerPerson)
            if let address, perAddress > 0, state.sessionsOfAddress[address, default: 0] >= perAddress { return false }
            guard let owner, perPerson > 0 else { return true }
            return state.sessionsOfOwner[owner, default: 0] < perPerson
        }
    }

    package func releaseSession(_ owner: SessionOwner?, _ address: ClientAddress?) {
        self.state.withLock { state in
            if let address { state.sessionsOfAddress.release(address) }
            if let owner { state.sessionsOfOwner.release(owner) }
        }
    }

    /// The refusals so far, by reason.
    package var refused: Counts { self.state.withLock { $0.refused } }

    package func add(_ metric: Metric) { self.state.withLock { $0.refused.add(metric) } }

    /// Admits a REST request, or returns the time to wait.
    ///
    /// - Returns: the time to wait in milliseconds if the rate limit is reached, or `nil` if the request is admitted.
    package func requestDelay(of owner: SessionOwner, at now: UInt64) -> Int64? {
        let (rate, burst) = (self.limits.requestsPerPersonPerSecond, self.limits.requestsPerPersonBurst)
        return self.state.withLock { state in
            let wait = state.requests.take(owner, perSecond: rate, burst: burst, at: now)
            if wait != nil { state.refused.add(.requestsRefusedByRate) }
            return wait
        }
    }

    /// Returns what is left of the owner's rate limit of requests.
    package func requestAllowance(of owner: SessionOwner, at now: UInt64) -> RateAllowance? {
        let (rate, burst) = (self.limits.requestsPerPersonPerSecond, self.limits.requestsPerPersonBurst)
        return self.state.withLock {
            $0.requests.allowance(.person, owner, perSecond: rate, burst: burst, at: now)
        }
    }

    /// Returns what is left of the address's rate limit of requests without a token.
    package func anonymousAllowance(of address: ClientAddress, at now: UInt64) -> RateAllowance? {
        let (rate, burst) = (
            self.limits.anonymousRequestsPerAddressPerSecond, self.limits.anonymousRequestsPerAddressBurst
        )
        guard burst > 0 else { return nil }
        return self.state.withLock {
            $0.anonymousRequests.allowance(.address, address, perSecond: rate, burst: burst, at: now)
        }
    }

    /// Admits a location report by REST. A batch counts as one report. The result is like that of `requestDelay`.
    package func locationReportDelay(of owner: SessionOwner, at now: UInt64) -> Int64? {
        let (rate, burst) = (self.limits.positionsPerSecond, self.limits.positionsBurst)
        return self.state.withLock { $0.positions.take(owner, perSecond: rate, burst: burst, at: now) }
    }

    /// Admits a rider's declaration of its availability, by WebSocket or REST. The result is like that of `requestDelay`.
    package func declarationDelay(of owner: SessionOwner, at now: UInt64) -> Int64? {
        // Token buckets have integer rates per second. Dividing the time by 60 turns the rate into one per minute.
        let wait = self.state.withLock {
            $0.declarations.take(
                owner, perSecond: self.limits.availabilityPerMinute,
                burst: self.limits.availabilityPerMinute, at: now / 60)
        }
        return wait.map { $0 * 60 }
    }

    /// Admits a request without a token. The result is like that of `requestDelay`.
    package func anonymousRequestDelay(of address: ClientAddress, at now: UInt64) -> Int64? {
        let (rate, burst) = (
            self.limits.anonymousRequestsPerAddressPerSecond, self.limits.anonymousRequestsPerAddressBurst
        )
        guard burst > 0 else { return nil }
        return self.state.withLock { state in
            let wait = state.anonymousRequests.take(address, perSecond: rate, burst: burst, at: now)
            if wait != nil { state.refused.add(.anonymousRequestsRefused) }
            return wait
        }
    }

    /// Admits a request for a map tile. The result is like that of `requestDelay`.
    package func tileDelay(of address: ClientAddress, at now: UInt64) -> Int64? {
        let (rate, burst) = (self.limits.tilesPerAddressPerSecond, self.limits.tilesPerAddressBurst)
        guard burst > 0 else { return nil }
        return self.state.withLock { state in
            let wait = state.tiles.take(address, perSecond: rate, burst: burst, at: now)
            if wait != nil { state.refused.add(.tilesRefused) }
            return wait
        }
    }

    /// Decides whether a credential is verified. A locked-out address uses up its rate of verifications with each call,
    /// so call this once for each credential, and not again after `refuse`, which counts as a refusal.
    ///
    /// - Parameters:
    ///   - address: `nil` if no limit applies to the client's address.
    ///   - isKnown: whether this gateway has verified the credential before. If so, other credentials of the address
    ///     cannot crowd it out. Called only if the address is locked out.
    package func lockout(
        of address: ClientAddress?, at now: UInt64, isKnown: () -> Bool = { false }
    ) -> Lockout {
        guard let address,
            let wait = self.state.withLock({ $0.invalidTokens.wait(address, at: now) })
        else { return .none }
        guard !isKnown() else { return .verify(retryInMilliseconds: wait) }
        return self.state.withLock { state in
            let excess = state.verifications.take(
                address, perSecond: Lockout.verificationsPerSecond, burst: Lockout.verificationsBurst, at: now)
            guard excess != nil else { return .verify(retryInMilliseconds: wait) }
            state.refused.add(.requestsLockedOut)
            return .refuse(retryInMilliseconds: wait)
        }
    }

    /// Returns whether an address is locked out. Nothing is used up or counted.
    package func isLockedOut(_ address: ClientAddress?, at now: UInt64) -> Bool {
        guard let address else { return false }
        return self.state.withLock { $0.invalidTokens.wait(address, at: now) != nil }
    }

    /// Records an invalid token, link, ticket or code.
    ///
    /// - Parameters:
    ///   - address: `nil` if no limit applies to the client's address; then the token is only counted.
    ///   - lockout: the decision that allowed the verification.
    /// - Returns: the time to wait in milliseconds if the address was locked out; then this is the refusal, and it is the only
    ///   thing that is counted. `nil` if the client learns why its credential is invalid.
    package func recordInvalidToken(of address: ClientAddress?, during lockout: Lockout, at now: UInt64) -> Int64? {
        switch lockout {
        case .none: break
        case .verify(let wait), .refuse(let wait):
            self.add(.requestsLockedOut)
            return wait
        }
        let (rate, burst) = (self.limits.refusedTokensPerAddressPerSecond, self.limits.refusedTokensPerAddressBurst)
        self.state.withLock { state in
            state.refused.add(.tokensRefused)
            guard let address, burst > 0 else { return }
            _ = state.invalidTokens.take(address, perSecond: rate, burst: burst, at: now)
        }
        return nil
    }
}

extension Dictionary where Value == Int {
    /// - Parameter most: the limit, or 0 for none.
    fileprivate mutating func take(_ key: Key, atMost most: Int) -> Bool {
        let count = self[key, default: 0]
        guard most == 0 || count < most else { return false }
        self[key] = count + 1
        return true
    }

    fileprivate mutating func release(_ key: Key) {
        guard let count = self[key] else { return }
        self[key] = count > 1 ? count - 1 : nil
    }
}
