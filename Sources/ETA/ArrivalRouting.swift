// What the loops of a gateway share to calculate arrivals: one chain of services, with their connections, breakers and cache,
// and one count of what came of asking them.

internal import HTTPValues
package import Jobs
package import LiveState
package import Logging
internal import NIOCore
package import Routing
internal import Synchronization
package import Telemetry
package import TrafficControl

/// Safe from any thread.
package struct ArrivalRouting: Sendable {
    /// `nil` where no service is configured: the built-in estimator answers alone.
    let finder: RouteFinder?
    package let counts: ArrivalCounts
    /// `nil` where no place of an address is looked up.
    package let geocoder: (@Sendable (ETAStore) -> Geocoder)?
    /// What each service may be asked in a day by all gateways together; those without a bound are not named.
    private let budgets: [ArrivalSource: Int]

    /// Without any service.
    static var alone: ArrivalRouting {
        ArrivalRouting(finder: nil, counts: ArrivalCounts(), geocoder: nil, budgets: [:])
    }

    /// Runs `body` with the services of `settings`, and closes their connections however it ends.
    ///
    /// - Throws: `InvalidProviderSetting`, and what `body` throws.
    package static func with<Result: Sendable>(
        _ settings: ArrivalSettings, _ logger: Logger, _ body: (ArrivalRouting) async throws -> Result
    ) async throws -> Result {
        let counts = ArrivalCounts()
        let failures = FailureLog(logger)
        let budgets = Dictionary(
            settings.services.compactMap { service in service.dailyBudget.map { (service.provider.source, $0) } },
            uniquingKeysWith: { first, _ in first })
        guard !settings.services.isEmpty || settings.geocoding != nil else { return try await body(.alone) }
        let client = try ProviderClient(authorities: settings.authorities, longestWait: settings.longestWait)
        let finder = RouteFinder(
            providers: settings.services.map { ($0.provider, DailyBudget(questions: $0.dailyBudget)) }, client: client,
            clock: { (NIODeadline.now().uptimeNanoseconds, WallClock.nowMilliseconds) }
        ) { event in
            counts.note(event)
            failures.note(event)
        }
        do {
            let geocoder = settings.geocoding.map { geocoding in
                { @Sendable (store: ETAStore) in
                    Geocoder(
                        service: geocoding.service, client: client, dailyBudget: geocoding.dailyBudget,
                        store: store, logger: logger)
                }
            }
            let result = try await body(
                ArrivalRouting(
                    finder: settings.services.isEmpty ? nil : finder, counts: counts, geocoder: geocoder,
                    budgets: budgets))
            await client.shutdown()
            return result
        } catch {
            await client.shutdown()
            throw error
        }
    }

    /// A way from one of the services.
    ///
    /// - Parameter store: where gateways count what they ask.
    /// - Returns: `nil` when none has an answer.
    package func find(_ question: RouteQuery, _ store: ETAStore) async -> SourcedRoute? {
        guard let finder = self.finder else { return nil }
        return await finder.find(question) { source in await self.permit(source, store) }
    }

    /// Whether a service may be asked once more today. When that can not be known it may not: a budget is a promise.
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

/// Logs what goes wrong with the services, each kind of failure of a service once a minute: an error where somebody has to
/// act, a warning where it may pass by itself. Safe from any thread.
private final class FailureLog: Sendable {
    private struct Kind: Hashable {
        let source: ArrivalSource
        let outcome: ETAMetrics.Outcome
    }

    private let logger: Logger
    private let said = Mutex(KeyedLogThrottle<Kind>(maxSubjects: FailureLog.maxKinds))

    /// More than there are services and outcomes.
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

/// Counts of all loops.
package final class ArrivalCounts: Sendable {
    private let state = Mutex(ETAMetrics())
    /// Whether each service answers, as it was when it was last asked.
    package let services = DependencyStates()

    package var text: String { self.state.withLock { $0.text } }

    func budget(of source: ArrivalSource, left: Int) {
        self.state.withLock { $0.budget(of: source.rawValue, left: left) }
    }

    func erred(_ source: ArrivalSource, minutes: Int, seconds: Double) {
        self.state.withLock { $0.erred(source.rawValue, minutes: minutes, seconds: seconds) }
    }

    package func note(_ event: RouteFinder.Event) {
        let (source, outcome): (ArrivalSource, ETAMetrics.Outcome) =
            switch event {
            case .answered(let source, _): (source, .answered)
            case .cached(let source): (source, .cached)
            case .withheld(let source): (source, .overBudget)
            case .failed(let source, let failure): (source, Self.outcome(failure))
            }
        self.state.withLock { $0.asked(source.rawValue, outcome) }
        guard let service = Dependency(rawValue: source.rawValue) else { return }
        switch event {
        case .answered: self.services.record(service, isUp: true)
        case .failed(_, let failure): self.services.record(service, isUp: !failure.isFault)
        case .cached, .withheld: break
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
