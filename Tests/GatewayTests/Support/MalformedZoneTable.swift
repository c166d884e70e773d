import Access
import EnrouteWire
import Foundation
import LiveState
import NIOCore
import Redis
import TestSupport

@testable import Gateway
@testable import HTTPValues
@testable import Realtime

extension MalformedData {
    /// The keys of a rider and a zone.
    static let ofZones: [MalformedData] = Self.riders + Self.besideRiders

    private static let fieldsOfRiders: [(name: String, tolerated: Set<HostileValue>)] = [
        ("status", []), ("capacity", []), ("heartbeat", []), ("device", HostileValue.names.union([.empty])),
        ("version", []), ("status_at", [.empty]),
    ]

    private static let riders: [MalformedData] =
        Self.fieldsOfRiders.map { field, tolerated in
            MalformedData(
                name: "rider", tolerated: tolerated,
                plant: { trial, value in
                    try await trial.gateway.registerRider(trial.rider.text, in: trial.zone.text)
                    let key = trial.keyspace.rider(trial.rider, in: trial.zone)
                    try await trial.plant(key, value, good: "!x!x", ["HSET", .text(key), .text(field), nil])
                },
                meet: { _ = try await $0.ask("GET", "/api/v1/riders/\($0.rider)") },
                key: { $0.keyspace.rider($0.rider, in: $0.zone) })
        }

