// Metrics of arrival times (ETA): requests to providers by outcome, the rest of the daily budget, and a histogram of the
// prediction error. `Counts` holds plain counters with one label; these have two labels or buckets, so they write their
// own exposition.

/// ETA metrics of a whole gateway. A value.
package struct ETAMetrics: Sendable {
    /// The outcome of one request for a travel time.
    package enum Outcome: String, Hashable, Sendable, CaseIterable {
        case answered
        /// No request was sent, because the cached route for a nearby place was still valid.
        case cached
        /// No request was sent, because the daily budget that gateways share is used up, or its count in Redis is
        /// unavailable.
        case overBudget = "over_budget"
        case late
        case unreachable
        case throttled
        case keyRefused = "key_refused"
        case malformed
        case noRoute = "no_route"
        case failed
    }

    private struct Call: Hashable {
        let provider: String
        let outcome: Outcome
    }

    /// The key of a histogram: one provider at one horizon.
    private struct Series: Hashable {
        let provider: String
        let minutes: Int
    }

    private struct Histogram {
        var counts = Array(repeating: 0, count: ETAMetrics.bounds.count)
        var count = 0
        var sum = 0.0
    }

    /// The upper bounds of the histogram buckets, in seconds.
    private static let bounds = [15, 30, 60, 120, 180, 300, 600, 1200]

    private var calls: [Call: Int] = [:]
    private var budgets: [String: Int] = [:]
    private var errors: [Series: Histogram] = [:]

    package init() {}

    /// - Parameter provider: a name from a closed list, which bounds the number of time series.
    package mutating func recordRequest(_ provider: String, _ outcome: Outcome) {
        self.calls[Call(provider: provider, outcome: outcome), default: 0] += 1
    }

    /// - Parameter requests: the requests that all gateways together may still send today.
    package mutating func setRemainingBudget(of provider: String, to requests: Int) {
        self.budgets[provider] = requests
    }

    /// - Parameters:
    ///   - minutes: how long before the arrival the prediction was made, approximately.
    ///   - seconds: the absolute error of the prediction.
    package mutating func recordError(_ provider: String, minutes: Int, seconds: Double) {
        let series = Series(provider: provider, minutes: minutes)
        var histogram = self.errors[series] ?? Histogram()
        for (index, bound) in Self.bounds.enumerated() where seconds <= Double(bound) { histogram.counts[index] += 1 }
        histogram.count += 1
        histogram.sum += seconds
        self.errors[series] = histogram
    }

    /// The metrics in Prometheus text format 0.0.4.
    package var text: String {
        var lines = [
            "# HELP enroute_eta_requests_total ETA requests by provider and outcome, including those answered without the provider.",
            "# TYPE enroute_eta_requests_total counter",
        ]
        lines += self.calls.map { call, count in
            "enroute_eta_requests_total{provider=\"\(call.provider)\",outcome=\"\(call.outcome.rawValue)\"} \(count)"
        }.sorted()
        lines += [
            "# HELP enroute_eta_budget_remaining Requests left in the provider's daily budget, which all gateways share, as last read.",
            "# TYPE enroute_eta_budget_remaining gauge",
        ]
        lines += self.budgets.map { "enroute_eta_budget_remaining{provider=\"\($0)\"} \($1)" }.sorted()
        lines += [
            "# HELP enroute_eta_error_seconds Absolute error of predicted arrival times, by minutes before the arrival.",
            "# TYPE enroute_eta_error_seconds histogram",
        ]
        for (series, histogram) in self.errors.sorted(by: { Self.isBefore($0.key, $1.key) }) {
            let labels = "provider=\"\(series.provider)\",horizon_minutes=\"\(series.minutes)\""
            for (bound, count) in zip(Self.bounds, histogram.counts) {
                lines.append("enroute_eta_error_seconds_bucket{\(labels),le=\"\(bound)\"} \(count)")
            }
            lines.append("enroute_eta_error_seconds_bucket{\(labels),le=\"+Inf\"} \(histogram.count)")
            lines.append("enroute_eta_error_seconds_sum{\(labels)} \(histogram.sum)")
            lines.append("enroute_eta_error_seconds_count{\(labels)} \(histogram.count)")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func isBefore(_ a: Series, _ b: Series) -> Bool {
        (a.provider, a.minutes) < (b.provider, b.minutes)
    }
}
