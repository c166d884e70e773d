import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import NIOCore
import Subprocess
import Telemetry
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// The metrics of a gateway with clients: their format, and what they count.
@Suite struct MetricsTests {
    @Test func `promtool has no complaint, and every family has samples`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { settings in
                settings.sharedSettings = ["ENROUTE_JOB_RETENTION_SECONDS": 172_800]
            } _: { gateway in
                try await Self.followedTrip(gateway) { _, _ in }
                try await gateway.waitForMetric(#"enroute_setting{name="ENROUTE_JOB_RETENTION_SECONDS"} 172800.0"#)
                _ = try await gateway.rest("GET", "/api/v1/jobs/job-1", by: "anna", .customer)
                // With the first report of its health, which the gateway sends when it starts.
                try await gateway.waitForMetric(#"enroute_clock_offset_seconds{role="ledger"} "#)
                try await gateway.waitForMetric(#"enroute_redis_replicas{role="ledger"} "#)
                var text = try await gateway.manage("/metrics").text
                // Without a routing provider, arrival times have no samples.
                let arrivals = try #require(text.range(of: "# HELP enroute_eta_requests_total"))
                let dependencies = try #require(text.range(of: "# HELP enroute_dependency_up"))
                var counted = ETAMetrics()
                counted.recordRequest("osrm", .answered)
                counted.setRemainingBudget(of: "osrm", to: 10)
                counted.recordError("osrm", minutes: 5, seconds: 20)
                text.replaceSubrange(arrivals.lowerBound..<dependencies.lowerBound, with: counted.text)
                let families = text.matches(of: #/(?m)^# TYPE (\S+) /#).map { String($0.1) }
                #expect(Set(families).count == families.count, "no family twice")
                // Only a gateway with TLS has a certificate.
                for family in families where family != Gauge.certificateExpiry.rawValue {
                    let sample = try Regex("(?m)^\(family)(_count)?(\\{.*\\})? [0-9.e+-]+$")
                    #expect(text.contains(sample), "\(family) has no sample")
                }
                #expect(try await Self.promtool(text) == "")
            }
        }
    }

    @Test func `a gateway with TLS reports when its certificate expires`() async throws {
        try await within {
            try await RunningGateway.run { gateway in
                let metrics = try await Self.metrics(gateway)
                #expect(metrics.value(Gauge.certificateExpiry.rawValue) > Date.now.timeIntervalSince1970)
            }
        }
    }

    @Test func `promtool complains about a counter without _total`() async throws {
        let text = "# HELP enroute_things Things.\n# TYPE enroute_things counter\nenroute_things 1\n"
        #expect(try await Self.promtool(text).contains("_total"))
    }

    @Test func `each location and status is measured once per follower it is written to`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                try await Self.followedTrip(gateway) { rider, seen in
                    let before = try await Self.metrics(gateway)
                    for step in 2...4 {
                        try await rider.report(JobID("job-1")!, step: step)
                        _ = try await seen.location()
                    }
                    let status = try await gateway.rest(
                        "POST", "/api/v1/jobs/job-1/status", by: "orders", .service, #"{"status":"work_in_progress"}"#)
                    try #require(status.status == 200)
                    _ = try await seen.first { if case .status = $0 { true } else { nil } }
                    let after = try await Self.metrics(gateway)
                    let count = "enroute_delivery_seconds_count"
                    #expect(after.value(count) - before.value(count) == 4)
                    let sum = "enroute_delivery_seconds_sum"
                    // Within the time that the test may take at all; a wrong unit or clock would be far beyond it.
                    #expect((0..<600).contains(after.value(sum) - before.value(sum)))
                }
            }
        }
    }

