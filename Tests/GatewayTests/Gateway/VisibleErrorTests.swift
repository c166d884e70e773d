import Access
import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import Logging
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime
@testable import REST

/// Failures are visible: logged once, with the trace ID that the client received, and counted in a metric.
@Suite struct VisibleErrorTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let header = "traceparent: 00-\(trace)-00f067aa0ba902b7-01"

    @Test func `B8: a request that fails internally is counted and logged once with its trace`() async throws {
        let lines = RecordedLines()
        try await within {
            try await RunningGateway.run(isSecure: false, logger: lines.logger) { gateway in
                let job = try await gateway.travellingJob()
                let key = gateway.settings.liveState.keyspace.job(job)
                try await gateway.client.run("HSET", key, "status", "lost")
                let answer = try await gateway.rest(
                    "GET", "/api/v1/jobs/\(job)", by: "olga", .ops, headers: [Self.header])
                #expect(answer.status == 500 && answer.member("code") == "internal")
                #expect(answer.member("traceId") == Self.trace && answer.member("retryable") == true)
                let metrics = try await gateway.manage("/metrics").text
                #expect(metrics.contains(#"enroute_http_requests_total{route="/api/v1/jobs/{job}",status="500"} 1"#))
            }
        }
        let logged = lines.all.filter { $0.metadata["trace"] == "\(Self.trace)" && $0.level >= .warning }
        #expect(logged.count == 1, "\(logged)")
        #expect(logged.first?.level == .error && logged.first?.message == "request failed with an internal error")
        #expect(logged.first?.metadata["route"] == "/api/v1/jobs/{job}")
    }

    @Test func `B8: a message that fails internally is counted and logged once with its session`() async throws {
        let lines = RecordedLines()
        let session = Inboxed<String>()
        try await within {
            try await RunningGateway.run(isSecure: false, logger: lines.logger) { gateway in
                let job = try await gateway.travellingJob()
                try await gateway.client.run(
                    "HSET", gateway.settings.liveState.keyspace.job(job), "status_at", "9223372036854775807")
                try await gateway.connect("olga", .ops) { connection, messages in
                    session.value = try await messages.welcome().session
                    try await connection.send(.subscribe(job: job, since: nil))
                    let refusal = try await messages.refusal()
                    #expect(refusal.code == .internal && refusal.job == job)
                }
                #expect(try await gateway.manage("/metrics").text.contains("enroute_messages_failed_total 1\n"))
            }
        }
        let logged = lines.all.filter { $0.message == "handling a message failed" }
        #expect(logged.count == 1 && logged.first?.level == .error)
        #expect(logged.first?.metadata["session"] == session.value.map { "\($0)" })
    }

    @Test func `B8: requests are counted by route and status, and unknown paths under one label`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                let anna = try await gateway.token("anna", .customer)
                for _ in 0..<3 {
                    #expect(try await gateway.rest("GET", "/api/v1/jobs/\(job)", as: anna).status == 200)
                }
                #expect(try await gateway.rest("GET", "/api/v1/jobs/none", as: anna).status == 404)
                for path in ["/nothing", "/wp-login.php", "/api/v1/\(UUID())"] {
                    #expect(try await gateway.rest("GET", path, as: anna).status == 404)
                }
                let metrics = try await gateway.manage("/metrics").text
                for line in [
                    #"enroute_http_requests_total{route="/api/v1/jobs/{job}",status="200"} 3"#,
                    #"enroute_http_requests_total{route="/api/v1/jobs/{job}",status="404"} 1"#,
                    #"enroute_http_requests_total{route="unknown",status="404"} 3"#,
                    #"enroute_http_request_duration_seconds_bucket{route="/api/v1/jobs/{job}",le="+Inf"} 4"#,
                    #"enroute_http_request_duration_seconds_count{route="/api/v1/jobs/{job}"} 4"#,
                ] { #expect(metrics.contains(line + "\n"), "\(line)") }
                #expect(!metrics.contains("wp-login") && !metrics.contains("/metrics"))
                #expect(PrometheusText.faults(in: metrics).isEmpty, "\(PrometheusText.faults(in: metrics))")
            }
        }
    }

    @Test func `the metrics parser rejects what Prometheus would reject`() {
        let good = "# HELP a_total A.\n# TYPE a_total counter\na_total{b=\"c\"} 1\n"
        #expect(PrometheusText.faults(in: good).isEmpty)
        for bad in [
            "a_total 1\n", good + "a_total{b=\"c\"} 2\n", good.replacing(" 1\n", with: " one\n"),
            good.replacing("\"c\"", with: "c"), good.replacing("a_total", with: "a-total"), String(good.dropLast()),
            "# HELP h H.\n# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 1\n",
            "# HELP h H.\n# TYPE h histogram\nh_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 2\n",
        ] { #expect(!PrometheusText.faults(in: bad).isEmpty, "\(bad)") }
    }

    @Test func `B35: a full Redis is logged once, counted, answered with 503 and reported to clients`() async throws {
        let lines = RecordedLines()
        try await within {
            try await RunningGateway.run(isSecure: false, logger: lines.logger) { gateway in
                let job = try await gateway.travellingJob()
                try await gateway.connect("anna", .customer) { connection, messages in
                    try await connection.send(.subscribe(job: job, since: nil))
                    _ = try await messages.subscribed()
                    try await gateway.client.run("CONFIG", "SET", "maxmemory", "1")
                    for _ in 0..<3 {
                        let answer = try await gateway.rest(
                            "POST", "/api/v1/jobs/\(job)/status", by: "orders", .service,
                            #"{"status":"work_in_progress"}"#)
                        #expect(answer.status == 503 && answer.member("retryable") == true)
                    }
                    // Reads still work.
                    #expect(try await gateway.rest("GET", "/api/v1/jobs/\(job)", by: "anna", .customer).status == 200)
                    _ = try await messages.first { if case .degraded = $0 { true } else { nil } }
                    let metrics = try await gateway.manage("/metrics").text
                    let count = try #require(
                        metrics.firstMatch(of: /enroute_redis_errors_total\{role="ledger",kind="oom"\} (\d+)/))
                    #expect((Int(count.1) ?? 0) >= 3)
                    try await gateway.client.run("CONFIG", "SET", "maxmemory", "0")
                    // A new follower causes an audit write; its success shows that the outage is over.
                    try await gateway.connect("olga", .ops) { other, received in
                        try await other.send(.subscribe(job: job, since: nil))
                        _ = try await received.subscribed()
                        _ = try await messages.first { if case .restored = $0 { true } else { nil } }
                    }
                }
            }
        }
        let logged = lines.all.filter {
            $0.message == "redis command failed" && $0.metadata["kind"] == "oom"
        }
        #expect(logged.count { $0.metadata["role"] == "ledger" } == 1)
        #expect(logged.allSatisfy { $0.level == .error && $0.metadata["reason"] == "Redis replied OOM" })
    }

    @Test func `B35: a missing Redis permission is logged and counted`() async throws {
        let lines = RecordedLines()
        try await within {
            try await RunningGateway.run(isSecure: false, logger: lines.logger) { gateway in
                let job = try await gateway.travellingJob()
                try await gateway.client.run("ACL", "SETUSER", "default", "-xrange")
                let answer = try await gateway.rest("GET", "/api/v1/jobs/\(job)/log", by: "olga", .ops)
                #expect(answer.status == 500)
                let metrics = try await gateway.manage("/metrics").text
                #expect(metrics.contains(#"enroute_redis_errors_total{role="ledger",kind="noperm"}"#))
                #expect(!metrics.contains("role=\"ledger\",kind=\"noperm\"} 0\n"))
            }
        }
        let logged = lines.all.filter { $0.metadata["kind"] == "noperm" }
        #expect(logged.count == 1 && logged.first?.level == .error && logged.first?.metadata["role"] == "ledger")
    }

    @Test func `a missing page asset is logged when the gateway starts`() async throws {
        let lines = RecordedLines()
        try await within {
            try await RunningGateway.run(isSecure: false, logger: lines.logger) {
                $0.leafletFolder = "/nowhere"
            } _: { gateway in
                let answer = try await gateway.rest("GET", "/assets/leaflet/leaflet.js", as: nil)
                #expect(answer.status == 404)
            }
        }
        let logged = lines.all.filter { $0.message == "page asset missing" }
        #expect(logged.count == 2 && logged.allSatisfy { $0.level == .error })
        #expect(logged.contains { $0.metadata["path"] == "/nowhere/leaflet.js" })
    }
}

