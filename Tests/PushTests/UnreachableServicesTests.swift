import Testing

@testable import Push

/// Which push services get no messages for a while.
@Suite struct UnreachableServicesTests {
    private static let (one, other) = ("https://push.example", "https://push.example:8443")
    private static let start = ContinuousClock.now
    private static let rested = start + UnreachableServices.rest

    @Test func `a service that cannot be reached rests, and others do not`() {
        let services = UnreachableServices()
        #expect(services.admits(Self.one, now: Self.start))
        services.add(Self.one, now: Self.start)
        #expect(!services.admits(Self.one, now: Self.rested - .nanoseconds(1)))
        #expect(services.admits(Self.other, now: Self.start))
    }

    @Test func `after a rest one message is sent, and the others wait for its outcome, but not longer than a rest`() {
        let services = UnreachableServices()
        services.add(Self.one, now: Self.start)
        #expect(services.admits(Self.one, now: Self.rested))
        #expect(!services.admits(Self.one, now: Self.rested))
        #expect(services.admits(Self.one, now: Self.rested + UnreachableServices.rest))
        services.remove(Self.one)
        #expect(services.admits(Self.one, now: Self.rested) && services.admits(Self.one, now: Self.rested))
    }

    @Test func `the number of services is bounded, and those that have rested make room`() {
        let services = UnreachableServices()
        for number in 0..<UnreachableServices.most { services.add("https://\(number).example", now: Self.start) }
        services.add(Self.one, now: Self.start)
        #expect(services.admits(Self.one, now: Self.start))
        services.add("https://0.example", now: Self.rested - .seconds(1))
        services.add(Self.one, now: Self.rested)
        #expect(!services.admits(Self.one, now: Self.rested))
        #expect(!services.admits("https://0.example", now: Self.rested))
        #expect(services.admits("https://1.example", now: Self.rested))
    }
}
