// Routes that the process calculates itself. `RouteFinder` queries them after all providers: they cost no money and cannot
// be unreachable, so they have no daily budget and no circuit breaker.

/// A source of routes in this process.
package struct LocalRoutes: Sendable {
    let source: ArrivalSource
    let answer: @Sendable (RouteQuery) async throws(ProviderFailure) -> RouteAnswer

    /// - Parameter answer: returns a route; throws `noRoute` if there is none, and `late` if it has too much to do.
    package init(
        source: ArrivalSource, answer: @escaping @Sendable (RouteQuery) async throws(ProviderFailure) -> RouteAnswer
    ) {
        (self.source, self.answer) = (source, answer)
    }
}
