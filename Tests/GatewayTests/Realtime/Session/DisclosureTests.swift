import Access
import EnrouteClient
import EnrouteWire
import Foundation
import LiveState
import NIOCore
import NIOPosix
import Redis
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// No data reaches anyone but its intended recipients.
@Suite(.serialized, .needsMachine(for: .faults)) struct DisclosureTests {
    /// The number of sessions, and of jobs that each one requests in sequence: 10,000 pairs.
    private static let (people, asked) = (50, 200)
    private static let jobsOfEach = 3

    private static func person(_ index: Int) -> String { "person-\(index)" }
    private static func job(_ number: Int, of person: Int) -> JobID { JobID("job-\(person)-\(number)")! }
    private static func rider(_ person: Int) -> PersonID { PersonID("rider-\(person)")! }

    @Test func `I1: 10,000 random pairs of user and job disclose 0 bytes to others`() async throws {
        try await within(.seconds(240)) {
            try await RunningGateway.run(isSecure: false) { settings in
                settings.limits.allowManyMessages()
                settings.limits.queueBytes = 16 << 20
                settings.limits.writeStallSeconds = 120
            } _: { gateway in
                try await Self.makeJobs(gateway)
                // Cancelled and awaited at the end of this scope.
                async let _: Void = Self.move(gateway)
                let seen = try await withThrowingTaskGroup(of: Seen.self) { group in
                    for index in 0..<Self.people { group.addTask { try await Self.ask(index, gateway) } }
                    return try await group.reduce(into: Seen()) { $0.add($1) }
                }
                #expect(seen.pairs == Self.people * Self.asked)
                #expect(seen.foreign.isEmpty, "\(seen.foreign.prefix(5))")
                // A test in which nothing moves, or nobody is authorized, would prove nothing.
                #expect(seen.shown > 500 && seen.refused > 5_000 && seen.positions > 100, "\(seen)")
            }
        }
    }

    fileprivate struct Seen: CustomStringConvertible {
        var (pairs, shown, refused, positions) = (0, 0, 0, 0)
        /// Messages about another customer's job.
        var foreign: [String] = []

        mutating func add(_ other: Seen) {
            self.pairs += other.pairs
            self.shown += other.shown
            self.refused += other.refused
            self.positions += other.positions
            self.foreign += other.foreign
        }

        var description: String {
            "\(self.pairs) pairs: \(self.shown) shown, \(self.refused) refused; \(self.positions) positions"
        }
    }

    private static func makeJobs(_ gateway: RunningGateway) async throws {
        let until = Int64(Date.now.timeIntervalSince1970 * 1000) + 3_600_000
        for person in 0..<Self.people {
            for number in 0..<Self.jobsOfEach {
                let job = try await gateway.travellingJob(
                    Self.job(number, of: person).text, customer: Self.person(person), rider: Self.rider(person).text)
                _ = try await gateway.ledger.startTravel(for: job, by: Self.rider(person)).get()
                _ = try await gateway.feed.open(job, for: Self.rider(person), until: until, fence: 1).get()
            }
        }
    }

    /// Moves every job's rider until cancelled.
    private static func move(_ gateway: RunningGateway) async throws {
        let publisher = LocationPublisher(live: gateway.client, settings: gateway.settings.liveState)
        while !Task.isCancelled {
            for person in 0..<Self.people {
                let now = Int64(Date.now.timeIntervalSince1970 * 1000)
                let published = (0..<Self.jobsOfEach).map { number in
                    let fix = Fix(at: now, place: Coordinate(latitude: 41.9, longitude: 12.5)!)
                    return publisher.publish(
                        fix, for: Self.job(number, of: person), by: Self.rider(person), receivedAt: now
                    ).map { _ in }
                }
                try await EventLoopFuture.andAllComplete(published, on: gateway.client.eventLoop).get()
            }
        }
    }

    /// One person requests random jobs: its own, those of others, and absent ones.
    private static func ask(_ index: Int, _ gateway: RunningGateway) async throws -> Seen {
        try await gateway.connect(Self.person(index), .customer) { connection, messages in
            var (random, seen) = (SeededGenerator(seed: UInt64(index)), Seen())
            var followed: Set<JobID> = []
            while seen.pairs < Self.asked {
                let owner = Bool.random(using: &random) ? index : Int.random(in: 0..<Self.people, using: &random)
                let number = Int.random(in: 0...Self.jobsOfEach, using: &random)
                let job = Self.job(number, of: owner)
                if followed.remove(job) != nil { try await connection.send(.unsubscribe(job: job)) }
                try await connection.send(.subscribe(job: job, since: nil))
                seen.pairs += 1
                let isOwn = owner == index && number < Self.jobsOfEach
                let isShown: Bool = try await messages.first { message in
                    seen.note(message, of: index)
                    switch message {
                    case .subscribed(job, _): return true
                    case .error(let refusal) where refusal.job == job: return false
                    default: return nil
                    }
                }
                #expect(isShown == isOwn)
                if isShown { followed.insert(job) }
            }
            return seen
        }
    }
}

