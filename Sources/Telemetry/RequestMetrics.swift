// REST requests by route and status, and their duration by route. A route is a template of the router such as
// `/api/v1/jobs/{job}`, never a requested path, so the number of time series is bounded.

/// Request metrics of one event loop; a scrape adds them up. A value.
package struct RequestMetrics: Sendable {
    private struct Response: Hashable {
        let route: String
        let status: Int
    }

    private struct Histogram {
        var counts = [Int](repeating: 0, count: RequestMetrics.bounds.count)
        var count = 0
        var nanoseconds: UInt64 = 0
    }

    /// The upper bounds of the histogram buckets: in milliseconds, and in seconds as written to the exposition.
    private static let bounds: [(milliseconds: UInt64, seconds: String)] = [
        (5, "0.005"), (10, "0.01"), (25, "0.025"), (50, "0.05"), (100, "0.1"), (250, "0.25"), (500, "0.5"),
        (1_000, "1"), (2_500, "2.5"), (5_000, "5"), (10_000, "10"),
    ]

    /// The route of requests that match no template.
    package static let unknownRoute = "unknown"

    private var responses: [Response: Int] = [:]
    private var durations: [String: Histogram] = [:]

    package init() {}

    /// - Parameters:
    ///   - route: a template of the router, or `unknownRoute`.
    ///   - nanoseconds: the time from the request's head to the response's head.
    package mutating func record(_ route: String, status: Int, nanoseconds: UInt64) {
        self.responses[Response(route: route, status: status), default: 0] += 1
        var histogram = self.durations[route] ?? Histogram()
        for (index, bound) in Self.bounds.enumerated() where nanoseconds <= bound.milliseconds * 1_000_000 {
            histogram.counts[index] += 1
        }
        histogram.count += 1
        histogram.nanoseconds += nanoseconds
        self.durations[route] = histogram
    }

    package mutating func add(_ other: RequestMetrics) {
        self.responses.merge(other.responses) { $0 + $1 }
        self.durations.merge(other.durations) { a, b in
            Histogram(
                counts: zip(a.counts, b.counts).map { $0 + $1 }, count: a.count + b.count,
                nanoseconds: a.nanoseconds + b.nanoseconds)
        }
    }

    package static let requestsName = "enroute_http_requests_total"
    package static let durationName = "enroute_http_request_duration_seconds"

    /// The metrics in Prometheus text format 0.0.4.
    package var text: String {
        var lines = [
            "# HELP \(Self.requestsName) REST requests answered, by route and status.",
            "# TYPE \(Self.requestsName) counter",
        ]
        lines += self.responses.map { response, count in
            "\(Self.requestsName){route=\"\(response.route)\",status=\"\(response.status)\"} \(count)"
        }.sorted()
        lines += [
            "# HELP \(Self.durationName) Time from a REST request's head to its response's head, by route.",
            "# TYPE \(Self.durationName) histogram",
        ]
        for (route, histogram) in self.durations.sorted(by: { $0.key < $1.key }) {
            for (bound, count) in zip(Self.bounds, histogram.counts) {
                lines.append("\(Self.durationName)_bucket{route=\"\(route)\",le=\"\(bound.seconds)\"} \(count)")
            }
            lines.append("\(Self.durationName)_bucket{route=\"\(route)\",le=\"+Inf\"} \(histogram.count)")
            lines.append("\(Self.durationName)_sum{route=\"\(route)\"} \(Double(histogram.nanoseconds) / 1e9)")
            lines.append("\(Self.durationName)_count{route=\"\(route)\"} \(histogram.count)")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
