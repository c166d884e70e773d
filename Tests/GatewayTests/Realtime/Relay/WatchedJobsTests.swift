import Access
import EnrouteClient
import EnrouteWire
import LiveState
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import HTTPValues
@testable import Realtime

/// `watch {zone, jobs: true}` on running gateways.
@Suite struct WatchedJobsTests {
    private static let rome = RunningGateway.rome
    private static let visit = #"{"kind":"service","customer":"anna","rider":"rider-1","zone":"rome"}"#

    private static func run(_ body: @escaping @Sendable (RunningGateway) async throws -> Void) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.limits.allowManyMessages() }) { try await body($0) }
        }
    }

    @Test func `a watcher receives the open jobs, and then each change until the end`() async throws {
        try await Self.run { gateway in
            try await gateway.putJob("job-1", Self.visit)
            try await gateway.putJob("elsewhere", #"{"kind":"service","customer":"ben","zone":"milan"}"#)
            try await gateway.connect("allocation", .service) { connection, messages in
                var witness = ZoneJobsWitness()
                try await connection.send(.watchJobs(zone: Self.rome))
                try await messages.watchJobs(&witness) { $0.isComplete }
                #expect(witness.rows.keys.map(\.text) == ["job-1"] && witness["job-1"]?.rider == PersonID("rider-1"))
                try await gateway.changeJob("job-1", to: "on_the_way")
                try await messages.watchJobs(&witness) { $0["job-1"]?.status == .onTheWay }
                try await gateway.putJob("job-2", Self.visit)
                try await messages.watchJobs(&witness) { $0["job-2"] != nil }
                try await gateway.changeJob("job-1", to: "cancelled")
                try await messages.watchJobs(&witness) { $0["job-1"] == nil }
                #expect(witness.rows.keys.map(\.text) == ["job-2"])
                #expect(witness.resets == 1 && witness.violations == [])
            }
        }
    }

    @Test func `a job that moves to another zone leaves one watch and enters the other, and an erased one leaves`()
        async throws
    {
        try await Self.run { gateway in
            try await gateway.putJob("job-1", Self.visit)
            try await gateway.connect("olga", .ops) { connection, messages in
                var (rome, milan) = (ZoneJobsWitness(), ZoneJobsWitness())
                for zone in ["rome", "milan"] { try await connection.send(.watchJobs(zone: ZoneID(zone)!)) }
                /// Receives until both are as expected.
                func receive(
                    _ isEnough: (ZoneJobsWitness, ZoneJobsWitness) -> Bool
                ) async throws {
                    while !isEnough(rome, milan) {
                        guard case .jobs(let view)? = try await messages.next() else { continue }
                        if view.zone == Self.rome { rome.take(view) } else { milan.take(view) }
                    }
                }
                try await receive { $0.isComplete && $1.isComplete }
                #expect(rome["job-1"] != nil && milan.rows.isEmpty)
                try await gateway.putJob("job-1", #"{"kind":"service","zone":"milan"}"#)
                try await receive { $0["job-1"] == nil && $1["job-1"] != nil }
                try await gateway.putJob("job-1", #"{"kind":"service","zone":"rome"}"#)
                try await receive { $0["job-1"] != nil && $1["job-1"] == nil }
                let erased = try await gateway.rest("DELETE", "/api/v1/jobs/job-1", by: "orders", .service)
                #expect(erased.status == 204)
                try await receive { one, _ in one.rows.isEmpty }
                #expect(rome.violations + milan.violations == [])
            }
        }
    }

    @Test func `a rider that shares its position is live with an arrival time, and no place is sent`() async throws {
        try await Self.run { gateway in
            let placed =
                #"{"kind":"service","customer":"anna","rider":"rider-1","zone":"rome","destination":{"lat":41.91,"lon":12.5}}"#
            try await gateway.putJob("job-1", placed)
            try await gateway.changeJob("job-1", to: "on_the_way")
            let job = JobID("job-1")!
            try await gateway.connect("olga", .ops) { connection, messages in
                var witness = ZoneJobsWitness()
                try await connection.send(.watchJobs(zone: Self.rome))
                try await messages.watchJobs(&witness) { $0.isComplete }
                try await gateway.connect("rider-1", .rider) { rider, answers in
                    try await rider.send(.travel(job: job, active: true))
                    try await gateway.connect("anna", .customer) { follower, _ in
                        try await follower.send(.subscribe(job: job, since: nil))
                        try await messages.watchJobs(&witness) { $0["job-1"]?.deadline != nil }
                        try await rider.report(job, step: 1)
                        try await messages.watchJobs(&witness) {
                            $0["job-1"]?.tracking == .live && $0["job-1"]?.arrivesAt != nil
                        }
                    }
                    try await rider.send(.travel(job: job, active: false))
                    try await messages.watchJobs(&witness) { $0["job-1"]?.tracking == .paused }
                    #expect(witness["job-1"]?.arrivesAt == nil && witness["job-1"]?.deadline == nil)
                }
                let shown = ServerMessage.jobs(
                    ZoneJobsView(zone: Self.rome, count: 1, jobs: Array(witness.rows.values))
                ).encoded
                #expect(!String(decoding: shown, as: UTF8.self).contains("41.9"))
            }
        }
    }

    @Test func `watchers at two gateways see the changes that either gateway makes`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { first in
                let address = (live: first.settings.live, ledger: first.settings.ledger)
                try await RunningGateway.run(isSecure: false, at: address) { second in
                    try await first.putJob("job-1", Self.visit)
                    try await first.connect("allocation", .service) { one, ofOne in
                        try await second.connect("allocation", .service) { other, ofOther in
                            var (seen, seenByOther) = (ZoneJobsWitness(), ZoneJobsWitness())
                            for connection in [one, other] { try await connection.send(.watchJobs(zone: Self.rome)) }
                            try await ofOne.watchJobs(&seen) { $0.isComplete }
                            try await ofOther.watchJobs(&seenByOther) { $0.isComplete }
                            try await first.changeJob("job-1", to: "on_the_way")
                            try await second.putJob("job-2", Self.visit)
                            try await ofOne.watchJobs(&seen) { $0["job-1"]?.status == .onTheWay && $0["job-2"] != nil }
                            try await ofOther.watchJobs(&seenByOther) {
                                $0["job-1"]?.status == .onTheWay && $0["job-2"] != nil
                            }
                            #expect(seen.rows == seenByOther.rows)
                            #expect(seen.resets == 1 && seenByOther.resets == 1)
                            #expect(seen.violations + seenByOther.violations == [])
                        }
                    }
                }
            }
        }
    }

    @Test func `malformed and forged events are counted, show nothing, and do not stop the watch`() async throws {
        try await Self.run { gateway in
            try await gateway.putJob("job-1", Self.visit)
            let keyspace = gateway.settings.liveState.keyspace
            try await gateway.connect("olga", .ops) { connection, messages in
                var witness = ZoneJobsWitness()
                try await connection.send(.watchJobs(zone: Self.rome))
                try await messages.watchJobs(&witness) { $0.isComplete }
                for job in ["ghost", "job-1"] {
                    let stream = keyspace.events(of: job)
                    try await gateway.client.run("XADD", stream, "*", "type", "enroute.job.created", "subject", job)
                    try await gateway.client.run("XADD", stream, "*", "x", "\u{1}")
                    try await gateway.client.run(
                        "XADD", stream, "*", "id", "e.1.1", "type", "enroute.job.created", "time", "1763856000000",
                        "subject", job, "epoch", "e", "version", "1", "zone", "rome", "data", "{}")
                }
                try await gateway.client.run("HSET", keyspace.job(JobID("ghost")!), "status", "lost")
                try await gateway.changeJob("job-1", to: "on_the_way")
                try await messages.watchJobs(&witness) { $0["job-1"]?.status == .onTheWay }
                #expect(witness.rows.keys.map(\.text) == ["job-1"] && witness.violations == [])
            }
            try await gateway.waitForMetric(#"enroute_redis_invalid_values_total{kind="event_stream"} 4"# + "\n")
        }
    }

    @Test func `customers and riders are refused with the zone's name, and receive nothing`() async throws {
        try await Self.run { gateway in
            for (person, role) in [("anna", Role.customer), ("rider-1", .rider)] {
                try await gateway.connect(person, role) { connection, messages in
                    try await connection.send(.watchJobs(zone: Self.rome))
                    let refusal = try await messages.refusal()
                    #expect(refusal.code == .forbidden && refusal.replyTo == "watch" && refusal.zone == Self.rome)
                    try await gateway.putJob("job-of-\(person)", Self.visit)
                    try await connection.send(.ping)
                    let next = try await messages.next()
                    guard case .pong = next else {
                        Issue.record("\(String(describing: next))")
                        return
                    }
                }
            }
        }
    }

    @Test func `pools and jobs share the limit of zones, and each is watched once and ended on its own`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                $0.limits.watchedZones = 2
            } _: { gateway in
                try await gateway.connect("allocation", .service) { connection, messages in
                    try await connection.send(.watch(zone: Self.rome, since: nil))
                    _ = try await messages.pool()
                    var witness = ZoneJobsWitness()
                    try await connection.send(.watchJobs(zone: Self.rome))
                    try await messages.watchJobs(&witness) { $0.isComplete }
                    try await connection.send(.watchJobs(zone: Self.rome))
                    #expect(try await messages.refusal().code == .badRequest)
                    try await connection.send(.watchJobs(zone: ZoneID("milan")!))
                    #expect(try await messages.refusal().code == .limitExceeded)
                    try await connection.send(.unwatch(zone: Self.rome))
                    try await connection.send(.watchJobs(zone: ZoneID("milan")!))
                    var milan = ZoneJobsWitness()
                    try await messages.watchJobs(&milan) { $0.isComplete }
                    try await connection.send(.unwatchJobs(zone: Self.rome))
                    try await gateway.putJob("job-1", Self.visit)
                    try await gateway.putJob("job-2", #"{"kind":"service","customer":"ben","zone":"milan"}"#)
                    try await messages.watchJobs(&milan) { $0["job-2"] != nil }
                    #expect(milan["job-1"] == nil)
                }
            }
        }
    }

    @Test func `refreshing with a narrower token ends watching`() async throws {
        try await Self.run { gateway in
            try await gateway.connect("allocation", .service) { connection, messages in
                try await connection.send(.watchJobs(zone: Self.rome))
                var witness = ZoneJobsWitness()
                try await messages.watchJobs(&witness) { $0.isComplete }
                let now = WallClock.nowMilliseconds / 1000
                let narrow = try await gateway.mint.token(
                    for: PersonID("allocation")!, role: .service, now: now + 1, lifetime: 1800, job: JobID("j")!)
                try await connection.send(.refresh(token: narrow))
                let refusal = try await messages.refusal()
                #expect(refusal.code == .forbidden && refusal.zone == Self.rome)
            }
        }
    }
}