extension DisclosureTests.Seen {
    fileprivate mutating func note(_ message: ServerMessage, of person: Int) {
        var (job, isRefusal): (JobID?, Bool) = (nil, false)
        switch message {
        case .subscribed(let shown, _), .reset(let shown, _):
            (job, self.shown) = (shown, self.shown + 1)
        case .location(let location): (job, self.positions) = (location.job, self.positions + 1)
        case .status(let of, _), .tracking(let of, _, _), .eta(let of, _), .ended(let of, _), .proximity(let of, _),
            .unavailable(let of, _, _):
            job = of
        case .ok(_, let of, _, _, _): job = of
        case .error(let refusal):
            (job, isRefusal) = (refusal.job, refusal.code == .notFound)
            self.refused += 1
        // Messages about zones, which customers must not receive.
        case .pool, .rider, .jobs, .places: self.foreign.append("\(message)")
        case .welcome, .degraded, .restored, .pong, .goaway, .rate: break
        }
        if let job, !isRefusal, !job.text.hasPrefix("job-\(person)-") { self.foreign.append("\(message)") }
    }
}

/// The cost of an answer must not reveal more than the answer itself.
extension DisclosureTests {
    /// The commands that read a job. A gateway's own background commands hardly include them.
    private static let reading = ["evalsha", "hmget", "mget", "hgetall"]

    /// The number of such commands that Redis has executed.
    private static func readingCount(_ gateway: RunningGateway) async throws -> Int {
        let text = try #require(try await gateway.client.run("INFO", "commandstats").text)
        return text.matches(of: /cmdstat_(\w+):calls=(\d+)/).filter { Self.reading.contains(String($0.1)) }
            .compactMap { Int($0.2) }.reduce(0, +)
    }

    @Test func `I1: another customer's job and an absent one get the same answer after as many Redis requests`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                $0.limits.allowManyMessages()
            } _: { gateway in
                let foreign = try await gateway.travellingJob("foreign", customer: "bert")
                let times = 200
                try await gateway.connect("anna", .customer) { connection, messages in
                    var asked: [Int] = []
                    for job in [foreign, JobID("absent")!] {
                        let before = try await Self.readingCount(gateway)
                        for _ in 0..<times {
                            try await connection.send(.subscribe(job: job, since: nil))
                            #expect(try await messages.refusal().code == .notFound)
                        }
                        asked.append(try await Self.readingCount(gateway) - before)
                    }
                    #expect(asked.allSatisfy { $0 >= times }, "\(asked)")
                    // One extra request per answer would add 200; the gateway's own background reads are only a few.
                    #expect(abs(asked[0] - asked[1]) < times / 2, "\(asked)")
                }
            }
        }
    }

    @Test func `two customers follow two jobs of one rider, and neither learns of the other`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { settings in
                settings.validation.allowJumps()
            } _: { gateway in
                let jobs = [
                    try await gateway.travellingJob("visit-a", customer: "anna"),
                    try await gateway.travellingJob("visit-b", customer: "bert"),
                ]
                try await gateway.connect("anna", .customer) { anna, seenByAnna in
                    try await gateway.connect("bert", .customer) { bert, seenByBert in
                        for (connection, job) in [(anna, jobs[0]), (bert, jobs[1])] {
                            try await connection.send(.subscribe(job: job, since: nil))
                        }
                        var seen: [[ServerMessage]] = [[], []]
                        try await gateway.connect("rider-1", .rider) { rider, answers in
                            for job in jobs {
                                try await rider.send(.travel(job: job, active: true))
                                _ = try await answers.travelAnswer()
                            }
                            for step in 1...3 { for job in jobs { try await rider.report(job, step: step) } }
                            let last = 41.9 + 3.0 / 100_000
                            func collect(
                                _ messages: inout GatewayConnection.Messages.AsyncIterator
                            ) async throws -> [ServerMessage] {
                                var all: [ServerMessage] = []
                                return try await messages.first { message in
                                    all.append(message)
                                    guard case .location(let location) = message else { return nil }
                                    return abs(location.fix.place.latitude - last) < 1e-9 ? all : nil
                                }
                            }
                            seen[0] = try await collect(&seenByAnna)
                            seen[1] = try await collect(&seenByBert)
                        }
                        for (messages, foreign) in zip(seen, [["visit-b", "bert"], ["visit-a", "anna"]]) {
                            let text = messages.map { "\($0)" }.joined()
                            for word in foreign + ["rider-1"] { #expect(!text.contains(word), "\(text)") }
                        }
                        #expect("\(seen[0])".contains("visit-a") && "\(seen[1])".contains("visit-b"))
                    }
                }
            }
        }
    }
}
