// REST requests by route and status, and their duration by route. A route is a template of the router such as
// `/api/v1/jobs/{job}`, never a requested path, so the number of time series is bounded.

/// Request metrics of one event loop; a scrape adds them up. A value.
package struct RequestMetrics: Sendable {
    private struct Response: Hashable {
        let route: String
        let status: Int
    }

    /// The route of requests that match no template.
    package static let unknownRoute = "unknown"

    private var responses: [Response: Int] = [:]
    private var durations: [String: DurationHistogram] = [:]

    package init() {}

    /// - Parameters:
    ///   - route: a template of the router, or `unknownRoute`.
    ///   - nanoseconds: the time from the request's head to the response's head.
    package mutating func record(_ route: String, status: Int, nanoseconds: UInt64) {
        self.responses[Response(route: route, status: status), default: 0] += 1
        self.durations[route, default: DurationHistogram(.requests)].record(
            microseconds: Int64(clamping: nanoseconds / 1_000))
    }

    package mutating func add(_ other: RequestMetrics) {
        self.responses.merge(other.responses) { $0 + $1 }
        for (route, histogram) in other.durations {
            self.durations[route, default: DurationHistogram(.requests)].add(histogram)
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
            lines += histogram.lines(Self.durationName, labels: "route=\"\(route)\"")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