    @Test(arguments: [true, false])
    func `each stage of a connection is measured, and TLS only where the gateway terminates it`(isSecure: Bool)
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: isSecure) { gateway in
                try await Self.followedTrip(gateway) { _, _ in
                    let metrics = try await Self.metrics(gateway)
                    func count(_ stage: String) -> Double {
                        metrics.value("enroute_connection_setup_seconds_count{stage=\"\(stage)\"}")
                    }
                    #expect(count("tls") == (isSecure ? 2 : 0))
                    #expect(count("upgrade") == 2)
                    #expect(count("sign_in") == 2)
                    for role in ["live", "ledger"] {
                        let name = "enroute_redis_command_seconds_count{role=\"\(role)\"}"
                        #expect(metrics.value(name) > 0)
                    }
                    for role in ["customer", "rider"] {
                        #expect(metrics.value("enroute_sessions_open{role=\"\(role)\"}") == 1)
                    }
                    #expect(metrics.value("enroute_sessions_open{role=\"link\"}") == 0)
                }
                try await gateway.waitForSessions(0)
                try await gateway.waitForMetric("enroute_jobs_followed 0.0")
            }
        }
    }

    @Test func `a job that is followed on every event loop counts once`() async throws {
        try await within {
            try await RunningGateway.run { gateway in
                _ = try await gateway.travellingJob()
                try await Self.follow(gateway, times: 4) {
                    let metrics = try await Self.metrics(gateway)
                    #expect(metrics.value("enroute_jobs_followed") == 1)
                    #expect(metrics.value("enroute_sessions_open{role=\"customer\"}") == 4)
                }
            }
        }
    }

    @Test func `the time of a delivery is never negative and never overflows`() {
        let durations = LoopDurations()
        durations.delivered(receivedAt: 2_000_000_000_000, at: 1_000_000_000_000)
        durations.delivered(receivedAt: .max, at: 1)
        durations.delivered(receivedAt: 1, at: .max)
        durations.delivered(receivedAt: 0, at: 5)
        #expect(durations.values.delivery.count == 3)
        let lines = durations.values.delivery.lines("x")
        #expect(lines.contains("x_bucket{le=\"0.001\"} 2"))
        #expect(lines.contains("x_sum \(Double(DurationHistogram.maxMicroseconds) / 1e6)"))
    }

    // MARK: support

    /// Runs `body` while anna follows the trip of a rider who has reported one location.
    private static func followedTrip(
        _ gateway: RunningGateway,
        _ body: (GatewayConnection, inout GatewayConnection.Messages.AsyncIterator) async throws -> Void
    ) async throws {
        let job = try await gateway.travellingJob()
        try await gateway.connect("anna", .customer) { customer, seen in
            try await customer.send(.subscribe(job: job, since: nil))
            _ = try await seen.subscribed()
            try await gateway.connect("rider-1", .rider) { rider, answers in
                try await rider.send(.travel(job: job, active: true))
                _ = try await answers.travelAnswer()
                _ = try await seen.first { if case .tracking = $0 { true } else { nil } }
                try await rider.report(job, step: 1)
                _ = try await seen.location()
                try await body(rider, &seen)
            }
        }
    }

    private static func follow(
        _ gateway: RunningGateway, times: Int, _ body: () async throws -> Void
    ) async throws {
        guard times > 0 else { return try await body() }
        try await gateway.connect("anna", .customer) { customer, seen in
            try await customer.send(.subscribe(job: JobID("job-1")!, since: nil))
            _ = try await seen.subscribed()
            try await self.follow(gateway, times: times - 1, body)
        }
    }

    private struct Samples {
        let values: [String: Double]
        func value(_ name: String) -> Double { self.values[name] ?? .nan }
    }

    private static func metrics(_ gateway: RunningGateway) async throws -> Samples {
        let text = try await gateway.manage("/metrics").text
        let pairs = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            let end = line.lastIndex(of: " ")!
            return (String(line[..<end]), Double(line[line.index(after: end)...]) ?? .nan)
        }
        return Samples(values: Dictionary(pairs) { $1 })
    }

    /// Returns what `promtool check metrics` prints. It is in Debian's package `prometheus`.
    private static func promtool(_ text: String) async throws -> String {
        try await Subprocess.run(
            .path("/usr/bin/promtool"), arguments: ["check", "metrics"], input: .string(text),
            output: .string(limit: 1 << 20), error: .combinedWithOutput
        ).standardOutput
    }
}
