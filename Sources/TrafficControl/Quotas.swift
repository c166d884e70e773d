// Who may have how many sockets and sessions on this gateway, and how fast who may speak. Counts are shared by the loops
// behind one lock, taken when a connection comes, signs in and goes; rates stand on each loop, where no lock is needed.

internal import Access
package import EnrouteWire
internal import Fanout
internal import Synchronization
package import Telemetry

/// Who a session counts for.
package enum SessionOwner: Hashable, Sendable {
    case person(PersonID)
}

/// Counts of one gateway. Safe from any thread.
package final class Quotas: Sendable {
    private struct State {
        var sockets: [ClientAddress: Int] = [:]
        var sessionsOfAddress: [ClientAddress: Int] = [:]
        var sessionsOfOwner: [SessionOwner: Int] = [:]
        /// REST requests of a person, and refused tokens of an address.
        var requests = RateTable<SessionOwner>()
        /// Batches of positions that a person sends by REST.
        var positions = RateTable<SessionOwner>()
        /// What a rider declares, by the slower clock of `availability`.
        var declarations = RateTable<SessionOwner>()
        var refusals = RateTable<ClientAddress>()
        /// What an address asks for without saying who it is, and the tiles it asks for.
        var visits = RateTable<ClientAddress>()
        var tiles = RateTable<ClientAddress>()
        /// What was refused, for the metrics.
        var refused = Counts()
    }

    package enum Refusal: Error {
        case person, address
    }

    private let limits: Limits
    private let state = Mutex(State())

    package init(limits: Limits) { self.limits = limits }

    /// One more socket, to be given back with `leave`. `false` when there are as many as may be.
    package func enter(_ address: ClientAddress) -> Bool {
        self.state.withLock { $0.sockets.take(address, atMost: self.limits.connectionsPerAddress) }
    }

    package func leave(_ address: ClientAddress) { self.state.withLock { $0.sockets.giveBack(address) } }

    /// One more session, to be given back with `end`.
    ///
    /// - Parameter address: `nil` where addresses are not limited.
    package func begin(_ owner: SessionOwner?, _ address: ClientAddress?) throws(Refusal) {
        let refusal: Refusal? = self.state.withLock { state in
            if let address, !state.sessionsOfAddress.take(address, atMost: self.limits.sessionsPerAddress) {
                return .address
            }
            if let owner, !state.sessionsOfOwner.take(owner, atMost: self.limits.sessionsPerPerson) {
                if let address { state.sessionsOfAddress.giveBack(address) }
                return .person
            }
            return nil
        }
        if let refusal { throw refusal }
    }

    /// Whether `begin` would do. By the time it is asked for somebody else may have come.
    package func hasRoom(for owner: SessionOwner?, _ address: ClientAddress?) -> Bool {
        self.state.withLock { state in
            let (perAddress, perPerson) = (self.limits.sessionsPerAddress, self.limits.sessionsPerPerson)
            if let address, perAddress > 0, state.sessionsOfAddress[address, default: 0] >= perAddress { return false }
            guard let owner, perPerson > 0 else { return true }
            return state.sessionsOfOwner[owner, default: 0] < perPerson
        }
    }

    package func end(_ owner: SessionOwner?, _ address: ClientAddress?) {
        self.state.withLock { state in
            if let address { state.sessionsOfAddress.giveBack(address) }
            if let owner { state.sessionsOfOwner.giveBack(owner) }
        }
    }

    /// Refusals so far, by reason.
    package var refused: Counts { self.state.withLock { $0.refused } }

    package func add(_ metric: Metric) { self.state.withLock { $0.refused.add(metric) } }

    /// A REST request; the answer is how many ms to wait, or `nil` when it may go on.
    package func request(of person: PersonID, at now: UInt64) -> Int64? {
        let (rate, burst) = (self.limits.requestsPerPersonPerSecond, self.limits.requestsPerPersonBurst)
        return self.state.withLock { state in
            let wait = state.requests.take(.person(person), perSecond: rate, burst: burst, at: now)
            if wait != nil { state.refused.add(.requestsRefusedByRate) }
            return wait
        }
    }

    /// A batch of positions by REST, which counts like one position of a session; the answer is like that of `request`.
    package func positions(of person: PersonID, at now: UInt64) -> Int64? {
        let (rate, burst) = (self.limits.positionsPerSecond, self.limits.positionsBurst)
        return self.state.withLock { $0.positions.take(.person(person), perSecond: rate, burst: burst, at: now) }
    }

    /// A rider declares whether it works, by session or REST; the answer is like that of `request`.
    package func availability(of person: PersonID, at now: UInt64) -> Int64? {
        // A minute of this clock takes as long as a second of the bucket's, whose rates are whole numbers a second.
        let wait = self.state.withLock {
            $0.declarations.take(
                .person(person), perSecond: self.limits.availabilityPerMinute,
                burst: self.limits.availabilityPerMinute, at: now / 60)
        }
        return wait.map { $0 * 60 }
    }

    /// A request of somebody who has not said who it is; the answer is like that of `request`.
    package func visit(of address: ClientAddress, at now: UInt64) -> Int64? {
        let (rate, burst) = (self.limits.visitsPerAddressPerSecond, self.limits.visitsPerAddressBurst)
        guard burst > 0 else { return nil }
        return self.state.withLock { state in
            let wait = state.visits.take(address, perSecond: rate, burst: burst, at: now)
            if wait != nil { state.refused.add(.visitsRefused) }
            return wait
        }
    }

    /// A tile of the map; the answer is like that of `request`.
    package func tile(of address: ClientAddress, at now: UInt64) -> Int64? {
        let (rate, burst) = (self.limits.tilesPerAddressPerSecond, self.limits.tilesPerAddressBurst)
        guard burst > 0 else { return nil }
        return self.state.withLock { state in
            let wait = state.tiles.take(address, perSecond: rate, burst: burst, at: now)
            if wait != nil { state.refused.add(.tilesRefused) }
            return wait
        }
    }

    /// Whether this address has sent too many tokens that were refused: ms to wait, or `nil`.
    ///
    /// - Parameter refuses: what asks is refused for it, and is counted.
    package func isLockedOut(_ address: ClientAddress, at now: UInt64, refuses: Bool = true) -> Int64? {
        self.state.withLock { state in
            let wait = state.refusals.wait(address, at: now)
            if refuses, wait != nil { state.refused.add(.requestsLockedOut) }
            return wait
        }
    }

    /// - Parameter address: `nil` where addresses are not limited: then it is only counted.
    package func tokenRefused(of address: ClientAddress?, at now: UInt64) {
        let (rate, burst) = (self.limits.refusalsPerAddressPerSecond, self.limits.refusalsPerAddressBurst)
        self.state.withLock { state in
            state.refused.add(.tokensRefused)
            guard let address, burst > 0 else { return }
            _ = state.refusals.take(address, perSecond: rate, burst: burst, at: now)
        }
    }
}