    private static let besideRiders: [MalformedData] = [
        MalformedData(
            name: "tasks",
            plant: { trial, value in
                try await trial.gateway.registerRider(trial.rider.text, in: trial.zone.text)
                let key = trial.keyspace.tasks(of: trial.rider, in: trial.zone)
                try await trial.plant(key, value, good: "acce", ["HSET", .text(key), "job-1", nil])
            },
            meet: { _ = try await $0.ask("GET", "/api/v1/riders/\($0.rider)") },
            key: { $0.keyspace.rider($0.rider, in: $0.zone) }),
        // Any value there counts as the result of another request: 409, as for a valid one.
        MalformedData(
            name: "request", tolerated: Set(HostileValue.allCases).subtracting([.wrongType]),
            plant: { trial, value in
                try await trial.gateway.registerRider(trial.rider.text, in: trial.zone.text)
                let key = trial.keyspace.request("r", of: trial.rider, in: trial.zone)
                try await trial.plant(key, value, good: "{", ["SET", .text(key), nil])
            },
            meet: { trial in
                _ = try await trial.gateway.rest(
                    "PATCH", "/api/v1/riders/me/status", by: trial.rider.text, .rider, #"{"status":"online"}"#,
                    headers: ["Idempotency-Key: r"])
            }, key: { $0.keyspace.request("r", of: $0.rider, in: $0.zone) }),
        MalformedData(
            name: "home", tolerated: HostileValue.names.union([.truncated]),
            plant: { trial, value in
                let key = trial.keyspace.home(of: trial.rider)
                try await trial.plant(key, value, good: "rome", ["SET", .text(key), nil])
            },
            meet: { _ = try await $0.ask("GET", "/api/v1/riders/\($0.rider)") },
            key: { $0.keyspace.home(of: $0.rider) }),
        MalformedData(
            name: "moving",
            plant: { trial, value in
                let key = trial.keyspace.moving(trial.rider)
                try await trial.plant(key, value, good: #"{"name":"Rosa"}"#, ["SET", .text(key), nil])
            },
            meet: { trial in
                _ = try await trial.gateway.rest(
                    "PUT", "/api/v1/riders/\(trial.rider)", by: "orders", .service,
                    #"{"zone":"\#(trial.zone)","approved":true}"#)
            }, key: { $0.keyspace.moving($0.rider) }),
        MalformedData(
            name: "available", tolerated: HostileValue.names.union([.truncated]),
            plant: { trial, value in
                let key = trial.keyspace.available(in: trial.zone)
                try await trial.plant(key, value, good: "rider", ["ZADD", .text(key), "1795000000000", nil])
            },
            meet: { _ = try await $0.ask("GET", "/api/v1/zones/\($0.zone)/riders/available") },
            key: { $0.keyspace.available(in: $0.zone) }),
        // A regression: a score that is not a time.
        MalformedData(
            name: "available", tolerated: Set(HostileValue.allCases).subtracting([.infinite, .vast, .least]),
            plant: { trial, value in
                let key = trial.keyspace.available(in: trial.zone)
                guard [.infinite, .vast, .least].contains(value) else { return }
                try await trial.plant(key, value, good: "", ["ZADD", .text(key), nil, "rider-1"])
            },
            meet: { _ = try await $0.ask("GET", "/api/v1/zones/\($0.zone)/riders/available") },
            key: { $0.keyspace.available(in: $0.zone) }),
        MalformedData(
            name: "due", tolerated: HostileValue.names.union([.truncated]),
            plant: { trial, value in
                let key = trial.keyspace.due(in: trial.zone)
                try await trial.plant(key, value, good: "rider", ["ZADD", .text(key), "inf", nil])
            },
            meet: { _ = try await $0.ask("GET", "/api/v1/zones/\($0.zone)/riders") },
            key: { $0.keyspace.due(in: $0.zone) }),
        MalformedData(
            name: "taskOwners", tolerated: HostileValue.names.union([.truncated]),
            plant: { trial, value in
                let key = trial.keyspace.taskOwners(in: trial.zone)
                try await trial.plant(key, value, good: "rider", ["HSET", .text(key), "job-1", nil])
            },
            meet: { trial in
                _ = try? await trial.client(.ledger) { client in
                    try await Riders(ledger: client, settings: trial.gateway.settings.liveState)
                        .owner(of: JobID("job-1")!, in: trial.zone).get()
                }
            }, key: { $0.keyspace.taskOwners(in: $0.zone) }),
        MalformedData(
            name: "changeLog", tolerated: HostileValue.names.union([.truncated]),
            plant: { trial, value in
                let key = trial.keyspace.changeLog(of: trial.zone)
                try await trial.plant(
                    key, value, good: "online", ["XADD", .text(key), "*", "change", nil])
            },
            meet: { _ = try await $0.ask("GET", "/api/v1/zones/\($0.zone)/audit") },
            key: { $0.keyspace.changeLog(of: $0.zone) }),
        // A regression: an ID that contains no version.
        MalformedData(
            name: "changeLog", tolerated: Set(HostileValue.allCases).subtracting([.most]),
            plant: { trial, value in
                let key = trial.keyspace.changeLog(of: trial.zone)
                for id in ["1795000000000-1", "18446744073709551615-18446744073709551615"] where value == .most {
                    try await trial.run([
                        "XADD", .text(key), .text(id), "rider", "r", "change", "online", "status", "online",
                        "tasks", "1", "capacity", "1", "prev", "0",
                    ])
                }
            },
            meet: { trial in
                _ = try? await trial.client(.ledger) { client in
                    try await ZonePool(ledger: client, live: client, settings: trial.gateway.settings.liveState)
                        .read(trial.zone, since: 1_795_000_000_000_001).get()
                }
            }, key: { $0.keyspace.changeLog(of: $0.zone) }),
        MalformedData(
            name: "places", tolerated: HostileValue.names.union([.truncated]),
            plant: { trial, value in
                let key = trial.keyspace.places(in: trial.zone)
                try await trial.plant(key, value, good: "rider", ["GEOADD", .text(key), "12.5", "41.9", nil])
            },
            meet: { _ = try await $0.ask("GET", "/api/v1/zones/\($0.zone)/riders/available?near=41.9,12.5") },
            key: { $0.keyspace.places(in: $0.zone) }),
        // A foreign member or score is removed by the sweep, or holds no lease.
        MalformedData(
            name: "placesSeen", tolerated: Set(HostileValue.allCases).subtracting([.wrongType]),
            plant: { trial, value in
                try await trial.gateway.registerRider(trial.rider.text, in: trial.zone.text)
                _ = try await trial.ask(
                    "PATCH", "/api/v1/riders/me/status", by: trial.rider.text, .rider, #"{"status":"online"}"#)
                let key = trial.keyspace.placesSeen(in: trial.zone)
                try await trial.plant(key, value, good: "rider", ["ZADD", .text(key), "-inf", nil])
            },
            meet: { trial in
                _ = try await trial.ask(
                    "PUT", "/api/v1/riders/me/presence", by: trial.rider.text, .rider, #"{"lat":41.9,"lon":12.5}"#)
            }, key: { $0.keyspace.placesSeen(in: $0.zone) }),
        MalformedData(
            name: "jobs", tolerated: HostileValue.names.union([.truncated]),
            plant: { trial, value in
                let key = trial.keyspace.jobs(in: trial.zone)
                try await trial.plant(key, value, good: "job-1", ["ZADD", .text(key), "inf", nil])
            },
            meet: { _ = try await $0.ask("GET", "/api/v1/zones/\($0.zone)/jobs") },
            key: { $0.keyspace.jobs(in: $0.zone) }),
    ]

    /// Keys that all jobs, riders and zones share.
    static let ofAll: [MalformedData] = [
        MalformedData(
            name: "zones", tolerated: HostileValue.names.union([.truncated]),
            plant: { trial, value in
                let key = trial.own.keyspace.zones
                try await trial.plant(key, value, good: "rome", ["SADD", .text(key), nil])
            },
            meet: { trial in
                _ = try? await trial.client(.ledger) { try await Riders(ledger: $0, settings: trial.own).zones().get() }
            }, key: { $0.own.keyspace.zones }),
        MalformedData(
            name: "zonesOfJobs", tolerated: HostileValue.names.union([.truncated]),
            plant: { trial, value in
                let key = trial.own.keyspace.zonesOfJobs
                try await trial.plant(key, value, good: "rome", ["ZADD", .text(key), "inf", nil])
            },
            meet: { trial in
                _ = try? await trial.client(.ledger) {
                    try await ZoneJobs(ledger: $0, settings: trial.own).zones().get()
                }
            }, key: { $0.own.keyspace.zonesOfJobs }),
        MalformedData(
            name: "links",
            plant: { trial, value in
                let key = trial.own.keyspace.links(of: trial.job)
                try await trial.plant(
                    key, value, good: String(repeating: "0a", count: 16), ["ZADD", .text(key), "1795000000000", nil])
            },
            meet: { trial in
                _ = try? await trial.client(.ledger) {
                    try await JobLedger(ledger: $0, settings: trial.own).eraseLinks(of: trial.job).get()
                }
            }, key: { $0.own.keyspace.links(of: $0.job) }),
        MalformedData(
            name: "jobs", tolerated: HostileValue.names.union([.truncated]),
            plant: { trial, value in
                let key = trial.own.keyspace.jobs(ofRider: trial.rider)
                try await trial.plant(key, value, good: "job-1", ["ZADD", .text(key), "1795000000000", nil])
            },
            meet: { trial in
                _ = try? await trial.client(.ledger) {
                    try await JobLedger(ledger: $0, settings: trial.own).page(
                        of: .rider(trial.rider), after: nil, limit: 5, now: 1_795_000_000_000
                    ) { _, _ in true }.get().jobs.count
                }
            }, key: { $0.own.keyspace.jobs(ofRider: $0.rider) }),
        // Regressions: the score inf, and members that form the name of another key.
        MalformedData(
            name: "gateways", tolerated: HostileValue.names.union([.truncated]),
            plant: { trial, value in
                let key = trial.own.keyspace.gateways
                try await trial.plant(key, value, good: "g-1", ["ZADD", .text(key), "1795000000000", nil])
            },
            meet: { trial in
                _ = try? await trial.client(.live) {
                    try await GatewayRegistry(live: $0, settings: trial.own).reports(now: 1_795_000_000_000).get()
                }
            }, key: { $0.own.keyspace.gateways }),
        MalformedData(
            name: "gateways",
            tolerated: Set(HostileValue.allCases).subtracting([.infinite, .vast, .least, .most]),
            plant: { trial, value in
                let key = trial.own.keyspace.gateways
                guard [.infinite, .vast, .least, .most].contains(value) else { return }
                try await trial.plant(key, value, good: "", ["ZADD", .text(key), nil, "g-1"])
            },
            meet: { trial in
                _ = try? await trial.client(.live) {
                    try await GatewayRegistry(live: $0, settings: trial.own).reports(now: WallClock.nowMilliseconds)
                        .get()
                }
            }, key: { $0.own.keyspace.gateways }),
        MalformedData(
            name: "gateway",
            plant: { trial, value in
                let (key, id) = (trial.keyspace.gateway("g-\(trial.number)"), "g-\(trial.number)")
                try await trial.run([
                    "ZADD", .text(trial.keyspace.gateways), .integer(WallClock.nowMilliseconds), .text(id),
                ])
                try await trial.plant(key, value, good: #"{"name":"g","version":"0.1.0"}"#, ["SET", .text(key), nil])
            },
            meet: { trial in
                _ = try await trial.ask("GET", "/api/v1/gateways")
                try await trial.run(["ZREM", .text(trial.keyspace.gateways), .text("g-\(trial.number)")])
            }, key: { $0.keyspace.gateway("g-\($0.number)") }),
        MalformedData(
            name: "followed", tolerated: [.empty],
            plant: { trial, value in
                try await trial.run(["ZADD", .text(trial.own.keyspace.gateways), "1", "g-1"])
                let key = trial.own.keyspace.followed(atGateway: "g-1")
                try await trial.plant(key, value, good: "job-1 2 job-2", ["SET", .text(key), nil])
                // A regression: counts whose sum overflows.
                if [.most, .least].contains(value) {
                    let count = String(decoding: value.bytes(""), as: UTF8.self)
                    try await trial.run(["SET", .text(key), .text("job-1 \(count) job-1 \(count)")])
                }
            },
            meet: { trial in
                _ = try? await trial.client(.live) {
                    try await GatewayRegistry(live: $0, settings: trial.own).followers().get()
                }
            }, key: { $0.own.keyspace.followed(atGateway: "g-1") }),
        MalformedData(
            name: "ridersConnected", tolerated: [.empty],
            plant: { trial, value in
                try await trial.run(["ZADD", .text(trial.own.keyspace.gateways), "1", "g-1"])
                let key = trial.own.keyspace.ridersConnected(atGateway: "g-1")
                try await trial.plant(key, value, good: "rider-1 2 rider-2", ["SET", .text(key), nil])
            },
            meet: { trial in
                _ = try? await trial.client(.live) { live in
                    try await FactsCollector(
                        live: live, ledger: live, settings: trial.own, accessPages: 1, now: { 0 }
                    ).facts(of: trial.rider)
                }
            }, key: { $0.own.keyspace.ridersConnected(atGateway: "g-1") }),
        MalformedData(
            name: "stream", tolerated: HostileValue.names.union([.truncated]),
            plant: { trial, value in
                let key = trial.own.keyspace.stream(.access)
                try await trial.plant(key, value, good: "followed", ["XADD", .text(key), "*", "type", nil])
            },
            meet: { trial in
                _ = try? await trial.client(.ledger) {
                    try await AuditStreams(ledger: $0, settings: trial.own).newest(.access, limit: 10).get()
                }
            }, key: { $0.own.keyspace.stream(.access) }),
    ]

    /// Members of Keyspace that are not keys, or that stand for several. Separate tests cover the messages of channels and the
    /// stream of revocations.
    static let elsewhere: Set<String> = [
        "feed", "events", "changes", "control", "everyKey",
        // In WebhookStoreTests.
        "webhooks", "webhook", "lease", "attempts", "waiting", "dead", "outbox", "eventCursors", "eventLease",
        // In EventErasureTests.
        "erased",
        // In PushSubscriptionsTests.
        "push",
    ]
}
