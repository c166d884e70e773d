// Which provider is asked next: in the order they were configured, past those that are left alone or whose day is used up. At
// the end of the chain there is none, and the built-in estimator answers.

/// Decides; `RouteFinder` asks.
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
        /// The provider at this place in the chain, which has been counted as asked.
        case ask(Int)
        case exhausted
    }

    package private(set) var links: [Link]

    package init(links: [Link]) { self.links = links }

    /// - Parameters:
    ///   - index: the first to be considered.
    ///   - now: ns of a clock that never goes back.
    ///   - wall: ms since the epoch.
    package mutating func next(from index: Int, now: UInt64, wall: Int64) -> Step {
        for index in self.links.indices.dropFirst(index) {
            guard self.links[index].budget.left(wall: wall) != 0, self.links[index].breaker.mayAsk(now: now) else {
                continue
            }
            _ = self.links[index].budget.take(wall: wall)
            return .ask(index)
        }
        return .exhausted
    }

    /// Who was to be asked was not.
    ///
    /// - Parameter isSpent: for want of budget, which there is none of until the day is over.
    package mutating func withheld(_ index: Int, isSpent: Bool, wall: Int64) {
        self.links[index].breaker.withdrawn()
        if isSpent { self.links[index].budget.exhaust(wall: wall) }
    }

    package mutating func succeeded(_ index: Int) { self.links[index].breaker.succeeded() }

    package mutating func failed(_ index: Int, _ failure: ProviderFailure, now: UInt64) {
        self.links[index].breaker.failed(failure, now: now)
    }
}