/// Validates Prometheus text format 0.0.4 as far as Enroute uses it: like `promtool check metrics` without its style checks.
enum PrometheusText {
    static func faults(in text: String) -> [String] {
        var faults: [String] = []
        guard text.hasSuffix("\n") else { return ["the last line does not end"] }
        var (helped, types, series) = (Set<String>(), [String: String](), Set<String>())
        var buckets: [String: [(le: String, value: Double)]] = [:]
        var counts: [String: Double] = [:]
        for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
            if let help = line.wholeMatch(of: /# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) .+/) {
                if !helped.insert(String(help.1)).inserted { faults.append("helped twice: \(line)") }
                continue
            }
            if let type = line.wholeMatch(of: /# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram)/) {
                if types.updateValue(String(type.2), forKey: String(type.1)) != nil {
                    faults.append("typed twice: \(line)")
                }
                continue
            }
            let form = /([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="[^"\\\n]*",?)*\})? (\S+)/
            guard let sample = line.wholeMatch(of: form), let value = Double(sample.3) else {
                faults.append("no sample: \(line)")
                continue
            }
            let (name, labels) = (String(sample.1), String(sample.2 ?? ""))
            if !series.insert(name + labels).inserted { faults.append("a series twice: \(line)") }
            let base = ["_bucket", "_sum", "_count"].first { name.hasSuffix($0) }.map {
                String(name.dropLast($0.count))
            }
            let family = base.flatMap { types[$0] == "histogram" ? $0 : nil } ?? name
            guard let type = types[family], helped.contains(family) else {
                faults.append("neither helped nor typed: \(line)")
                continue
            }
            if type == "counter", !name.hasSuffix("_total") || value < 0 { faults.append("no counter: \(line)") }
            guard type == "histogram", family != name else { continue }
            let others = labels.replacing(/,?\ble="[^"]*"/, with: "").replacing("{}", with: "")
            if name.hasSuffix("_bucket") {
                let bound = labels.firstMatch(of: /\ble="([^"]*)"/).map { String($0.1) } ?? ""
                buckets[family + others, default: []].append((bound, value))
            } else if name.hasSuffix("_count") {
                counts[family + others] = value
            }
        }
        for (name, all) in buckets {
            let isGrowing = zip(all, all.dropFirst()).allSatisfy { $0.value <= $1.value }
            if !isGrowing || all.last?.le != "+Inf" || all.last?.value != counts[name] {
                faults.append("no histogram: \(name)")
            }
        }
        return faults
    }
}
