import EnrouteWire
import Foundation
import TestSupport
import TrafficControl
import Testing

@testable import Gateway

/// The headers that browsers get about pages of other origins. Tests/Browser/test_other_origins.py shows the same in
/// Chromium.
@Suite struct CrossOriginTests {
    private static let app = "https://app.example"
    private static let shell = "capacitor://localhost"
    private static let job = #"{"kind":"service","customer":"anna"}"#

    private static func run(
        _ change: @escaping @Sendable (inout GatewaySettings) -> Void = { _ in },
        _ body: @escaping @Sendable (RunningGateway) async throws -> Void
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                $0.origins = try! AllowedOrigins([Self.app, Self.shell])
                change(&$0)
            } _: {
                try await body($0)
            }
        }
    }

    private static func preflight(
        _ gateway: RunningGateway, _ path: String, from origin: String, _ method: String = "PUT"
    ) async throws -> RESTResponse {
        try await gateway.rest(
            "OPTIONS", path, as: nil,
            headers: [
                "Origin: \(origin)", "Access-Control-Request-Method: \(method)",
                "Access-Control-Request-Headers: authorization,content-type,idempotency-key",
            ])
    }

    @Test(arguments: [app, shell]) func `a page of an allowed origin may send every request`(origin: String)
        async throws
    {
        try await Self.run { gateway in
            let asked = try await Self.preflight(gateway, "/api/v1/jobs/j1", from: origin)
            #expect(asked.status == 204 && asked.text.isEmpty, "\(asked)")
            #expect(asked.headers["access-control-allow-origin"] == origin)
            #expect(asked.headers["access-control-allow-methods"] == asked.headers["allow"])
            #expect(asked.headers["allow"]?.contains("PUT") == true)
            let allowed = Set((asked.headers["access-control-allow-headers"] ?? "").components(separatedBy: ", "))
            #expect(
                allowed.isSuperset(of: [
                    "Authorization", "Content-Type", "If-Match", "Idempotency-Key", "Last-Event-ID", "traceparent",
                ]))
            #expect(asked.headers["access-control-max-age"] == "7200")
            #expect(asked.headers["access-control-allow-credentials"] == nil)

            let put = try await gateway.rest(
                "PUT", "/api/v1/jobs/j1", by: "orders", .service, Self.job, headers: ["Origin: \(origin)"])
            #expect(put.status == 201)
            let missing = try await gateway.rest(
                "GET", "/api/v1/jobs/none", by: "orders", .service, headers: ["Origin: \(origin)"])
            #expect(missing.status == 404)
            let nobody = try await gateway.rest("GET", "/api/v1/jobs/j1", as: nil, headers: ["Origin: \(origin)"])
            #expect(nobody.status == 401)
            for answer in [put, missing, nobody] {
                #expect(answer.headers["access-control-allow-origin"] == origin, "errors can be read too: \(answer)")
                #expect(answer.headers["vary"] == "Origin")
                let exposed = answer.headers["access-control-expose-headers"] ?? ""
                for name in ["ETag", "Location", "Retry-After", "traceresponse", "RateLimit", "RateLimit-Policy"] {
                    #expect(exposed.components(separatedBy: ", ").contains(name), "\(name)")
                }
                #expect(answer.headers["access-control-allow-credentials"] == nil)
            }
        }
    }

    @Test func `an origin that is configured with its default port is allowed`() async throws {
        try await Self.run {
            $0.origins = try! AllowedOrigins(["\(Self.app):443"])
        } _: { gateway in
            let asked = try await Self.preflight(gateway, "/api/v1/jobs/j1", from: Self.app)
            #expect(asked.status == 204 && asked.headers["access-control-allow-origin"] == Self.app, "\(asked)")
        }
    }

    @Test func `S5: a page of any other origin gets nothing, and the refusal is logged and counted`() async throws {
        let log = RecordedLines()
        try await within {
            try await RunningGateway.run(isSecure: false, logger: log.logger) {
                $0.origins = try! AllowedOrigins([Self.app])
            } _: { gateway in
                let origins = [
                    "https://evil.example", "null", "https://app.example.evil", "http://app.example", Self.shell,
                ]
                for origin in origins {
                    let asked = try await Self.preflight(gateway, "/api/v1/jobs/j1", from: origin)
                    #expect(asked.status == 403 && asked.member("code") == "forbidden", "\(asked)")
                    let read = try await gateway.rest(
                        "GET", "/api/v1/texts", as: nil, headers: ["Origin: \(origin)"])
                    for answer in [asked, read] {
                        #expect(!answer.headers.keys.contains { $0.hasPrefix("access-control") }, "\(answer.headers)")
                        #expect(answer.headers["vary"]?.contains("Origin") == true)
                    }
                }
                try await gateway.waitForMetric(
                    #"enroute_requests_refused_total{reason="origin"} \#(origins.count * 2)"#)
                let lines = log.all.filter { $0.message == "request refused: origin not allowed" }
                #expect((1...2).contains(lines.count), "one line a minute for each event loop: \(lines)")
                #expect(lines.allSatisfy { $0.level == .warning && origins.contains("\($0.metadata["origin"]!)") })
            }
        }
    }

    @Test func `apps, services and the gateway's own pages are not affected`() async throws {
        try await Self.run { gateway in
            for headers in [
                [], ["Origin: http://localhost"], ["Origin: https://proxied.example", "Sec-Fetch-Site: same-origin"],
            ] {
                let answer = try await gateway.rest(
                    "PUT", "/api/v1/jobs/j1", by: "orders", .service, Self.job, headers: headers)
                #expect([200, 201].contains(answer.status), "\(headers): \(answer)")
                #expect(answer.headers["access-control-allow-origin"] == nil)
                #expect(answer.headers["vary"] == "Origin", "a cache must not give this answer to a page")
            }
            let metrics = try await gateway.manage("/metrics").text
            #expect(metrics.contains(#"enroute_requests_refused_total{reason="origin"} 0"#))
        }
    }

    @Test func `a preflight for a path that does not exist is 404, and OPTIONS without one is 405`() async throws {
        try await Self.run { gateway in
            let unknown = try await Self.preflight(gateway, "/api/v1/nothing", from: Self.app)
            #expect(unknown.status == 404)
            let plain = try await gateway.rest("OPTIONS", "/api/v1/jobs/j1", as: nil)
            #expect(plain.status == 405 && plain.member("code") == "method_not_allowed")
            let events = try await Self.preflight(gateway, "/api/v1/jobs/j1/events", from: Self.app, "GET")
            #expect(events.status == 204 && events.headers["access-control-allow-methods"] == "GET, HEAD")
        }
    }

    @Test func `a path with an empty segment does not exist, so no page of another origin gets past the rules`()
        async throws
    {
        try await Self.run { gateway in
            for path in ["//api/v1/jobs/j1", "/api//v1/jobs/j1", "/api/v1//jobs/j1", "//rider", "//"] {
                for method in ["GET", "PUT"] {
                    let answer = try await gateway.rest(
                        method, path, by: "orders", .service, method == "PUT" ? Self.job : nil,
                        headers: ["Origin: https://evil.example"])
                    #expect(answer.status == 404, "\(method) \(path): \(answer)")
                    #expect(!answer.headers.keys.contains { $0.hasPrefix("access-control") }, "\(answer.headers)")
                }
                let asked = try await Self.preflight(gateway, path, from: "https://evil.example")
                #expect([403, 404].contains(asked.status), "\(path): \(asked)")
                #expect(!asked.headers.keys.contains { $0.hasPrefix("access-control") }, "\(asked.headers)")
            }
            // A slash at the end is not an empty segment.
            #expect(try await gateway.rest("GET", "/api/v1/texts/", as: nil).status == 200)
            #expect(try await gateway.rest("GET", "/rider/", as: nil).status == 200)
        }
    }

    @Test func `every page may read the client modules and the interface documents, and no other file`() async throws {
        try await Self.run { gateway in
            let modules = ["enroute", "enroute-connection", "enroute-rest", "enroute-timing", "enroute-view"]
            for path in ["/openapi.json", "/asyncapi.json"] + modules.map({ "/assets/\($0).js" }) {
                let answer = try await gateway.rest("GET", path, as: nil, headers: ["Origin: https://any.example"])
                #expect(answer.status == 200 && answer.headers["access-control-allow-origin"] == "*", "\(path)")
                #expect(answer.headers["cross-origin-resource-policy"] == "cross-origin")
            }
            for path in ["/rider", "/track/j1", "/assets/rider.js", "/assets/page.css", "/nothing"] {
                let answer = try await gateway.rest("GET", path, as: nil, headers: ["Origin: \(Self.app)"])
                #expect(answer.headers["access-control-allow-origin"] == nil, "\(path)")
                #expect(answer.headers["cross-origin-resource-policy"] == "same-origin")
            }
        }
    }

    /// The demo's stage is no setting: only `enroute demo` sets it.
    @Test func `the demo's stage may frame every page`() async throws {
        try await Self.run {
            $0.stageOrigins = try! AllowedOrigins(["http://127.0.0.1:8080"])
        } _: { gateway in
            for path in ["/track/j1", "/rider", "/ops"] {
                let answer = try await gateway.rest("GET", path, as: nil)
                let policy = try #require(answer.headers["content-security-policy"])
                #expect(policy.hasSuffix("; frame-ancestors http://127.0.0.1:8080"), "\(path): \(policy)")
            }
        }
    }

    @Test func `only listed pages may frame the tracking page, and no page may frame another one`() async throws {
        try await Self.run {
            $0.frameAncestors = try! AllowedOrigins(["https://shop.example", Self.shell])
        } _: { gateway in
            for (path, ancestors) in [
                ("/track/j1", "\(Self.shell) https://shop.example"), ("/rider", "'none'"), ("/ops", "'none'"),
                ("/api/v1/texts", "'none'"),
            ] {
                let answer = try await gateway.rest("GET", path, as: nil)
                let policy = try #require(answer.headers["content-security-policy"])
                #expect(policy.hasSuffix("; frame-ancestors \(ancestors)"), "\(path): \(policy)")
                #expect(policy.hasPrefix("default-src 'none'; script-src 'self';"))
            }
        }
        try await Self.run { gateway in
            let answer = try await gateway.rest("GET", "/track/j1", as: nil)
            #expect(answer.headers["content-security-policy"]?.hasSuffix("frame-ancestors 'none'") == true)
        }
    }
}
