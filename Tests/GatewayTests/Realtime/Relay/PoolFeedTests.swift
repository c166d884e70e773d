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

/// The rider pool of a zone, as seen by the service that assigns tasks.
@Suite struct PoolFeedTests {
    private typealias Stage = RunningGateway

    @Test func `RDR-009-AC-01, AC-02: a watcher receives the pool, then a rider joining and leaving it`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                for number in 1...3 { try await gateway.register(.rider(number)) }
                try await gateway.goOnline(.rider(1))
                try await gateway.connect("allocation", .service) { connection, messages in
                    try await connection.send(.watch(zone: Stage.rome, since: nil))
                    let pool = try await messages.pool()
                    guard case .riders(let riders, 1) = pool.content else {
                        Issue.record("\(pool)")
                        return
                    }
                    #expect(riders.map(\.rider) == [.rider(1)] && pool.zone == Stage.rome)
                    var witness = PoolWitness()
                    try witness.take(.pool(pool))
                    try await gateway.goOnline(.rider(2))
                    try await messages.watch(&witness) { $0.changes.count == 1 }
                    #expect(witness.members == [.rider(1), .rider(2)])
                    try await gateway.goOffline(.rider(1))
                    try await messages.watch(&witness) { $0.changes.count == 2 }
                    #expect(witness.members == [.rider(2)])
                    #expect(witness.changes.map(\.kind) == [.online, .offline])
                    #expect(witness.violations == [])
                    let written = try await gateway.versions(since: pool.version)
                    #expect(witness.changes.map(\.version) == written)
                }
            }
        }
    }

    @Test func `RDR-009-AC-03: a watcher sees a rider's task, and that the rider stays online`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                try await gateway.register(.rider(1))
                try await gateway.goOnline(.rider(1))
                let job = JobID("order-1")!
                try await gateway.connect("olga", .ops) { connection, messages in
                    var witness = PoolWitness()
                    try await connection.send(.watch(zone: Stage.rome, since: nil))
                    try await messages.watch(&witness) { $0.snapshots == 1 }
                    _ = try await gateway.riders.assign(job, to: .rider(1), in: Stage.rome, by: Stage.allocation).get()
                    // Refused, so watchers are not notified.
                    try await gateway.goOffline(.rider(1))
                    _ = try await gateway.riders.release(
                        job, of: .rider(1), in: Stage.rome, because: .completed, by: Stage.allocation
                    ).get()
                    try await messages.watch(&witness) { $0.changes.count == 2 }
                    #expect(witness.changes.map(\.kind) == [.assigned, .released])
                    #expect(witness.changes.allSatisfy { $0.status == .online && $0.job == job })
                    #expect(witness.changes.map(\.isAvailable) == [false, true])
                    #expect(witness.violations == [])
                }
            }
        }
    }

    @Test func `a reconnecting watcher receives exactly the missed changes, or the pool if they are unknown`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                for number in 1...3 { try await gateway.register(.rider(number)) }
                try await gateway.goOnline(.rider(1))
                let seen = try await gateway.pool.read(Stage.rome).get().version
                try await gateway.goOnline(.rider(2))
                try await gateway.goOffline(.rider(1))
                let missed = try #require(try await gateway.pool.read(Stage.rome, since: seen).get().changes)
                try await gateway.connect("allocation", .service) { connection, messages in
                    try await connection.send(.watch(zone: Stage.rome, since: seen))
                    let view = try await messages.pool()
                    #expect(view.content == .changes(missed) && missed.count == 2)
                    // The watcher continues from this version.
                    var witness = PoolWitness(since: view.version)
                    try await gateway.goOnline(.rider(3))
                    try await messages.watch(&witness) { $0.changes.count == 1 }
                    #expect(witness.violations == [])
                    try await connection.send(.unwatch(zone: Stage.rome))
                    try await connection.send(.watch(zone: Stage.rome, since: witness.version))
                    #expect(try await messages.pool().content == .changes([]))
                    try await connection.send(.unwatch(zone: Stage.rome))
                    try await connection.send(.watch(zone: Stage.rome, since: seen - 1))
                    guard case .riders(_, 2) = try await messages.pool().content else {
                        Issue.record("a version that is not known gave no pool")
                        return
                    }
                }
            }
        }
    }

    @Test func `a lost change is recovered before the next one is shown`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                for number in 1...3 { try await gateway.register(.rider(number)) }
                try await gateway.connect("allocation", .service) { connection, messages in
                    var witness = PoolWitness()
                    try await connection.send(.watch(zone: Stage.rome, since: nil))
                    try await messages.watch(&witness) { $0.snapshots == 1 }
                    try await gateway.goOnlineUnheard(.rider(1))
                    try await gateway.goOnline(.rider(2))
                    try await messages.watch(&witness) { $0.changes.count == 2 }
                    #expect(witness.changes.map(\.rider) == [.rider(1), .rider(2)])
                    #expect(witness.views == 2 && witness.snapshots == 1)
                    #expect(witness.violations == [])
                }
            }
        }
    }

    @Test func `a lost message that no other follows is found by the periodic check`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                try await gateway.register(.rider(1))
                try await gateway.connect("allocation", .service) { connection, messages in
                    var witness = PoolWitness()
                    try await connection.send(.watch(zone: Stage.rome, since: nil))
                    try await messages.watch(&witness) { $0.snapshots == 1 }
                    try await gateway.goOnlineUnheard(.rider(1))
                    try await messages.watch(&witness) { $0.changes.count == 1 }
                    #expect(witness.members == [.rider(1)] && witness.views == 2)
                    #expect(witness.violations == [])
                }
            }
        }
    }

    @Test func `an unknown message in the channel is never shown`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                for number in 1...2 { try await gateway.register(.rider(number)) }
                let keyspace = gateway.settings.liveState.keyspace
                try await gateway.connect("allocation", .service) { connection, messages in
                    var witness = PoolWitness()
                    try await connection.send(.watch(zone: Stage.rome, since: nil))
                    try await messages.watch(&witness) { $0.snapshots == 1 }
                    let forged = RiderChange(
                        zone: Stage.rome, version: witness.version + 1, previous: witness.version - 1, rider: .rider(9),
                        kind: .online, status: .online, isReachable: true, isApproved: true, tasks: 0, capacity: 1,
                        isAvailable: true, job: nil, at: 1)
                    for payload in [String(decoding: forged.encoded, as: UTF8.self), "{", #"{"type":"status"}"#] {
                        try await gateway.client.run("SPUBLISH", keyspace.changes(in: Stage.rome), payload)
                    }
                    try await gateway.goOnline(.rider(1))
                    try await messages.watch(&witness) { $0.changes.count == 1 }
                    #expect(witness.members == [.rider(1)] && witness.violations == [])
                }
            }
        }
    }

    @Test func `when Redis disconnects the channels, no change is missed and no watcher disconnected`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                for number in 0..<20 { try await gateway.register(.rider(number)) }
                try await gateway.connect("allocation", .service) { connection, messages in
                    var witness = PoolWitness()
                    try await connection.send(.watch(zone: Stage.rome, since: nil))
                    try await messages.watch(&witness) { $0.snapshots == 1 }
                    let start = witness.version
                    for number in 0..<20 {
                        if number == 10 { try await gateway.client.run("CLIENT", "KILL", "TYPE", "pubsub") }
                        try await gateway.goOnline(.rider(number))
                    }
                    try await messages.watch(&witness) { $0.changes.count == 20 }
                    let written = try await gateway.versions(since: start)
                    #expect(witness.changes.map(\.version) == written)
                    #expect(witness.violations == [] && witness.snapshots == 1)
                }
            }
        }
    }

    @Test func `if Redis lost the zone, watchers receive its new state and later changes`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                try await gateway.register(.rider(1))
                try await gateway.goOnline(.rider(1))
                try await gateway.connect("allocation", .service) { connection, messages in
                    var witness = PoolWitness()
                    try await connection.send(.watch(zone: Stage.rome, since: nil))
                    try await messages.watch(&witness) { $0.snapshots == 1 }
                    try await gateway.client.run("FLUSHALL")
                    try await gateway.client.run("CLIENT", "KILL", "TYPE", "pubsub")
                    try await messages.watch(&witness) { $0.snapshots == 2 }
                    #expect(witness.version == 0 && witness.members == [])
                    try await gateway.register(.rider(2))
                    try await gateway.goOnline(.rider(2))
                    try await messages.watch(&witness) { $0.changes.count == 2 }
                    #expect(witness.members == [.rider(2)] && witness.violations == [])
                }
            }
        }
    }

    @Test func `two gateways send the same changes`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { first in
                let address = (live: first.settings.live, ledger: first.settings.ledger)
                try await RunningGateway.run(isSecure: false, at: address) { second in
                    for number in 0..<10 { try await first.register(.rider(number)) }
                    let seen = try await withThrowingTaskGroup(of: [RiderChange].self) { group in
                        let (ready, isReady) = AsyncStream.makeStream(of: Void.self)
                        for gateway in [first, second] {
                            group.addTask {
                                try await gateway.connect("allocation", .service) { connection, messages in
                                    var witness = PoolWitness()
                                    try await connection.send(.watch(zone: Stage.rome, since: nil))
                                    try await messages.watch(&witness) { $0.snapshots == 1 }
                                    isReady.yield()
                                    try await messages.watch(&witness) { $0.changes.count == 20 }
                                    #expect(witness.violations == [])
                                    return witness.changes
                                }
                            }
                        }
                        var watchers = ready.makeAsyncIterator()
                        for _ in 0..<2 { _ = await watchers.next() }
                        for number in 0..<10 { try await first.goOnline(.rider(number)) }
                        for number in 0..<10 { try await second.goOffline(.rider(number)) }
                        return try await group.reduce(into: []) { $0.append($1) }
                    }
                    #expect(seen.count == 2 && seen[0] == seen[1] && seen[0].count == 20)
                }
            }
        }
    }

    @Test func `an unauthorized watch is refused with the zone's name and receives nothing`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                try await gateway.register(.rider(1))
                for (person, role) in [("anna", Role.customer), ("rider-1", .rider)] {
                    try await gateway.connect(person, role) { connection, messages in
                        try await connection.send(.watch(zone: Stage.rome, since: nil))
                        let refusal = try await messages.refusal()
                        #expect(refusal.code == .forbidden && refusal.replyTo == "watch" && refusal.zone == Stage.rome)
                        try await gateway.goOnline(.rider(1))
                        try await gateway.goOffline(.rider(1))
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
    }

    @Test func `a connection watches each zone once, up to the limit, and can unwatch one`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                $0.limits.watchedZones = 3
            } _: { gateway in
                let zones = (0...3).map { ZoneID("zone-\($0)")! }
                try await gateway.connect("allocation", .service) { connection, messages in
                    for zone in zones.prefix(3) {
                        try await connection.send(.watch(zone: zone, since: nil))
                        #expect(try await messages.pool() == PoolView(zone: zone, version: 0, .riders([], count: 0)))
                    }
                    try await connection.send(.watch(zone: zones[3], since: nil))
                    #expect(try await messages.refusal().code == .limitExceeded)
                    try await connection.send(.watch(zone: zones[0], since: nil))
                    #expect(try await messages.refusal().code == .badRequest)
                    try await connection.send(.unwatch(zone: zones[0]))
                    try await connection.send(.watch(zone: zones[3], since: nil))
                    #expect(try await messages.pool().zone == zones[3])
                }
            }
        }
    }

    @Test func `refreshing with a narrower token ends watching`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                try await gateway.connect("allocation", .service) { connection, messages in
                    try await connection.send(.watch(zone: Stage.rome, since: nil))
                    _ = try await messages.pool()
                    let now = WallClock.nowMilliseconds / 1000
                    let narrow = try await gateway.mint.token(
                        for: PersonID("allocation")!, role: .service, now: now + 1, lifetime: 1800, job: JobID("j")!)
                    try await connection.send(.refresh(token: narrow))
                    let refusal = try await messages.refusal()
                    #expect(refusal.code == .forbidden && refusal.zone == Stage.rome)
                }
            }
        }
    }
}
