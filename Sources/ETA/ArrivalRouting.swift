// The state that a gateway's event loops share for calculating arrivals: one chain of routing providers with
// connections, circuit breakers and cache, the street network, and the counts of their outcomes.

internal import HTTPValues
package import Jobs
package import LiveState
package import Logging
internal import NIOCore
package import Routing
internal import Synchronization
package import Telemetry
package import TrafficControl

/// Thread-safe.
package struct ArrivalRouting: Sendable {
    /// `nil` if neither a provider nor a street network is configured. Then only the built-in estimator is used.
    let finder: RouteFinder?
    package let counts: ArrivalCounts
    /// What was learned about trips whose last follower has just disconnected.
    let learned = LearnedTrips()
    /// `nil` if geocoding is not configured.
    package let geocoder: (@Sendable (ETAStore) -> Geocoder)?
    /// The daily number of queries to each provider, for all gateways together. Providers without a limit are missing.
    private let budgets: [ArrivalSource: Int]

    /// No providers.
    static var alone: ArrivalRouting {
        ArrivalRouting(finder: nil, counts: ArrivalCounts(), geocoder: nil, budgets: [:])
    }

    /// Runs `body` with the providers of `settings`, and closes their connections afterwards.
    ///
    /// - Throws: `InvalidProviderSetting`, or the error that `body` throws.
    package static func with<Result: Sendable>(
        _ settings: ArrivalSettings, _ logger: Logger, _ body: (ArrivalRouting) async throws -> Result
    ) async throws -> Result {
        let counts = ArrivalCounts()
        let failures = FailureLog(logger)
        let budgets = Dictionary(
            settings.services.compactMap { service in service.dailyBudget.map { (service.provider.source, $0) } },
            uniquingKeysWith: { first, _ in first })
        let hasRoutes = !settings.services.isEmpty || settings.streets != nil
        guard hasRoutes || settings.geocoding != nil else { return try await body(.alone) }
        let client = try ProviderClient(authorities: settings.authorities, longestWait: settings.longestWait)
        let finder = RouteFinder(
            providers: settings.services.map { ($0.provider, DailyBudget(questions: $0.dailyBudget)) },
            local: settings.streets.map { StreetRoutes($0).local }, client: client,
            clock: { (NIODeadline.now().uptimeNanoseconds, WallClock.nowMilliseconds) }
        ) { event in
            counts.note(event)
            failures.note(event)
        }
        let retries = GeocodingRetries(pauses: settings.geocodingPauses)
        async let _: Void = retries.run()
        do {
            let geocoder = settings.geocoding.map { geocoding in
                { @Sendable (store: ETAStore) in
                    Geocoder(
                        service: geocoding.service, client: client, dailyBudget: geocoding.dailyBudget,
                        store: store, retries: retries, logger: logger)
                }
            }
            let result = try await body(
                ArrivalRouting(
                    finder: hasRoutes ? finder : nil, counts: counts, geocoder: geocoder,
                    budgets: budgets))
            await client.shutdown()
            return result
        } catch {
            await client.shutdown()
            throw error
        }
    }

    /// Finds a route with one of the providers, or else in the street network.
    ///
    /// - Parameter store: where gateways count their queries.
    /// - Returns: `nil` if neither has a route.
    package func find(_ question: RouteQuery, _ store: ETAStore) async -> SourcedRoute? {
        guard let finder = self.finder else { return nil }
        return await finder.find(question) { source in await self.permit(source, store) }
    }

    /// Finds a route that costs no query: a cached one, or one in the street network.
    ///
    /// - Returns: `nil` if no such route is known.
    func findWithoutProviders(_ question: RouteQuery) async -> SourcedRoute? {
        await self.finder?.findWithoutProviders(question)
    }

    /// Returns whether another query to the provider is within today's budget. If the count is unavailable, the query
    /// is not permitted, because the budget must never be exceeded.
    private func permit(_ source: ArrivalSource, _ store: ETAStore) async -> RouteFinder.Permission {
        guard let budget = self.budgets[source] else { return .granted }
        guard
            let asked = try? await store.count(source.rawValue, day: DailyBudget.day(of: WallClock.nowMilliseconds))
                .get()
        else {
            return .unknown
        }
        self.counts.budget(of: source, left: max(0, budget - Int(clamping: asked)))
        return asked <= budget ? .granted : .spent
    }
}

/// Logs failures of providers, each kind at most once a minute: as an error if operations staff must act, otherwise as
/// a warning. Thread-safe.
private final class FailureLog: Sendable {
    private struct Kind: Hashable {
        let source: ArrivalSource
        let outcome: ETAMetrics.Outcome
    }

    private let logger: Logger
    private let said = Mutex(KeyedLogThrottle<Kind>(maxSubjects: FailureLog.maxKinds))

    /// More than the number of providers times outcomes.
    private static let maxKinds = 100

    init(_ logger: Logger) { self.logger = logger }

    func note(_ event: RouteFinder.Event) {
        guard case .failed(let source, let failure) = event, failure.isFault else { return }
        let kind = Kind(source: source, outcome: ArrivalCounts.outcome(failure))
        guard let unsaid = self.said.withLock({ $0.record(kind, now: .now()) }) else { return }
        var metadata: Logger.Metadata = [LogKey.provider: "\(source.rawValue)", LogKey.reason: "\(failure)"]
        if unsaid > 0 { metadata[LogKey.count] = "\(unsaid)" }
        if failure.needsOperator {
            self.logger.error("ETA provider unusable; check its settings", metadata: metadata)
        } else {
            self.logger.warning("ETA provider unavailable", metadata: metadata)
        }
    }
}

/// The counts of all event loops.
package final class ArrivalCounts: Sendable {
    private let state = Mutex(ETAMetrics())
    /// Whether each provider worked when it was last queried, for `/healthz` and `enroute_dependency_up`. A provider
    /// that finds no route works. A provider that has not been queried is missing.
    package let services = DependencyStates()

    package var text: String { self.state.withLock { $0.text } }

    func budget(of source: ArrivalSource, left: Int) {
        self.state.withLock { $0.setRemainingBudget(of: source.rawValue, to: left) }
    }

    func recordError(_ source: ArrivalSource, minutes: Int, seconds: Double) {
        self.state.withLock { $0.recordError(source.rawValue, minutes: minutes, seconds: seconds) }
    }

    package func note(_ event: RouteFinder.Event) {
        let (source, outcome): (ArrivalSource, ETAMetrics.Outcome) =
            switch event {
            case .answered(let source, _): (source, .answered)
            case .cached(let source): (source, .cached)
            case .notPermitted(let source): (source, .overBudget)
            case .failed(let source, let failure): (source, Self.outcome(failure))
            }
        self.state.withLock { $0.recordRequest(source.rawValue, outcome) }
        guard let service = Dependency(rawValue: source.rawValue) else { return }
        switch event {
        case .answered: self.services.record(service, isUp: true)
        case .failed(_, let failure): self.services.record(service, isUp: !failure.isFault)
        case .cached, .notPermitted: break
        }
    }

    package static func outcome(_ failure: ProviderFailure) -> ETAMetrics.Outcome {
        switch failure {
        case .late: .late
        case .unreachable: .unreachable
        case .throttled: .throttled
        case .keyRefused: .keyRefused
        case .malformed, .tooLong: .malformed
        case .noRoute, .noPlace: .noRoute
        case .redirected, .status: .failed
        }
    }
}
