// Followers, a rider and a client that changes statuses use one gateway while a fault is injected into Redis. Whatever the
// fault, in the end nobody was disconnected, no follower has missed a status, received one twice or out of order (except after
// a `reset`), and every follower has the newest position.

import EnrouteClient
import EnrouteWire
import Foundation
import Gateway
import Realtime
import LiveState
import NIOCore
import Redis
import TestSupport
import Testing

struct OutageScenario: Sendable {
    let gateway: RunningGateway
    let witnesses: [FollowerProbe]
    let traffic: Traffic

    /// The job whose status changes all the time.
    static let order = JobID("order-1")!
    /// The job whose rider reports positions all the time.
    static let visit = JobID("visit-1")!
    static let customer = PersonID("anna")!
    static let rider = PersonID("rider-1")!
    static let service = PersonID("service")!
    static let followers = 4
    /// The number of failovers in a test.
    static let rounds = ProcessInfo.processInfo.environment["ENROUTE_FAILOVERS"].flatMap { Int($0) } ?? 1
    /// The time between two positions, and between two attempts to make a refused change.
    static let pace = TimeAmount.milliseconds(100)

    /// - Parameters:
    ///   - fault: injects the fault during the traffic.
    ///   - afterwards: further checks, after all followers have caught up.
    static func run(
        live: RedisAddress, ledger: RedisAddress,
        _ change: @escaping @Sendable (inout GatewaySettings) -> Void = { _ in },
        fault: @escaping @Sendable (OutageScenario) async throws -> Void,
        afterwards: @escaping @Sendable ([FollowerProbe.Seen]) throws -> Void = { _ in }
    ) async throws {
        try await within(.seconds(400) * Self.rounds) {
            try await RunningGateway.run(isSecure: false, at: (live, ledger)) { settings in
                settings.limits.allowManyMessages()
                settings.validation.allowJumps()
                (settings.limits.positionsPerSecond, settings.limits.positionsBurst) = (1000, 1000)
                change(&settings)
            } _: { gateway in
                let scenario = OutageScenario(
                    gateway: gateway, witnesses: (0..<Self.followers).map { _ in FollowerProbe() }, traffic: Traffic())
                try await scenario.makeJobs()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for witness in scenario.witnesses { group.addTask { try await scenario.follow(witness) } }
                    try await scenario.all { $0.snapshots == 2 }
                    group.addTask { try await scenario.travel() }
                    group.addTask {
                        do {
                            try await scenario.changeStatuses()
                        } catch  where !(error is CancellationError) {
                            Issue.record("the status no longer changes: \(error)")
                            throw error
                        }
                    }
                    try await scenario.all { $0.capturedAt[Self.visit] != nil }
                    let seen: [FollowerProbe.Seen]
                    do {
                        try await fault(scenario)
                        seen = try await scenario.settle()
                    } catch {
                        for witness in scenario.witnesses { Issue.record("\(error); seen: \(await witness.seen)") }
                        throw error
                    }
                    group.cancelAll()
                    try afterwards(seen)
                    while let ended = await group.nextResult() {
                        if case .failure(let error) = ended, !(error is CancellationError) {
                            Issue.record("a client was disconnected: \(error)")
                        }
                    }
                }
            }
        }
    }

    /// Creates the jobs, as an order system would; also after Redis has lost its data.
    func makeJobs() async throws {
        let ledger = self.gateway.ledger
        for (job, kind) in [(Self.order, JobKind.delivery), (Self.visit, .service)] {
            _ = try await ledger.create(
                NewJob(job: job, kind: kind, customer: Self.customer, rider: Self.rider, actor: Self.service),
                epoch: "e\(UInt64.random(in: 0 ... .max))"
            ).get()
        }
        for (job, status) in [(Self.order, JobStatus.accepted), (Self.visit, .onTheWay)] {
            _ = try await ledger.publish(status, of: job, by: Self.service, source: "event").get()
        }
    }

    // MARK: participants

    private func follow(_ witness: FollowerProbe) async throws {
        do {
            try await self.gateway.connect("anna", .customer) { connection, messages in
                for job in [Self.order, Self.visit] { try await connection.send(.subscribe(job: job, since: nil)) }
                while let message = try await messages.next() { await witness.take(message) }
                throw Missing()
            }
        } catch {
            await witness.ended(error)
            throw error
        }
    }

    private func travel() async throws {
        try await self.gateway.connect("rider-1", .rider) { connection, messages in
            try await connection.send(.travel(job: Self.visit, active: true))
            _ = try await messages.travelAnswer()
            var last: Int64 = 0
            for step in 1... {
                last = max(last + 1, Int64(Date.now.timeIntervalSince1970 * 1000))
                let place = Coordinate(latitude: 41.9 + Double(step % 10_000) / 100_000, longitude: 12.5)!
                let isLast = await self.traffic.isEnding
                try await connection.send(
                    .location(
                        LocationReport(
                            job: Self.visit, sequence: Int64(step), fixes: [Fix(at: last, place: place)])))
                if isLast { await self.traffic.ended(capturedAt: last) }
                guard !isLast else { break }
                try await self.wait(Self.pace)
            }
            // The connection stays open, because it may still have unread messages.
            while let message = try await messages.next() {
                if case .error(let refusal) = message { Issue.record("a position was refused: \(refusal)") }
            }
            throw Missing()
        }
    }

    /// Changes the status again and again. A follower must receive each change before the next one, except if no replica has
    /// confirmed it, because it may then be lost. A change that was refused or not answered is repeated with the same
    /// idempotency key until it is accepted; the last one until a replica has confirmed it.
    private func changeStatuses() async throws {
        for number in 1... {
            let status: JobStatus = number.isMultiple(of: 2) ? .allocationFailed : .preparing
            let isLast = await self.traffic.isEnding
            let accepted = try await self.change(to: status, request: "request-\(number)")
            let event = accepted.value
            if isLast, !accepted.isReplicationUnconfirmed { return await self.traffic.ended(status: event) }
            guard !accepted.isReplicationUnconfirmed else {
                try await self.wait(Self.pace)
                continue
            }
            try await self.witnesses[number % Self.followers].wait { seen in
                (seen.status[Self.order].map { $0.epoch != event.epoch || $0.id >= event.id }) ?? false
            }
        }
    }

    private func change(to status: JobStatus, request: String) async throws -> Durable<StatusEvent> {
        while true {
            let answer = await Result {
                try await self.gateway.ledger.publishDurably(
                    status, of: Self.order, by: Self.service, source: "event", request: request
                ).get()
            }
            switch answer {
            case .success(let answer):
                switch answer.value {
                case .published(let event), .repeated(let event):
                    return Durable(value: event, replicas: answer.replicas)
                // The job was created again, or has lost a change, so it has another status.
                case .notAllowed(from: .accepted), .notAllowed(from: .allocationFailed):
                    return try await self.change(to: .preparing, request: request)
                case .notAllowed(from: .preparing):
                    return try await self.change(to: .allocationFailed, request: request)
                case .notAllowed, .overtaken, .noSuchJob, .notTheirs: await self.traffic.wasRefused()
                }
            case .failure(let error as RedisError) where error.isOutage: await self.traffic.wasRefused()
            case .failure(let error): throw error
            }
            try await self.wait(Self.pace)
        }
    }

    // MARK: waiting

    /// Waits for the length of a fault or the pace of traffic, never for an outcome.
    func wait(_ time: TimeAmount) async throws {
        await pause(.nanoseconds(time.nanoseconds))
        try Task.checkCancellation()
    }

    /// Waits until every follower has received enough.
    func all(_ isEnough: @escaping @Sendable (FollowerProbe.Seen) -> Bool) async throws {
        for witness in self.witnesses { try await witness.wait(until: isEnough) }
    }

    /// Waits until every follower was notified of an outage.
    func allAreTold(of what: String) async throws {
        let began = ContinuousClock.now
        try await self.all { $0.degraded > $0.restored }
        Self.report("\(what): degraded after \(ContinuousClock.now - began)")
    }

    /// Waits until every follower was notified of the recovery, and has received a status and a position from after this call.
    func allRecover(from what: String) async throws {
        let (began, now) = (ContinuousClock.now, Int64(Date.now.timeIntervalSince1970 * 1000))
        try await self.all { $0.capturedAt[Self.visit] ?? 0 > now }
        Self.report("\(what): positions \(ContinuousClock.now - began) after its end")
        try await self.all { ($0.status[Self.order]?.id.milliseconds ?? 0) > UInt64(now) }
        Self.report("\(what): statuses \(ContinuousClock.now - began) after its end")
        try await self.all { $0.degraded == $0.restored }
        Self.report("\(what): restored \(ContinuousClock.now - began) after its end")
    }

    /// Prints times if ENROUTE_REPORT=1 is set. They are never asserted, because the machine may be busy.
    private static func report(_ line: String) {
        if ProcessInfo.processInfo.environment["ENROUTE_REPORT"] != nil { print("measured: \(line)") }
    }

    /// Stops the traffic, and waits until every follower has received all of it.
    private func settle() async throws -> [FollowerProbe.Seen] {
        let (event, capturedAt) = try await self.traffic.end()
        try await self.all { seen in
            seen.status[Self.order].map { $0.epoch == event.epoch && $0.id == event.id } ?? false
                && seen.capturedAt[Self.visit] == capturedAt && seen.degraded == seen.restored
        }
        var all: [FollowerProbe.Seen] = []
        for witness in self.witnesses {
            let seen = await witness.seen
            #expect(seen.violations == [])
            all.append(seen)
        }
        return all
    }
}

/// The traffic of a scenario, which continues until a test stops it.
actor Traffic {
    private(set) var isEnding = false
    /// The number of status changes that were refused.
    private(set) var refused = 0
    private var status: StatusEvent?
    private var capturedAt: Int64?
    private var continuation: CheckedContinuation<(StatusEvent, Int64), any Error>?

    func wasRefused() { self.refused += 1 }

    /// The last change and the last position of the traffic.
    func end() async throws -> (StatusEvent, Int64) {
        self.isEnding = true
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                self.continuation = $0
                self.answer()
            }
        } onCancel: {
            // Ends immediately, because there is nothing left to wait for.
            Task { await self.abandon() }
        }
    }

    private func abandon() {
        self.continuation?.resume(throwing: CancellationError())
        self.continuation = nil
    }

    func ended(status: StatusEvent) {
        self.status = status
        self.answer()
    }

    func ended(capturedAt: Int64) {
        self.capturedAt = capturedAt
        self.answer()
    }

    private func answer() {
        guard let status, let capturedAt, let continuation else { return }
        self.continuation = nil
        continuation.resume(returning: (status, capturedAt))
    }
}
