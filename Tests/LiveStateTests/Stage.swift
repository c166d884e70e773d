// The common setup of script tests: a server, a client, the names of one job, and a subscriber to its channels.

import Embedded
import EnrouteWire
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

/// One Redis, with at most one job in it.
struct Stage: Sendable {
    let client: RedisClient
    let subscriber: Subscriber
    let socketPath: String
    let keyspace = Keyspace()
    let settings = LiveStateSettings()

    static let job = JobID("job-7")!
    static let rider = PersonID("rider-1")!
    static let customer = PersonID("customer-1")!

    var ledger: JobLedger { JobLedger(ledger: self.client, settings: self.settings) }
    var feed: JobFeed { JobFeed(live: self.client, settings: self.settings) }
    var publisher: LocationPublisher { LocationPublisher(live: self.client, settings: self.settings) }

    var jobKey: String { self.keyspace.job(Self.job) }
    var logKey: String { self.keyspace.log(of: Self.job) }
    var travelKey: String { self.keyspace.travel(of: Self.job) }
    var positionKey: String { self.keyspace.position(of: Self.job) }
    var feedChannel: String { self.keyspace.feed(of: Self.job) }
    var eventsChannel: String { self.keyspace.events(of: Self.job) }
    /// The stream of all events, as far as the job is concerned.
    var eventStream: String { self.keyspace.events(of: Self.job.text) }

    static func set(_ body: (Stage) async throws -> Void) async throws {
        try await withRedis { client, server in
            let subscriber = try await Subscriber.started(at: server.address)
            defer { subscriber.stop() }
            let stage = Stage(client: client, subscriber: subscriber, socketPath: server.socketPath)
            try await subscriber.subscribe(stage.feedChannel)
            try await subscriber.subscribe(stage.eventsChannel)
            try await body(stage)
        }
    }

    func run(_ script: RedisScript, keys: [String], _ arguments: [String]) async throws -> RESPValue {
        try await self.client.evaluate(script, keys: keys, arguments: arguments.map { .text($0) }).get()
    }

    /// ms since the epoch, by the clock of Redis.
    func now() async throws -> Int64 {
        let parts = try await self.client.run("TIME").array?.compactMap(\.text).compactMap(Int64.init) ?? []
        return parts[0] * 1000 + parts[1] / 1000
    }

    /// Expects that `body`, for example a refused call, changes no key, value or lifetime.
    func leavesEverythingUnchanged(
        _ comment: Comment? = nil, at sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
    ) async throws {
        let before = try await self.client.dump()
        try await body()
        let after = try await self.client.dump()
        #expect(after == before, comment, sourceLocation: sourceLocation)
    }

    /// Whether nothing was published since the last message that was received.
    func hasNoMessages() async throws -> Bool {
        try await self.client.run("SPUBLISH", self.feedChannel, "the end")
        let first = try await self.subscriber.messages.next().text
        try await self.client.run("SPUBLISH", self.eventsChannel, "the end")
        let second = try await self.subscriber.messages.next().text
        return first == "the end" && second == "the end"
    }
}

/// A valid call. Each bad call differs from it in one argument.
struct ValidCall: Sendable {
    var script: RedisScript
    var keys: [String]
    var arguments: [String]

    /// Expects that each of these values in place of one argument is refused, without a write or a message.
    func refuses(_ bad: [(index: Int, value: String, reason: String)], on stage: Stage) async throws {
        for (index, value, reason) in bad {
            var arguments = self.arguments
            arguments[index] = value
            try await self.refuses(self.keys, arguments, reason, on: stage)
        }
        try await self.refusesWrongCounts(on: stage)
        #expect(try await stage.hasNoMessages())
    }

    private func refusesWrongCounts(on stage: Stage) async throws {
        func count(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
        let reason = "takes \(count(self.keys.count, "key")) and \(count(self.arguments.count, "argument"))"
        if !self.arguments.isEmpty {
            try await self.refuses(self.keys, Array(self.arguments.dropLast()), reason, on: stage)
            try await self.refuses(self.keys, [], reason, on: stage)
        }
        try await self.refuses(self.keys, self.arguments + [""], reason, on: stage)
        try await self.refuses(Array(self.keys.dropLast()), self.arguments, reason, on: stage)
        try await self.refuses(self.keys + ["job:{job-7}:more"], self.arguments, reason, on: stage)
    }

    private func refuses(_ keys: [String], _ arguments: [String], _ reason: String, on stage: Stage) async throws {
        try await stage.leavesEverythingUnchanged("\(arguments) of \(keys.count) keys") {
            let words = arguments.map { RedisCommand.Word.text($0) }
            let error = await failure(of: stage.client.evaluate(self.script, keys: keys, arguments: words))
            let start = "ERR \(self.script.name): \(reason)"
            guard case .refused("ERR", let message)? = error, message.hasPrefix(start) else {
                Issue.record("\(arguments) of \(keys.count) keys: \(error as Any)")
                return
            }
        }
    }
}

/// Invalid values of a fence.
let badFences = ["", "x", "-1", "1.5", "1234567890123456"]

/// Invalid values of a name.
let badNames = ["a b", "a:b", "{a}", "é", "a\n", "a\"", String(repeating: "a", count: 65)]
/// Invalid values of a retention.
let badRetentions = ["", "0", "-1", "1.5", "x", "nan", "inf", "1e300", "1000000000001"]

extension RESPValue {
    /// An array of texts and numbers, as tests write it.
    static func answer(_ parts: Any...) -> RESPValue {
        .array(
            parts.map { part in
                switch part {
                case let number as Int: .integer(Int64(number))
                case let number as Int64: .integer(number)
                default: .string(Array("\(part)".utf8))
                }
            })
    }
}

extension Stage {
    /// Creates the job and moves it through these statuses.
    @discardableResult
    func createJob(
        _ kind: JobKind = .delivery, through statuses: [JobStatus] = [], epoch: String = "epoch-1"
    ) async throws -> JobRecord {
        _ = try await self.ledger.create(Self.newJob(kind), epoch: epoch).get()
        for status in statuses { try await self.publish(status) }
        _ = try await self.subscriber.messages.next(statuses.count)
        return try #require(try await self.ledger.recover(Self.job).get()).record
    }

    static func newJob(_ kind: JobKind = .delivery) -> NewJob {
        NewJob(
            job: Self.job, kind: kind, customer: Self.customer, rider: Self.rider, zone: ZoneID("berlin"),
            destination: Coordinate(latitude: 52.5, longitude: 13.4), actor: PersonID("service-1")!)
    }

    /// Moves the job to an allowed status.
    @discardableResult
    func publish(_ status: JobStatus) async throws -> StatusEvent {
        let transition = try await self.ledger.publish(status, of: Self.job, by: Self.rider, source: "rest").get()
        guard case .published(let event) = transition else {
            throw BadMessage("\(status) was not published: \(transition)")
        }
        return event
    }

    /// An endless cycle of statuses: each is allowed after the one before, the first after `accepted`.
    static func round(_ count: Int) -> [JobStatus] {
        (0..<count).map { $0.isMultiple(of: 2) ? .preparing : .allocationFailed }
    }

    /// The statuses up to the one in which the rider may share its position.
    static let statusesUntilTransit: [JobStatus] = [.accepted, .preparing, .readyForPickup, .inTransit]

    /// Fields of the job's record.
    func record(_ fields: String...) async throws -> [String?] {
        let words = ["HMGET", self.jobKey] + fields
        return try await self.client.send(RedisCommand(words.map { .text($0) })).get().array?.map(\.text) ?? []
    }
}
