// Request metrics of the REST interface. Each event loop has its own part, so loops never contend for a lock; a scrape adds up
// the parts.

internal import NIOCore
internal import Synchronization
internal import Telemetry

/// The request metrics of one gateway. Thread-safe.
final class RequestCounts: Sendable {
    private final class Part: Sendable {
        let metrics = Mutex(RequestMetrics())
    }

    private let parts: [ObjectIdentifier: Part]

    /// Returns the `route` label. Without a matching route, Hummingbird's router reports the name of its fallback, which unlike
    /// a route template does not start with a slash.
    private static func label(_ route: String?) -> String {
        route.flatMap { $0.hasPrefix("/") ? $0 : nil } ?? RequestMetrics.unknownRoute
    }

    init(loops: [any EventLoop]) {
        self.parts = Dictionary(uniqueKeysWithValues: loops.map { (ObjectIdentifier($0), Part()) })
    }

    /// - Parameters:
    ///   - route: a template of the router; `nil` if none matches.
    ///   - loop: the event loop of the request's connection.
    func record(_ route: String?, status: Int, after time: TimeAmount, on loop: any EventLoop) {
        self.parts[ObjectIdentifier(loop)]?.metrics.withLock {
            $0.record(
                Self.label(route), status: status, nanoseconds: UInt64(max(0, time.nanoseconds)))
        }
    }

    /// The metrics in Prometheus text format.
    var text: String {
        var all = RequestMetrics()
        for part in self.parts.values { all.add(part.metrics.withLock { $0 }) }
        return all.text
    }
}
