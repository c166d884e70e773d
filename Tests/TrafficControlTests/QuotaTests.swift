import Access
import EnrouteWire
import NIOCore
import Testing

@testable import TrafficControl

@Suite struct QuotaTests {
    private static func limits(_ change: (inout Limits) -> Void) -> Limits {
        var limits = Limits()
        change(&limits)
        return limits
    }
    private static let anna = SessionOwner.person(PersonID("anna")!, .customer)
    private static let here = ClientAddress("192.0.2.1")!

    @Test func `a user has as many sessions as allowed, and one more after one has closed`() throws {
        let quotas = Quotas(limits: Self.limits { $0.sessionsPerPerson = 2 })
        for _ in 0..<2 { try quotas.acquireSession(Self.anna, Self.here) }
        #expect(throws: Quotas.Refusal.person) { try quotas.acquireSession(Self.anna, Self.here) }
        quotas.releaseSession(Self.anna, Self.here)
        try quotas.acquireSession(Self.anna, Self.here)
    }

    @Test func `a customer and a rider with the same id have separate limits`() throws {
        let quotas = Quotas(
            limits: Self.limits {
                $0.sessionsPerPerson = 1
                ($0.requestsPerPersonPerSecond, $0.requestsPerPersonBurst) = (1, 1)
            })
        for role in [Role.customer, .rider] {
            let owner = SessionOwner(Grant(person: PersonID("7")!, role: role))
            try quotas.acquireSession(owner, Self.here)
            #expect(throws: Quotas.Refusal.person) { try quotas.acquireSession(owner, Self.here) }
            #expect(quotas.requestDelay(of: owner, at: 1) == nil)
            #expect(quotas.requestDelay(of: owner, at: 1) != nil)
        }
    }

    @Test func `a session refused because of its user does not count for its address`() throws {
        let quotas = Quotas(
            limits: Self.limits {
                $0.sessionsPerPerson = 1
                $0.sessionsPerAddress = 2
            })
        try quotas.acquireSession(Self.anna, Self.here)
        for _ in 0..<5 { #expect(throws: Quotas.Refusal.person) { try quotas.acquireSession(Self.anna, Self.here) } }
        try quotas.acquireSession(.person(PersonID("bert")!, .customer), Self.here)
        #expect(throws: Quotas.Refusal.address) {
            try quotas.acquireSession(.person(PersonID("cleo")!, .customer), Self.here)
        }
    }

    @Test func `a limit of 0 is no limit`() throws {
        let quotas = Quotas(
            limits: Self.limits {
                ($0.sessionsPerPerson, $0.sessionsPerAddress, $0.connectionsPerAddress) = (0, 0, 0)
            })
        for _ in 0..<1000 {
            try quotas.acquireSession(Self.anna, Self.here)
            #expect(quotas.acquireConnection(Self.here))
        }
    }

    @Test func `B34: a burst of 0 disables a limit per address, and refused tokens are still counted`() {
        let quotas = Quotas(
            limits: Self.limits {
                ($0.refusedTokensPerAddressBurst, $0.anonymousRequestsPerAddressBurst, $0.tilesPerAddressBurst) = (
                    0, 0, 0
                )
            })
        for _ in 0..<1000 {
            let lockout = quotas.lockout(of: Self.here, at: 1)
            #expect(lockout == .none)
            #expect(quotas.recordInvalidToken(of: Self.here, during: lockout, at: 1) == nil)
            #expect(
                quotas.anonymousRequestDelay(of: Self.here, at: 1) == nil
                    && quotas.tileDelay(of: Self.here, at: 1) == nil)
        }
        #expect(quotas.refused[.tokensRefused] == 1000)
        #expect(SharedBuckets<ClientAddress>(perSecond: 400, burst: 0).acquire(Self.here) == nil)
    }

    @Test func `full buckets are removed`() {
        var table = RateTable<Int>()
        for key in 0..<5000 { _ = table.take(key, perSecond: 10, burst: 10, at: UInt64(key) * 1_000_000_000) }
        #expect(table.count <= 1025)
    }
}

@Suite struct MessageRateTests {
    private static func limits() -> Limits {
        var limits = Limits()
        (limits.messagesPerSecond, limits.messagesBurst) = (10, 5)
        return limits
    }

