import Access
import EnrouteWire
import Foundation
import LiveState
import NIOCore
import Redis
import TestSupport

@testable import Gateway
@testable import Realtime

extension MalformedData {
    private static let fieldsOfJobs: [(name: String, tolerated: Set<HostileValue>)] = [
        ("kind", []), ("customer", HostileValue.names), ("rider", HostileValue.names.union([.empty])), ("status", []),
        ("status_at", []), ("epoch", HostileValue.names), ("head", []), ("travel_deadline", [.empty]),
        ("fence", [.empty]), ("reporter_since", [.empty]), ("accepted_at", [.empty]),
    ]

    private static let jobs: [MalformedData] =
        Self.fieldsOfJobs.map { field, tolerated in
            MalformedData(
                name: "job", tolerated: tolerated,
                plant: { trial, value in
                    _ = try await trial.gateway.travellingJob(trial.job.text, rider: trial.rider.text)
                    let key = trial.keyspace.job(trial.job)
                    try await trial.plant(key, value, good: "!x!x", ["HSET", .text(key), .text(field), nil])
                },
                meet: { _ = try await $0.ask("GET", $0.path) }, key: { $0.keyspace.job($0.job) })
        }

    /// The keys of a job and of the rider who shares a location for it.
    static let ofJobs: [MalformedData] = Self.jobs + Self.besideJobs

    private static let besideJobs: [MalformedData] = [
        MalformedData(
            name: "log",
            plant: { trial, value in
                _ = try await trial.gateway.travellingJob(trial.job.text, rider: trial.rider.text)
                let key = trial.keyspace.log(of: trial.job)
                try await trial.plant(
                    key, value, good: "!x!x",
                    ["XADD", .text(key), "*", "status", "assigned", "source", "rest", "at", nil])
            },
            meet: { _ = try await $0.ask("GET", $0.path + "/log") }, key: { $0.keyspace.log(of: $0.job) }),
        MalformedData(
            name: "travel",
            plant: { trial, value in
                try await trial.travel()
                let key = trial.keyspace.travel(of: trial.job)
                // A regression: a value that is valid except for its deadline.
                if [.most, .least].contains(value) {
                    let deadline = String(decoding: value.bytes(""), as: UTF8.self)
                    try await trial.run(["SET", .text(key), .text("1 \(deadline) \(trial.rider)")])
                } else {
                    try await trial.plant(key, value, good: "1 1795000000000 r", ["SET", .text(key), nil])
                }
            },
            meet: { trial in
                _ = try await trial.ask("GET", trial.path)
                try await trial.report()
            }, key: { $0.keyspace.travel(of: $0.job) }),
        MalformedData(
            name: "position",
            plant: { trial, value in
                try await trial.travel()
                let key = trial.keyspace.position(of: trial.job)
                let good =
                    #"{"type":"location","id":"1795000000000000","at":1795000000000,"job":"\#(trial.job)","#
                    + #""received":1795000000000,"lat":41.9,"lon":12.5}"#
                try await trial.plant(key, value, good: good, ["SET", .text(key), nil])
            },
            meet: { trial in
                _ = try await trial.ask("GET", trial.path)
                try await trial.report()
            }, key: { $0.keyspace.position(of: $0.job) }),
        // MGET returns nil for a list, as for a missing key.
        MalformedData(
            name: "eta", tolerated: [.wrongType],
            plant: { trial, value in
                try await trial.travel()
                let key = trial.keyspace.eta(of: trial.job)
                let good = #"2 1795000000000 {"type":"eta","job":"\#(trial.job)","state":"unavailable","at":1}"#
                try await trial.plant(key, value, good: good, ["SET", .text(key), nil])
            },
            meet: { _ = try await $0.ask("GET", $0.path) }, key: { $0.keyspace.eta(of: $0.job) }),
        // Only the existence of this key matters.
        MalformedData(
            name: "etaLease", tolerated: Set(HostileValue.allCases),
            plant: { trial, value in
                let key = trial.keyspace.etaLease(of: trial.job)
                try await trial.plant(key, value, good: "1", ["SET", .text(key), nil])
            },
            meet: { trial in
                let isClaimed = try await trial.client(.live) { client in
                    try await ETAStore(live: client, settings: trial.gateway.settings.liveState)
                        .claim(trial.job, for: .seconds(1)).get()
                }
                guard !isClaimed else { throw Missing() }
            }, key: { $0.keyspace.etaLease(of: $0.job) }),
        MalformedData(
            name: "stopsBefore", tolerated: HostileValue.names.union([.empty, .truncated]),
            plant: { trial, value in
                let key = trial.keyspace.stopsBefore(trial.job)
                try await trial.plant(key, value, good: "job-1 job-2", ["SET", .text(key), nil])
            },
            meet: { trial in
                _ = try? await trial.client(.live) { client in
                    try await StopSequenceStore(live: client, settings: trial.gateway.settings.liveState)
                        .stops(before: trial.job).get()
                }
            }, key: { $0.keyspace.stopsBefore($0.job) }),
        // The only number that INCR accepts here: incrementing the minimum yields a number, but not a valid one.
        MalformedData(
            name: "etaBudget",
            plant: { trial, value in
                let key = trial.keyspace.etaBudget(of: "osrm", day: Int64(trial.number))
                try await trial.plant(key, value, good: "!x!x", ["SET", .text(key), nil])
            },
            meet: { trial in
                _ = try? await trial.client(.live) { client in
                    try await ETAStore(live: client, settings: trial.gateway.settings.liveState)
                        .count("osrm", day: Int64(trial.number)).get()
                }
            }, key: { $0.keyspace.etaBudget(of: "osrm", day: Int64($0.number)) }),
        MalformedData(
            name: "verdicts",
            plant: { trial, value in
                _ = try await trial.gateway.travellingJob(trial.job.text, rider: trial.rider.text)
                let key = trial.keyspace.verdicts(of: trial.job)
                try await trial.plant(key, value, good: "!x!x", ["HSET", .text(key), "accepted", nil])
            },
            meet: { _ = try await $0.ask("GET", $0.path + "/verdicts") },
            key: { $0.keyspace.verdicts(of: $0.job) }),
    ]