extension Dictionary where Value == Int {
    /// - Parameter most: 0 for no bound.
    fileprivate mutating func take(_ key: Key, atMost most: Int) -> Bool {
        let count = self[key, default: 0]
        guard most == 0 || count < most else { return false }
        self[key] = count + 1
        return true
    }

    fileprivate mutating func giveBack(_ key: Key) {
        guard let count = self[key] else { return }
        self[key] = count > 1 ? count - 1 : nil
    }
}

/// Token buckets by key. A full bucket says nothing and is forgotten, so the table holds who was busy lately.
struct RateTable<Key: Hashable> {
    private var buckets: [Key: TokenBucket] = [:]
    private var sweepAt = Self.sweepEvery

    /// Entries after which full buckets are looked for; then again at twice what is left.
    private static var sweepEvery: Int { 1024 }
    /// Entries at most; with more than so many busy ones all begin anew.
    private static var mostEntries: Int { 131_072 }

    var count: Int { self.buckets.count }

    /// Takes a token; `nil`, or how many ms to wait for one.
    mutating func take(_ key: Key, perSecond: Int, burst: Int, at now: UInt64) -> Int64? {
        if self.buckets[key] == nil, self.buckets.count >= self.sweepAt { self.sweep(at: now) }
        guard self.buckets[key, default: TokenBucket(perSecond: perSecond, burst: burst)].take(at: now) else {
            return self.wait(key, at: now) ?? 1
        }
        return nil
    }

    /// ms until there is a token; `nil` when there is one.
    mutating func wait(_ key: Key, at now: UInt64) -> Int64? {
        guard let wait = self.buckets[key]?.wait(at: now), wait > 0 else { return nil }
        return Int64(clamping: wait / 1_000_000 + 1)
    }

    private mutating func sweep(at now: UInt64) {
        self.buckets = self.buckets.filter { entry in
            var bucket = entry.value
            return !bucket.isFull(at: now)
        }
        if self.buckets.count >= Self.mostEntries { self.buckets = [:] }
        self.sweepAt = max(Self.sweepEvery, 2 * self.buckets.count)
    }
}
