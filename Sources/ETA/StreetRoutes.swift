// Routes in the gateway's own street network. They take CPU time, so they are calculated on separate threads instead of the
// event loops, and the number of waiting searches is bounded.

internal import NIOPosix
internal import Routing
internal import Streets
internal import Synchronization

/// The searches of a process. Thread-safe.
final class StreetRoutes: Sendable {
    private let network: StreetNetwork
    private let pool: NIOThreadPool
    private let waiting = Atomic<Int>(0)

    /// Searches run one after the other on these threads. A search takes some milliseconds, and most queries are answered from
    /// the cache of `RouteFinder`.
    private static let threads = 1
    /// The maximum number of searches that wait or run. Further ones fail with `late`, and the built-in estimator is used.
    static let maxWaiting = 200

    init(_ network: StreetNetwork) {
        self.network = network
        self.pool = NIOThreadPool(numberOfThreads: Self.threads)
        self.pool.start()
    }

    deinit { self.pool.shutdownGracefully { _ in } }

    var local: LocalRoutes {
        LocalRoutes(source: .streets) { question throws(ProviderFailure) in try await self.answer(question) }
    }

    private func answer(_ question: RouteQuery) async throws(ProviderFailure) -> RouteAnswer {
        guard self.waiting.add(1, ordering: .relaxed).newValue <= Self.maxWaiting else {
            self.waiting.subtract(1, ordering: .relaxed)
            throw .late
        }
        defer { self.waiting.subtract(1, ordering: .relaxed) }
        let network = self.network
        let route = try? await self.pool.runIfActive { network.route(through: question.places, by: question.vehicle) }
        guard let route = route.flatMap(\.self) else { throw .noRoute }
        return try RouteAnswer(
            seconds: route.seconds, meters: route.meters, knowsTraffic: false, line: route.line)
    }
}