    /// The keys of credentials.
    static let ofSecrets: [MalformedData] = Self.codes + Self.links + [Self.viewers, Self.idempotency]

    private static let codes: [MalformedData] = [
        MalformedData(
            name: "ticket",
            plant: { trial, value in
                let key = trial.keyspace.ticket(Self.name(of: Self.secret(trial)))
                if [.most, .least].contains(value) {
                    let expiry = String(decoding: value.bytes(""), as: UTF8.self)
                    try await trial.run(["SET", .text(key), .text("anna customer   1795000000 \(expiry) jti")])
                } else {
                    try await trial.plant(
                        key, value, good: "anna customer   1795000000 1795000900 jti", ["SET", .text(key), nil])
                }
            },
            meet: { trial in
                let (port, ticket) = (trial.gateway.port, Self.secret(trial))
                _ = try await blocking {
                    let socket = try RawSocket(port: port)
                    try socket.send(
                        "GET /v1 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                            + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                            + "Sec-WebSocket-Protocol: enroute.v1, ticket.\(ticket)\r\n\r\n")
                    _ = try socket.readUntil(Array("\r\n\r\n".utf8))
                    return try socket.read()
                }
            }, key: { $0.keyspace.ticket(Self.name(of: Self.secret($0))) }),
        MalformedData(
            name: "signIn",
            plant: { trial, value in
                let made = try await trial.ask("POST", "/api/v1/sign-ins", by: trial.rider.text, .rider)
                let code: String? = made.member("code")
                try await trial.run(["SET", .text("code:\(trial.number)"), .text(code ?? "")])
                let keys = try await trial.run(["KEYS", "signin:*"]).array?.compactMap(\.text) ?? []
                try await trial.run(["SET", .text("name:\(trial.number)"), .text(keys.first ?? "")])
                try await trial.plant(keys.first ?? "", value, good: "sealed", ["SET", .text(keys.first ?? ""), nil])
            },
            meet: { trial in
                let code = try await trial.run(["GET", .text("code:\(trial.number)")]).text ?? ""
                _ = try await trial.gateway.rest("POST", "/api/v1/sign-ins/redeem", as: nil, #"{"code":"\#(code)"}"#)
                let name = try await trial.run(["GET", .text("name:\(trial.number)")]).text ?? ""
                try await trial.run(["DEL", .text(name)])
            }, key: { _ in "signin:" }),
    ]

    private static let links: [MalformedData] = ["job", "customer", "expires"].map { field -> MalformedData in
        // A time before the Unix epoch: expired.
        let tolerated: Set<HostileValue> = field == "expires" ? [.least] : HostileValue.names
        return MalformedData(
            name: "link", tolerated: tolerated,
            plant: { trial, value in
                let key = trial.keyspace.link(Self.name(of: Self.secret(trial)))
                try await Self.createLink(trial)
                try await trial.plant(key, value, good: "!x!x", ["HSET", .text(key), .text(field), nil])
            },
            meet: { trial in
                _ = try? await trial.client(.ledger) { client in
                    try await TrackingLinks(ledger: client, settings: trial.gateway.settings.liveState)
                        .join(Self.name(of: Self.secret(trial)), as: "session").get()
                }
            }, key: { $0.keyspace.link(Self.name(of: Self.secret($0))) })
    }

    // Any other member could be a valid lease.
    private static let viewers = MalformedData(
        name: "viewers", tolerated: Set(HostileValue.allCases).subtracting([.wrongType]),
        plant: { trial, value in
            let id = Self.name(of: Self.secret(trial))
            let key = trial.keyspace.viewers(ofLink: id)
            try await Self.createLink(trial)
            try await trial.plant(key, value, good: "session", ["ZADD", .text(key), "inf", nil])
        },
        meet: { trial in
            _ = try? await trial.client(.ledger) { client in
                try await TrackingLinks(ledger: client, settings: trial.gateway.settings.liveState)
                    .join(Self.name(of: Self.secret(trial)), as: "session").get()
            }
        }, key: { $0.keyspace.viewers(ofLink: Self.name(of: Self.secret($0))) })

    /// The encrypted response of a request. The end of its claim may be any number.
    private static let idempotency = MalformedData(
        name: "idempotency",
        plant: { trial, value in
            _ = try await trial.client(.ledger) { try await Self.claim($0, trial) }
            let keys = try await trial.run(["KEYS", "idempotency:*"]).array?.compactMap(\.text) ?? []
            let key = keys.first ?? ""
            try await trial.plant(key, value, good: "sealed", ["HSET", .text(key), "answer", nil])
        },
        meet: { trial in
            _ = try? await trial.client(.ledger) { try await Self.claim($0, trial) }
            for key in try await trial.run(["KEYS", "idempotency:*"]).array?.compactMap(\.text) ?? [] {
                try await trial.run(["DEL", .text(key)])
            }
        }, key: { _ in "idempotency:" })

    private static func claim(_ client: RedisClient, _ trial: Trial) async throws -> IdempotencyRecords.ClaimResult {
        try await IdempotencyRecords(writes: client, settings: trial.gateway.settings.liveState)
            .claim(.init("key-\(trial.number)", of: trial.rider, role: "rider"), for: [1]).get()
    }

    private static func createLink(_ trial: Trial) async throws {
        let words: [RedisCommand.Word] = [
            "HSET", .text(trial.keyspace.link(Self.name(of: Self.secret(trial)))), "job", .text(trial.job.text),
            "customer", "anna", "viewers", "5", "expires", "1895000000000", "actor", "orders",
        ]
        try await trial.run(words)
    }

    private static func secret(_ trial: Trial) -> String {
        let digits = String(trial.number, radix: 16)
        return String(repeating: "0", count: 32 - digits.count) + digits
    }

    /// The digest as TrackingLinks and Tickets calculate it.
    private static func name(of secret: String) -> String { TrackingLinks.id(of: secret) ?? "" }
}
