// Decides which provider to try next: in the configured order, without providers whose circuit breaker is open or whose
// daily budget is used up. After the last one, `RouteFinder` queries local routes, if there are any. Then the built-in
// estimator is used.

/// The order of the providers. `RouteFinder` sends the requests.
package struct RouteChain: Sendable {
    package struct Link: Sendable {
        package let source: ArrivalSource
        package var breaker: CircuitBreaker
        package var budget: DailyBudget

        package init(source: ArrivalSource, breaker: CircuitBreaker = CircuitBreaker(), budget: DailyBudget) {
            (self.source, self.breaker, self.budget) = (source, breaker, budget)
        }
    }

    package enum Step: Hashable, Sendable {
        /// Send the query to the provider at this index. It is already counted in this gateway's own `DailyBudget`, but
        /// not in the count in Redis that gateways share: `RouteFinder` counts it there before it sends.
        case ask(Int)
        case exhausted
    }

    package private(set) var links: [Link]

    package init(links: [Link]) { self.links = links }

    /// - Parameters:
    ///   - index: the first provider to consider.
    ///   - now: ns of a monotonic clock.
    ///   - wall: ms since the epoch.
    ///   - isSuitable: whether the provider at an index knows such routes.
    package mutating func next(
        from index: Int, now: UInt64, wall: Int64, where isSuitable: (Int) -> Bool = { _ in true }
    ) -> Step {
        for index in self.links.indices.dropFirst(index) {
            guard isSuitable(index), self.links[index].budget.left(wall: wall) != 0,
                self.links[index].breaker.mayAsk(now: now)
            else { continue }
            _ = self.links[index].budget.take(wall: wall)
            return .ask(index)
        }
        return .exhausted
    }

    /// Reports that the query was not sent.
    ///
    /// - Parameter isSpent: whether the shared daily budget is used up.
    package mutating func notSent(_ index: Int, isSpent: Bool, wall: Int64) {
        self.links[index].breaker.requestNotSent()
        if isSpent { self.links[index].budget.exhaust(wall: wall) }
    }

    package mutating func succeeded(_ index: Int) { self.links[index].breaker.succeeded() }

    package mutating func failed(_ index: Int, _ failure: ProviderFailure, now: UInt64) {
        self.links[index].breaker.failed(failure, now: now)
    }
}
