import Access
import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// What cannot be done with a restricted token, with a revoked job, or with read access to Redis.
@Suite struct RestrictedAccessTests {
    @Test func `B49: what Redis stores of a ticket cannot be used to sign in`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let made = try await gateway.rest("POST", "/api/v1/tickets", by: "orders", .service)
                let ticket: String = try #require(made.member("ticket"))
                let keys = try await gateway.client.run("KEYS", "*").array?.compactMap(\.text) ?? []
                let key = try #require(keys.first { $0.hasPrefix("ticket:") })
                #expect(!keys.contains { $0.contains(ticket) })
                let stored = try await gateway.client.run("GET", key).text
                #expect(stored?.contains(ticket) == false)
                // The part of a key after the colon, as found in Redis, presented as a ticket.
                #expect(try await !Self.isAccepted(String(key.dropFirst(7)), gateway))
                #expect(try await Self.isAccepted(ticket, gateway))
                #expect(try await !Self.isAccepted(ticket, gateway))
            }
        }
    }

    private static func isAccepted(_ ticket: String, _ gateway: RunningGateway) async throws -> Bool {
        let port = gateway.port
        return try await blocking {
            let socket = try RawSocket(port: port)
            try socket.send(
                "GET /v1 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                    + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                    + "Sec-WebSocket-Protocol: enroute.v1, ticket.\(ticket)\r\n\r\n")
            let head = try socket.readUntil(Array("\r\n\r\n".utf8))
            return String(decoding: head + (try socket.read()), as: UTF8.self).contains("welcome")
        }
    }

    @Test func `B50: customer and rider of a revoked job cannot change it, and operations staff can`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                try await gateway.registerRider()
                let path = "/api/v1/jobs/\(job)"
                let at = Int64(Date.now.timeIntervalSince1970 * 1000)
                let asked: [(String, Role, String, String, String?)] = [
                    ("anna", .customer, "GET", path, nil), ("anna", .customer, "GET", path + "/log", nil),
                    ("anna", .customer, "POST", path + "/links", nil),
                    ("anna", .customer, "POST", path + "/status", #"{"status":"cancelled"}"#),
                    ("rider-1", .rider, "GET", path, nil),
                    ("rider-1", .rider, "POST", path + "/status", #"{"status":"work_in_progress"}"#),
                    ("rider-1", .rider, "POST", path + "/task", #"{"state":"accepted"}"#),
                    ("rider-1", .rider, "PUT", path + "/travel", nil),
                    ("rider-1", .rider, "DELETE", path + "/travel", nil),
                    ("rider-1", .rider, "PUT", path + "/unavailable", #"{"reason":"hidden"}"#),
                    ("rider-1", .rider, "GET", path + "/verdicts", nil),
                    ("rider-1", .rider, "GET", path + "/navigation", nil),
                    (
                        "rider-1", .rider, "POST", path + "/locations",
                        #"{"fixes":[{"at":\#(at),"lat":41.9,"lon":12.5}]}"#
                    ),
                ]
                #expect(
                    try await gateway.rest("DELETE", "/api/v1/grants/jobs/\(job)", by: "olga", .ops).status == 204)
                try await becomes("the revocation is applied", every: .milliseconds(10)) {
                    try await gateway.rest("GET", path, by: "anna", .customer).status == 404
                }
                for (person, role, method, path, body) in asked {
                    let answer = try await gateway.rest(method, path, by: person, role, body)
                    #expect(
                        answer.status == 404 && answer.member("code") == "not_found", "\(method) \(path): \(answer)")
                }
                try await gateway.connect("rider-1", .rider) { connection, messages in
                    for message: ClientMessage in [
                        .travel(job: job, active: true), .travel(job: job, active: false),
                        .unavailable(job: job, .hidden),
                        .subscribe(job: job, since: nil),
                        .location(
                            LocationReport(
                                job: job, sequence: 1,
                                fixes: [Fix(at: at, place: Coordinate(latitude: 41.9, longitude: 12.5)!)])),
                    ] {
                        try await connection.send(message)
                        #expect(try await messages.refusal().code == .notFound, "\(message)")
                    }
                }
                #expect(try await gateway.rest("GET", path, by: "olga", .ops).status == 200)
            }
        }
    }

    @Test func `B55: a rider's token restricted to one job cannot set availability, and can report for the job`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                try await gateway.registerRider()
                let rider = PersonID("rider-1")!
                _ = try await gateway.riders.setOnline(
                    rider, in: ZoneID("rome")!, device: DeviceID("phone"), by: .init(rider)
                ).get()
                let narrow = try await gateway.mint.token(
                    for: rider, role: .rider, now: Int64(Date.now.timeIntervalSince1970), job: job)
                let record = try await gateway.riders.read(rider, in: ZoneID("rome")!).get()
                for (method, path, body) in [
                    ("GET", "", nil), ("PATCH", "/status", #"{"status":"offline"}"#),
                    ("PATCH", "/status", #"{"status":"online","device":"thief"}"#),
                    ("PUT", "/presence", #"{"lat":41.9,"lon":12.5,"device":"thief"}"#), ("PUT", "/presence", "{}"),
                ] as [(String, String, String?)] {
                    let answer = try await gateway.rest(method, "/api/v1/riders/me" + path, as: narrow, body)
                    #expect(answer.status == 403 && answer.member("code") == "forbidden", "\(method) \(path)")
                }
                try await GatewayConnection.open(
                    gateway.url, token: narrow, trust: .authorities(file: gateway.certificate)
                ) { connection in
                    var messages = connection.messages.makeAsyncIterator()
                    for message: ClientMessage in [
                        .availability(.offline, device: nil), .availability(.online, device: DeviceID("thief")),
                        .presence(nil, device: DeviceID("thief")),
                    ] {
                        try await connection.send(message)
                        #expect(try await messages.refusal().code == .forbidden, "\(message)")
                    }
                    try await connection.send(.travel(job: job, active: true))
                    _ = try await messages.travelAnswer()
                    try await connection.report(job, step: 1)
                    _ = try await messages.first { if case .ok("location", _, _, _, _) = $0 { true } else { nil } }
                }
                // Neither its session nor its position counted as a heartbeat.
                let after = try await gateway.riders.read(rider, in: ZoneID("rome")!).get()
                #expect(after == record)
            }
        }
    }

    @Test func `B7: extreme and malformed query values are never answered 500`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.limits.requestsPerPersonBurst = 1_000 }) { gateway in
                let orders = try await gateway.token("orders", .service)
                func ask(_ query: String) async throws -> RESTResponse {
                    try await gateway.rest("GET", "/api/v1/zones/rome/riders/available?\(query)", as: orders)
                }
                for place in [
                    "85.06,14", "-85.06,14", "90,14", "-90,14", "90,180", "85.051129,0.1", "85.05112878,0.1", "0,180",
                    "0,-180", "1,179.999999", "0.0000001,0.0000001", "-85.05112878,-180",
                ] {
                    for radius in ["", "&radius=1", "&radius=100000"] {
                        let answer = try await ask("near=\(place)\(radius)")
                        #expect(answer.status == 200, "\(place)\(radius): \(answer)")
                    }
                }
                for garbage in [
                    "", ",", "1", "1,", ",1", "1,2,3", "nan,1", "1,nan", "inf,1", "1,-inf", "1e308,1", "91,0", "0,181",
                    "0,0", "a,b", "1%2C2%2C3", "%00,1", "1;2", "1,2%20", "--1,2",
                ] {
                    #expect(try await ask("near=\(garbage)").status == 400, "\(garbage)")
                }
                let values = [
                    "", "0", "-1", "nan", "inf", "-inf", "1e308", "1e-400", "9223372036854775807",
                    "9223372036854775808", "-9223372036854775808", "1.5", "%00", "0x10", "1,1", "true",
                ]
                let questions = [
                    "zones/rome/riders/available?limit=", "zones/rome/riders/available?near=1,1&radius=",
                    "zones/rome/jobs?limit=", "zones/rome/jobs?after=", "zones/rome/jobs?since=",
                    "zones/rome/jobs?status=", "zones/rome/jobs?tracking=", "zones/rome/audit?limit=",
                ]
                for question in questions {
                    for value in values {
                        let answer = try await gateway.rest("GET", "/api/v1/\(question)\(value)", as: orders)
                        #expect([200, 400].contains(answer.status), "\(question)\(value): \(answer)")
                    }
                }
            }
        }
    }
}
