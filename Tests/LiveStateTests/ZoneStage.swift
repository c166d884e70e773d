// The common setup of zone tests: a server, a client, a zone with a rider in it, and a subscriber to its changes.

import EnrouteWire
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

/// One Redis, with at most one rider in it.
struct ZoneStage: Sendable {
    /// The server and its client, for calls that do not concern zones.
    let base: Stage
    let riders: Riders
    let pool: ZonePool
    var client: RedisClient { self.base.client }
    var keyspace: Keyspace { self.base.keyspace }

    static let zone = ZoneID("berlin")!
    static let rider = PersonID("rider-1")!
    static let other = PersonID("rider-2")!
    static let service = Riders.Requester(PersonID("service-1")!)
    static let jobs = (1...9).map { JobID("job-\($0)")! }

    static func set(
        _ settings: LiveStateSettings = LiveStateSettings(), _ body: (ZoneStage) async throws -> Void
    ) async throws {
        try await Stage.set { base in
            try await base.subscriber.subscribe(base.keyspace.changes(in: Self.zone))
            let stage = ZoneStage(
                base: base, riders: Riders(ledger: base.client, settings: settings),
                pool: ZonePool(ledger: base.client, live: base.client, settings: settings))
            try await body(stage)
        }
    }

    /// Settings with which a rider is unreachable and silent one millisecond after its heartbeat.
    static var hasty: LiveStateSettings {
        var settings = LiveStateSettings()
        (settings.heartbeatTimeout, settings.autoOfflineDelay) = (.milliseconds(1), .milliseconds(1))
        return settings
    }

    // MARK: short forms of the calls

    func describe(_ rider: PersonID = Self.rider, isApproved: Bool = true, capacity: Int = 1) async throws {
        _ = try await self.riders.describe(
            rider, in: Self.zone, isApproved: isApproved, capacity: capacity, by: Self.service
        ).get()
    }

    /// Puts a rider into the pool.
    func online(_ rider: PersonID = Self.rider, capacity: Int = 1, device: DeviceID? = nil) async throws {
        try await self.describe(rider, capacity: capacity)
        _ = try await self.riders.setOnline(rider, in: Self.zone, device: device, by: .init(rider)).get()
    }

    func goOffline(
        _ rider: PersonID = Self.rider, because reason: String = "", by requester: Riders.Requester = .init(Self.rider)
    ) async throws -> Riders.Offline {
        try await self.riders.setOffline(rider, in: Self.zone, because: reason, by: requester).get().value
    }

    func assign(
        _ job: JobID, to rider: PersonID = Self.rider, insteadOf former: PersonID? = nil, request: String = ""
    ) async throws -> Riders.Assignment {
        try await self.riders.assign(
            job, to: rider, in: Self.zone, insteadOf: former, by: .init(PersonID("s")!, request: request)
        ).get().value
    }

    func release(_ job: JobID, of rider: PersonID = Self.rider) async throws -> Riders.Release {
        try await self.riders.release(job, of: rider, in: Self.zone, because: .completed, by: Self.service).get().value
    }

    func record(_ rider: PersonID = Self.rider) async throws -> RiderRecord? {
        try await self.riders.read(rider, in: Self.zone).get()
    }

    func members() async throws -> [PersonID] {
        try await self.pool.read(Self.zone).get().members.map(\.rider)
    }

    /// The next published change.
    func nextChange() async throws -> RiderChange {
        let message = try await self.base.subscriber.messages.next(within: .seconds(30))
        return try message.payload.withUnsafeBytes { try RiderChange($0) }
    }

    /// The next `count` published changes.
    func nextChanges(_ count: Int) async throws -> [RiderChange] {
        var changes: [RiderChange] = []
        while changes.count < count { changes.append(try await self.nextChange()) }
        return changes
    }

    // MARK: scripts with raw arguments

    /// The five keys of every change, and the key of the request.
    var keys: [String] {
        [
            self.keyspace.rider(Self.rider, in: Self.zone), self.keyspace.tasks(of: Self.rider, in: Self.zone),
            self.keyspace.available(in: Self.zone), self.keyspace.changeLog(of: Self.zone),
            self.keyspace.changes(in: Self.zone), self.keyspace.request("r", of: Self.rider, in: Self.zone),
        ]
    }
    var due: String { self.keyspace.due(in: Self.zone) }
    var owners: String { self.keyspace.taskOwners(in: Self.zone) }
}

extension Riders {
    /// Puts a rider into the pool that has a task and may have another.
    func setUpTask(_ job: JobID) async throws {
        let (rider, zone) = (ZoneStage.rider, ZoneStage.zone)
        _ = try await self.describe(rider, in: zone, isApproved: true, capacity: 2, by: ZoneStage.service).get()
        _ = try await self.setOnline(rider, in: zone, device: DeviceID("phone-1"), by: .init(rider)).get()
        _ = try await self.assign(job, to: rider, in: zone, by: ZoneStage.service).get()
    }
}

extension ValidCall {
    /// A valid call of a script whose first arguments are zone, rider, actor and request.
    init(_ script: RedisScript, _ stage: ZoneStage, keys: [String] = [], _ arguments: String...) {
        self.init(
            script: script, keys: stage.keys + keys, arguments: ["berlin", "rider-1", "service-1", "r"] + arguments)
    }

    /// Expects that bad values of these four are refused, and the given ones too.
    func refusesCommonAnd(
        _ bad: [(index: Int, value: String, reason: String)], on stage: ZoneStage
    ) async throws {
        let names = [(0, "zone must be"), (1, "rider must be"), (2, "actor must be")].flatMap { index, reason in
            (badNames + [""]).map { (index, $0, reason) }
        }
        let requests = ["a b", "é", "a\n", String(repeating: "a", count: 129)].map { (3, $0, "request must be") }
        try await self.refuses(names + requests + bad, on: stage.base)
    }
}
