import Access
import EnrouteWire
import Foundation
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The REST interface over a real socket.
@Suite struct JobRoutesTests {
    struct Answer {
        let status: Int
        let text: String
        let headers: [String: String]
    }

    static func ask(
        _ gateway: RunningGateway, _ method: String, _ path: String, as token: String? = nil, _ body: String? = nil,
        port: Int? = nil
    ) async throws -> Answer {
        var request = URLRequest(url: URL(string: "http://127.0.0.1:\(port ?? gateway.port)\(path)")!)
        request.httpMethod = method
        request.httpBody = body.map { Data($0.utf8) }
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        let (data, response) = try await URLSession.shared.data(for: request)
        let answer = response as! HTTPURLResponse
        let headers = answer.allHeaderFields.reduce(into: [String: String]()) {
            $0["\($1.key)".lowercased()] = "\($1.value)"
        }
        return Answer(status: answer.statusCode, text: String(decoding: data, as: UTF8.self), headers: headers)
    }

    private static let job =
        #"{"job":"j1","kind":"service","customer":"anna","rider":"rider-1","destination":{"lat":41.9,"lon":12.5}}"#

    @Test func `S6: a token in the URL is refused, also on a reused connection`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let token = try await gateway.token("orders", .service)
                let fields = "Host: localhost\r\nAuthorization: Bearer \(token)\r\n"
                let bytes = try await blocking {
                    let socket = try RawSocket(port: gateway.port)
                    try socket.send("GET /api/v1/jobs/none HTTP/1.1\r\n\(fields)\r\n")
                    _ = try socket.readUntil(Array("}".utf8))
                    try socket.send("GET /api/v1/jobs/none?access_token=\(token) HTTP/1.1\r\n\(fields)\r\n")
                    return try socket.readUntil(Array("}".utf8))
                }
                let answer = String(decoding: bytes, as: UTF8.self)
                #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
                #expect(answer.contains("not accepted in URLs") && !answer.contains(token), "\(answer)")
            }
        }
    }

    @Test func `a job can be created, read and changed, and only by those with access`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let service = try await gateway.token("orders", .service)
                let anna = try await gateway.token("anna", .customer)
                let bert = try await gateway.token("bert", .customer)
                let rider = try await gateway.token("rider-1", .rider)

                let created = try await Self.ask(gateway, "POST", "/api/v1/jobs", as: service, Self.job)
                #expect(created.status == 201)
                #expect(created.text.contains(#""status":"assigned""#))
                #expect(try await Self.ask(gateway, "POST", "/api/v1/jobs", as: service, Self.job).status == 409)

                let read = try await Self.ask(gateway, "GET", "/api/v1/jobs/j1", as: anna)
                #expect(read.status == 200)
                #expect(read.text.contains(#""destination":{"lat":41.9,"lon":12.5}"#))
                #expect(read.headers["cache-control"] == "no-store")
                let foreign = try await Self.ask(gateway, "GET", "/api/v1/jobs/j1", as: bert)
                let absent = try await Self.ask(gateway, "GET", "/api/v1/jobs/j2", as: bert)
                #expect(foreign.status == 404)
                #expect(foreign.text.withoutTrace == absent.text.withoutTrace)

                let early = try await Self.ask(gateway, "PUT", "/api/v1/jobs/j1/travel", as: rider)
                #expect(early.status == 409)
                #expect(early.text.contains(#""jobStatus":"assigned""#))
                let onTheWay = #"{"status":"on_the_way"}"#
                #expect(
                    try await Self.ask(gateway, "POST", "/api/v1/jobs/j1/status", as: service, onTheWay).status == 200)
                let twice = try await Self.ask(gateway, "POST", "/api/v1/jobs/j1/status", as: service, onTheWay)
                #expect(twice.status == 409)
                #expect(twice.text.contains(#""jobStatus":"on_the_way""#))
                #expect(try await Self.ask(gateway, "PUT", "/api/v1/jobs/j1/travel", as: rider).status == 200)
                #expect(try await gateway.feed.read(JobID("j1")!).get().isOpen)
                #expect(try await Self.ask(gateway, "DELETE", "/api/v1/jobs/j1/travel", as: rider).status == 200)
                #expect(try await !gateway.feed.read(JobID("j1")!).get().isOpen)
            }
        }
    }

    @Test func `a vehicle outside of a rider's card is refused`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let token = try await gateway.token("orders", .service)
                let answer = try await Self.ask(
                    gateway, "PUT", "/api/v1/riders/rider-1", as: token,
                    #"{"zone":"rome","approved":true,"vehicle":"bicycle"}"#)
                #expect(answer.status == 422 && answer.text.contains("vehicle belongs in card"), "\(answer.text)")
            }
        }
    }

    @Test func `a number that does not fit is refused with the name of its member`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let token = try await gateway.token("orders", .service)
                for number in ["1e400", "-1e400", String(repeating: "9", count: 400)] {
                    let answer = try await Self.ask(
                        gateway, "POST", "/api/v1/jobs", as: token,
                        #"{"job":"j","kind":"service","customer":"c","destination":{"lat":\#(number),"lon":0}}"#)
                    #expect(answer.status == 400, "\(answer.text)")
                    #expect(answer.text.contains("destination.lat is not a number, or is out of range"))
                }
                let fraction = try await Self.ask(
                    gateway, "PUT", "/api/v1/riders/rider-1", as: token,
                    #"{"zone":"rome","approved":true,"capacity":1.5}"#)
                #expect(fraction.status == 422 && fraction.text.contains("must be an integer"), "\(fraction.text)")
            }
        }
    }

    @Test(arguments: [
        ("", "JSON object"), ("[1]", "JSON object"), (#"{"kind":"service"}"#, "must contain job"),
        (#"{"job":"a b","kind":"service","customer":"c"}"#, "job must be"),
        (#"{"job":"j","kind":"pizza","customer":"c"}"#, "kind must be"),
        (#"{"job":"j","kind":"delivery","customer":"c","vehicle":"bicycle"}"#, "vehicle belongs in display"),
        (#"{"job":"j","kind":"service","customer":7}"#, "customer has the wrong type"),
        (#"{"job":"j","kind":"service","customer":"c","destination":{"lat":91,"lon":0}}"#, "lat must be"),
        (#"{"job":"j","kind":"service","customer":"c","destination":{"lat":0,"lon":0}}"#, "lat must be"),
    ])
    func `an invalid body is refused with the reason`(body: String, reason: String) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let token = try await gateway.token("orders", .service)
                let answer = try await Self.ask(gateway, "POST", "/api/v1/jobs", as: token, body)
                #expect(answer.status == (body.isEmpty ? 400 : 422))
                #expect(answer.headers["content-type"] == "application/problem+json")
                #expect(answer.text.contains(reason), "\(answer.text)")
                let jobs = try await gateway.client.send(["KEYS", "job:*"]).get()
                #expect(jobs == .array([]))
            }
        }
    }

    @Test func `pages have a strict content security policy, probes respond, and unknown paths are 404`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let page = try await Self.ask(gateway, "GET", "/track/j1")
                #expect(page.status == 200)
                #expect(page.headers["content-security-policy"]?.contains("script-src 'self';") == true)
                #expect(page.headers["referrer-policy"] == "no-referrer")
                // The URL of the SVG namespace is not loaded.
                let text = page.text.replacing("http://www.w3.org/2000/svg", with: "")
                #expect(!text.contains("http://") && !text.contains("https://"))
                for asset in ["track.js", "track.css", "leaflet/leaflet.js", "leaflet/leaflet.css"] {
                    #expect(try await Self.ask(gateway, "GET", "/assets/\(asset)").status == 200, "\(asset)")
                }
                let script = try await Self.ask(gateway, "GET", "/assets/leaflet/leaflet.js")
                #expect(script.text.utf8.count < 200_000, "D12: minified")
                #expect(try await Self.ask(gateway, "GET", "/assets/streets.geojson").status == 204)
                #expect(try await Self.ask(gateway, "GET", "/assets/../Package.swift").status == 404)
                #expect(try await Self.ask(gateway, "GET", "/debug").status == 404)
            }
        }
    }

    @Test func `B29: a gateway without Redis stays live and ready, and its health report names the outage`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { settings in
                settings.redisTiming.answer = .seconds(2)
            } _: { gateway in
                // A gateway reports its dependencies as down until it has looked at them once.
                #expect(try await gateway.eventually("/healthz") { $0.text.contains(#""status":"ok""#) })
                let redis = try #require(gateway.redis).processID
                kill(redis, SIGSTOP)
                defer { kill(redis, SIGCONT) }
                #expect(try await Self.ask(gateway, "GET", "/livez", port: gateway.management).status == 200)
                #expect(
                    try await gateway.eventually("/healthz") {
                        $0.status == 200 && $0.text.contains(/"name":"redis_live"[^}]*"state":"down"/)
                            && $0.text.contains(/"name":"redis_ledger"[^}]*"state":"down"/)
                    })
                let ready = try await Self.ask(gateway, "GET", "/readyz", port: gateway.management)
                #expect(ready.status == 200 && ready.text == "ready\n", "\(ready)")
                let metrics = try await gateway.manage("/metrics").text
                #expect(metrics.contains("\nenroute_dependency_up{dependency=\"redis_ledger\"} 0\n"))
                let token = try await gateway.token("anna", .customer)
                let answer = try await Self.ask(gateway, "GET", "/api/v1/jobs/j1", as: token)
                #expect(answer.status == 503)
                #expect(answer.text.contains(#""retryable":true"#))
            }
        }
    }
}