    @Test func `a burst is allowed, then messages are refused with a retry time, then the rate is excessive`() {
        var rate = MessageRate(Self.limits(), address: nil)
        for _ in 0..<5 { #expect(rate.admit(at: 1) == .allowed) }
        for _ in 0..<10 { #expect(rate.admit(at: 1) == .refused(retryInMilliseconds: 101)) }
        #expect(rate.admit(at: 1) == .excessive)
    }

    @Test func `a client that slows down is forgiven`() {
        var rate = MessageRate(Self.limits(), address: nil)
        for _ in 0..<5 { _ = rate.admit(at: 1) }
        for _ in 0..<10 { _ = rate.admit(at: 1) }
        #expect(rate.admit(at: 10_000_000_000) == .allowed)
        var verdicts: [MessageRate.Verdict] = []
        for _ in 0..<14 { verdicts.append(rate.admit(at: 10_000_000_000)) }
        #expect(!verdicts.contains(.excessive))
    }

    @Test
    func `D5: sessions of one user share a rate limit, and refused messages do not use it up`() {
        let people = SharedBuckets<PersonID>(perSecond: 1, burst: 3)
        let anna = PersonID("anna")!
        var rates = (0..<2).map { _ in MessageRate(Self.limits(), address: nil) }
        for index in 0..<2 { rates[index].signedIn(people.acquire(anna)) }
        #expect(rates[0].admit(at: 1) == .allowed)
        #expect(rates[1].admit(at: 1) == .allowed)
        #expect(rates[0].admit(at: 1) == .allowed)
        #expect(rates[1].admit(at: 1) == .refused(retryInMilliseconds: 1001))
        people.release(anna)
        people.release(anna)
        var late = MessageRate(Self.limits(), address: nil)
        late.signedIn(people.acquire(anna))
        #expect(late.admit(at: 1) == .allowed)
    }

    @Test func `viewers of a link share a rate limit that is not that of the job's customer`() {
        let owners = SharedBuckets<SessionOwner>(perSecond: 1, burst: 1)
        let anna = PersonID("anna")!
        func rate(_ grant: Grant) -> MessageRate {
            var rate = MessageRate(Self.limits(), address: nil)
            rate.signedIn(owners.acquire(SessionOwner(grant)))
            return rate
        }
        var viewers = (0..<2).map { _ in rate(Grant(person: anna, role: .customer, link: "link-1")) }
        #expect(viewers[0].admit(at: 1) == .allowed)
        #expect(viewers[1].admit(at: 1) == .refused(retryInMilliseconds: 1001))
        var other = rate(Grant(person: anna, role: .customer, link: "link-2"))
        var customer = rate(Grant(person: anna, role: .customer))
        var rider = rate(Grant(person: anna, role: .rider))
        #expect(other.admit(at: 1) == .allowed)
        #expect(customer.admit(at: 1) == .allowed)
        #expect(rider.admit(at: 1) == .allowed)
    }
}

@Suite struct ClientAddressTests {
    @Test func `addresses in one IPv6 /64 are equal, and an IPv4-mapped address equals its IPv4 address`() {
        #expect(ClientAddress("2001:db8:1:2::1") == ClientAddress("2001:db8:1:2:ffff::9"))
        #expect(ClientAddress("2001:db8:1:2::1") != ClientAddress("2001:db8:1:3::1"))
        #expect(ClientAddress("::ffff:192.0.2.7") == ClientAddress("192.0.2.7"))
        #expect(ClientAddress("192.0.2.7") != ClientAddress("192.0.2.8"))
        #expect(ClientAddress("nobody") == nil)
    }

    @Test func `the client is the last forwarded address that is not a trusted proxy`() throws {
        let proxies = try TrustedProxies(["10.0.0.0/8", "2001:db8::/32"])
        let balancer = try SocketAddress(ipAddress: "10.1.2.3", port: 1)
        let stranger = try SocketAddress(ipAddress: "192.0.2.1", port: 1)
        #expect(proxies.client(of: stranger, forwardedFor: ["198.51.100.1"]) == ClientAddress("192.0.2.1"))
        #expect(
            proxies.client(of: balancer, forwardedFor: ["203.0.113.9, 198.51.100.1", "10.9.9.9"])
                == ClientAddress("198.51.100.1"))
        #expect(proxies.client(of: balancer, forwardedFor: []) == nil)
        #expect(proxies.trusts(try SocketAddress(ipAddress: "2001:db8:9::1", port: 1)))
        #expect(!proxies.trusts(try SocketAddress(ipAddress: "11.0.0.1", port: 1)))
    }

    @Test(arguments: [
        ("203.0.113.9:51234", "203.0.113.9"), ("[2001:470::9]:51234", "2001:470::9"), ("[2001:470::9]", "2001:470::9"),
        ("2001:470::9", "2001:470::9"), ("203.0.113.9 , ,10.0.0.7:1", "203.0.113.9"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
    ])
    func `B39: a forwarded address may have a port and brackets`(forwarded: String, address: String) throws {
        let proxies = try TrustedProxies(["10.0.0.0/8", "2001:db8::/32"])
        let balancer = try SocketAddress(ipAddress: "10.1.2.3", port: 1)
        #expect(proxies.client(of: balancer, forwardedFor: [forwarded]) == ClientAddress(address))
    }

    @Test(arguments: [
        "unknown", "_hidden", "203.0.113.9:", "203.0.113.9:x", "203.0.113.9:99999", "203.0.113.9:-1", "[203.0.113.9]:1",
        "[2001:470::9", "[2001:470::9]1", "2001:470::9]:1", ":80", "[]", "198.51.100.1, who",
    ])
    func `B39: an invalid forwarded address counts for the proxy`(forwarded: String) throws {
        let proxies = try TrustedProxies(["10.0.0.0/8"])
        let balancer = try SocketAddress(ipAddress: "10.1.2.3", port: 1)
        #expect(proxies.client(of: balancer, forwardedFor: [forwarded]) == ClientAddress("10.1.2.3"))
        #expect(proxies.client(of: balancer, forwardedFor: ["10.9.9.9"]) == nil)
    }

    @Test(arguments: ["10.0.0.0/33", "ten", "10.0.0.1/", "::/129", "10.0.0.0/-1"])
    func `the error for an invalid network contains it`(text: String) {
        #expect { try TrustedProxies([text]) } throws: { "\($0)".contains(text) }
    }
}

@Suite struct OverloadJudgeTests {
    private static func detector(_ change: (inout OverloadBounds) -> Void = { _ in }) -> OverloadDetector {
        var bounds = OverloadBounds()
        change(&bounds)
        return OverloadDetector(bounds: bounds, descriptorLimit: 20_000)
    }

    @Test func `D6: accepting pauses at the limit of the lag and resumes at half of it`() {
        var detector = Self.detector()
        for (lag, isPaused) in [(49, false), (50, true), (30, true), (25, true), (24, false), (49, false)] {
            for _ in 0..<LagHistory.ticks { _ = detector.update(.init(loopLagMilliseconds: lag)) }
            #expect(detector.reasons == (isPaused ? [.loopLag] : []), "at \(lag) ms")
        }
    }

    @Test func `B17: one late tick, however late, does not pause accepting, but five in a second do`() {
        var detector = Self.detector()
        for lag in [50, 0, 0, 5_000, 0, 0, 60, 0, 0, 50, 0, 0, 0, 400] {
            _ = detector.update(.init(loopLagMilliseconds: lag))
            #expect(detector.reasons.isEmpty)
        }
        for late in 1...10 {
            _ = detector.update(.init(loopLagMilliseconds: 50))
            if late == 1 { #expect(detector.reasons.isEmpty) }
        }
        #expect(detector.reasons == [.loopLag])
        // The overload is over after a second without a late tick.
        for tick in 1...10 {
            _ = detector.update(.init(loopLagMilliseconds: 0))
            #expect(detector.reasons == (tick < 10 ? [.loopLag] : []))
        }
    }

    @Test func `D7: some descriptors are reserved, and accepting pauses at nine tenths`() {
        #expect(OverloadBounds().descriptors(of: 20_000) == 18_000)
        #expect(OverloadBounds().descriptors(of: 256) == 192)
        var detector = Self.detector()
        _ = detector.update(.init(descriptors: 18_000))
        #expect(detector.reasons == [.descriptors])
        _ = detector.update(.init(descriptors: 17_500))
        #expect(detector.reasons.isEmpty)
    }

    @Test func `above the memory limit a few sessions are closed each second`() {
        var detector = Self.detector { $0.memoryBytes = 1000 }
        #expect(detector.update(.init(memoryBytes: 999)) == 0)
        #expect(detector.update(.init(memoryBytes: 1001)) == OverloadDetector.shedPercent)
        #expect(detector.reasons == [.memory])
        #expect(detector.update(.init(memoryBytes: 960)) == 0)
        #expect(detector.reasons == [.memory])
        _ = detector.update(.init(memoryBytes: 940))
        #expect(detector.reasons.isEmpty)
    }

    @Test func `the lag of a blocked event loop is the time since its last tick`() {
        let load = SharedLoad(loops: 2)
        let (second, tick): (UInt64, UInt64) = (1_000_000_000, 100_000_000)
        load.pulses[0].beat(now: second, tick: tick)
        load.pulses[1].beat(now: second, tick: tick)
        #expect(load.loopLag(now: second + tick, tick: tick) == 0)
        load.pulses[0].beat(now: second + tick, tick: tick)
        #expect(load.loopLag(now: second + 3 * tick, tick: tick) == 200)
        load.pulses[1].beat(now: second + 4 * tick, tick: tick)
        load.pulses[0].beat(now: second + 4 * tick, tick: tick)
        #expect(load.loopLag(now: second + 4 * tick, tick: tick) == 300)
    }
}
