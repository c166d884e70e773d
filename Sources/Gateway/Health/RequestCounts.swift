// Counts of REST's answers, a part for each event loop, so that no two loops wait for each other; added up for a scrape.

internal import NIOCore
internal import Synchronization
internal import Telemetry

/// Requests of one gateway. Safe from any thread.
final class RequestCounts: Sendable {
    private final class Part: Sendable {
        let metrics = Mutex(RequestMetrics())
    }

    private let parts: [ObjectIdentifier: Part]

    /// Where no route fits, Hummingbird's router names its own fallback; paths of templates begin with a slash.
    private static func label(_ route: String?) -> String {
        route.flatMap { $0.hasPrefix("/") ? $0 : nil } ?? RequestMetrics.unknownRoute
    }

    init(loops: [any EventLoop]) {
        self.parts = Dictionary(uniqueKeysWithValues: loops.map { (ObjectIdentifier($0), Part()) })
    }

    /// - Parameters:
    ///   - route: a template of the router; `nil` where none fits.
    ///   - loop: of the request's connection.
    func answered(_ route: String?, status: Int, after time: TimeAmount, on loop: any EventLoop) {
        self.parts[ObjectIdentifier(loop)]?.metrics.withLock {
            $0.answered(
                Self.label(route), status: status, nanoseconds: UInt64(max(0, time.nanoseconds)))
        }
    }

    /// Prometheus' text format.
    var text: String {
        var all = RequestMetrics()
        for part in self.parts.values { all.add(part.metrics.withLock { $0 }) }
        return all.text
    }
}
