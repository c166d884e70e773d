// Queries the providers of a chain one after the other until one has a route, then local routes, and caches the
// results. Values decide whether a query is needed, which provider to use, and how long to avoid a failing one.

/// The route finder of one process.
package actor RouteFinder {
    /// The outcome of a query, for metrics and logs.
    package enum Event: Hashable, Sendable {
        case answered(ArrivalSource, Duration)
        case failed(ArrivalSource, ProviderFailure)
        case cached(ArrivalSource)
        /// The query was not sent, because the budget did not permit it.
        case notPermitted(ArrivalSource)
    }

    /// Whether a query is within the budget that gateways share.
    package enum Permission: Hashable, Sendable {
        case granted
        /// Today's budget is used up.
        case spent
        case unknown
    }

    private let providers: [any RouteProvider]
    private let local: LocalRoutes?
    private let client: ProviderClient
    private let clock: @Sendable () -> (monotonic: UInt64, wall: Int64)
    private let report: @Sendable (Event) -> Void
    private var chain: RouteChain
    private var cache = RouteCache()
    /// The queries that are running.
    private var flights: [RouteCell: Task<SourcedRoute?, Never>] = [:]

    /// - Parameters:
    ///   - providers: in the order they are tried, each with its daily budget.
    ///   - local: queried after all providers.
    ///   - clock: ns of a monotonic clock, and ms since the epoch.
    package init(
        providers: [(provider: any RouteProvider, budget: DailyBudget)], local: LocalRoutes? = nil,
        client: ProviderClient,
        clock: @escaping @Sendable () -> (monotonic: UInt64, wall: Int64),
        report: @escaping @Sendable (Event) -> Void = { _ in }
    ) {
        self.providers = providers.map(\.provider)
        self.chain = RouteChain(links: providers.map { .init(source: $0.provider.source, budget: $0.budget) })
        (self.local, self.client, self.clock, self.report) = (local, client, clock, report)
    }

    /// Finds a route.
    ///
    /// - Parameter permit: called before each query to a provider; counts the query.
    /// - Returns: `nil` if no provider has a route. Then use the built-in estimator.
    package func find(
        _ question: RouteQuery, permit: @escaping @Sendable (ArrivalSource) async -> Permission = { _ in .granted }
    ) async -> SourcedRoute? {
        // Without local routes, a provider's route is used for all vehicles of its mode.
        let cell = RouteCell(question, distinguishesVehicles: self.local != nil)
        if let known = self.cache.answer(cell, now: self.clock().monotonic) {
            self.report(.cached(known.source))
            return known.shared(with: question)
        }
        if let flight = self.flights[cell] { return await flight.value?.shared(with: question) }
        // A separate task, because the first caller may be cancelled while others wait. It is never cancelled; the
        // client's timeout limits each query.
        let flight = Task { await self.search(question, cell, permit) }
        self.flights[cell] = flight
        return await flight.value
    }

    private func search(
        _ question: RouteQuery, _ cell: RouteCell, _ permit: @Sendable (ArrivalSource) async -> Permission
    ) async -> SourcedRoute? {
        defer { self.flights[cell] = nil }
        var index = 0
        while case .ask(let asked) = self.step(from: index, question.mode) {
            index = asked + 1
            let provider = self.providers[asked]
            let permission = await permit(provider.source)
            guard permission == .granted else {
                self.chain.notSent(asked, isSpent: permission == .spent, wall: self.clock().wall)
                self.report(.notPermitted(provider.source))
                continue
            }
            let began = self.clock().monotonic
            do throws(ProviderFailure) {
                let answer = try provider.answer(try await self.client.ask(provider.request(question)))
                    .checked(for: question)
                self.chain.succeeded(asked)
                let route = self.found(answer, of: provider.source, for: question, since: began)
                self.cache.store(route, cell, now: self.clock().monotonic)
                return route
            } catch {
                self.chain.failed(asked, error, now: self.clock().monotonic)
                self.report(.failed(provider.source, error))
            }
        }
        let route = await self.searchLocally(question)
        if let route { self.cache.store(route, cell, now: self.clock().monotonic) }
        return route
    }

    /// Finds a route without querying a provider: a cached one, or a local one. A local route is not cached here, because
    /// a provider's is better.
    ///
    /// - Returns: `nil` if no route was found. Then use the built-in estimator.
    package func findWithoutProviders(_ question: RouteQuery) async -> SourcedRoute? {
        let cell = RouteCell(question, distinguishesVehicles: self.local != nil)
        if let known = self.cache.answer(cell, now: self.clock().monotonic) {
            self.report(.cached(known.source))
            return known.shared(with: question)
        }
        return await self.searchLocally(question)
    }

    private func searchLocally(_ question: RouteQuery) async -> SourcedRoute? {
        guard let local = self.local else { return nil }
        let began = self.clock().monotonic
        do throws(ProviderFailure) {
            let answer = try await local.answer(question)
            return self.found(answer, of: local.source, for: question, since: began)
        } catch {
            self.report(.failed(local.source, error))
            return nil
        }
    }

    private func found(
        _ answer: RouteAnswer, of source: ArrivalSource, for question: RouteQuery, since began: UInt64
    ) -> SourcedRoute {
        let now = self.clock().monotonic
        self.report(.answered(source, .nanoseconds(Int64(clamping: now - min(now, began)))))
        return SourcedRoute(answer: answer, source: source, stops: Array(question.places.dropFirst()))
    }

    private func step(from index: Int, _ mode: TravelMode) -> RouteChain.Step {
        let (monotonic, wall) = self.clock()
        return self.chain.next(from: index, now: monotonic, wall: wall) { self.providers[$0].knows(mode) }
    }
}
