import Access
import EnrouteClient
import EnrouteWire
import LiveState
import TestSupport
import Testing

@testable import ETA
@testable import Gateway
@testable import Realtime

/// The acceptance criteria of US-072, as a customer of a running gateway experiences them. AC-003, AC-004 and AC-007 are in
/// ViewStateTests and ArrivalServiceTests, BR-001 in LocationSharingTests, BR-002 in RecordedTimeLimitTests.
@Suite struct LiveLocationTests {
    private static let job = JobID("job-1")!
    private static let service = PersonID("service")!
    private static let door = Coordinate(latitude: 41.9, longitude: 12.5)!

    private static func run(
        _ change: @escaping @Sendable (inout GatewaySettings) -> Void = { _ in },
        _ body: @escaping @Sendable (RunningGateway) async throws -> Void
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { settings in
                ArrivalTimesTests.settings(&settings)
                change(&settings)
            } _: { gateway in
                _ = try await gateway.ledger.create(
                    NewJob(
                        job: Self.job, kind: .service, customer: PersonID("anna")!, rider: PersonID("rider-1")!,
                        destination: Self.door, actor: Self.service), epoch: "epoch-1"
                ).get()
                try await body(gateway)
            }
        }
    }

    private static func publish(_ status: JobStatus, _ gateway: RunningGateway) async throws {
        _ = try await gateway.ledger.publish(status, of: self.job, by: self.service, source: "event").get()
    }

    /// A rider on the way with travel mode on, and its customer following.
    private static func travel(
        _ gateway: RunningGateway,
        _ body: (
            _ rider: GatewayConnection, _ answers: inout GatewayConnection.Messages.AsyncIterator,
            _ seen: inout GatewayConnection.Messages.AsyncIterator
        ) async throws -> Void
    ) async throws {
        try await self.publish(.onTheWay, gateway)
        try await gateway.connect("anna", .customer) { customer, seen in
            try await customer.send(.subscribe(job: self.job, since: nil))
            _ = try await seen.subscribed()
            try await gateway.connect("rider-1", .rider) { rider, answers in
                try await rider.send(.travel(job: self.job, active: true))
                _ = try await answers.travelAnswer()
                try await body(rider, &answers, &seen)
            }
        }
    }

    /// Whether the location is the given step north of the start.
    private static func isAt(_ step: Int, _ location: Location?) -> Bool {
        location.map { abs($0.fix.place.latitude - 41.9 - Double(step) / 100_000) < 1e-6 } ?? false
    }

    @Test
    func `US-072 AC-001: with travel mode on, the customer is shown rider, destination and arrival time`()
        async throws
    {
        try await Self.run { gateway in
            try await gateway.connect("anna", .customer) { customer, seen in
                try await customer.send(.subscribe(job: Self.job, since: nil))
                let assigned = try await seen.subscribed()
                #expect(assigned.status == .assigned && assigned.tracking == .waiting && assigned.position == nil)
                #expect(assigned.destination == Self.door && assigned.eta == nil)
                try await Self.publish(.onTheWay, gateway)
                try await gateway.connect("rider-1", .rider) { rider, answers in
                    try await rider.send(.travel(job: Self.job, active: true))
                    _ = try await answers.travelAnswer()
                    try await rider.report(Self.job, step: 1000)
                    var missing: Set<String> = ["on_the_way", "live", "position", "arrival"]
                    while !missing.isEmpty {
                        guard let message = try await seen.next() else { throw Missing() }
                        switch message {
                        case .status(_, let event): missing.remove(event.status.rawValue)
                        case .tracking(_, .live, _): missing.remove("live")
                        case .location(let location):
                            #expect(Self.isAt(1000, location))
                            missing.remove("position")
                        case .eta(_, let estimate) where estimate.state == .ok: missing.remove("arrival")
                        default: break
                        }
                    }
                }
            }
        }
    }

    @Test func `US-072 AC-002: each position moves the marker, and the arrival time is recalculated every interval`()
        async throws
    {
        // At most one minute in production; a longer interval cannot be configured (ArrivalSettingsTests).
        #expect(ArrivalSettings().interval == .seconds(60))
        try await Self.run { gateway in
            try await Self.travel(gateway) { rider, _, seen in
                var (arrivals, step) = ([ArrivalEstimate](), 2000)
                func note(_ message: ServerMessage) {
                    if case .eta(_, let estimate) = message, estimate.state == .ok { arrivals.append(estimate) }
                }
                for round in 1...3 {
                    for _ in 0..<20 {
                        step -= 5
                        try await rider.report(Self.job, step: step)
                        _ = try await seen.first { message -> Bool? in
                            note(message)
                            guard case .location(let location) = message else { return nil }
                            return Self.isAt(step, location) ? true : nil
                        }
                    }
                    while arrivals.count < round {
                        guard let message = try await seen.next() else { throw Missing() }
                        note(message)
                    }
                }
                #expect(zip(arrivals, arrivals.dropFirst()).allSatisfy { $0.at < $1.at })
                #expect(arrivals.allSatisfy { $0.seconds ?? -1 >= 0 })
            }
        }
    }

    @Test func `US-072 AC-005: without positions the marker stays and is stale, and the arrival time is uncertain`()
        async throws
    {
        try await Self.run {
            $0.freshness = .seconds(2)
        } _: { gateway in
            try await Self.travel(gateway) { rider, _, seen in
                try await rider.report(Self.job, step: 1000)
                _ = try await seen.knownETA()
                var missing: Set<String> = ["stale", "recalculating"]
                while !missing.isEmpty {
                    guard let message = try await seen.next() else { throw Missing() }
                    switch message {
                    case .tracking(_, let state, _): missing.remove(state.rawValue)
                    case .eta(_, let estimate): missing.remove(estimate.state.rawValue)
                    default: break
                    }
                }
                // A new follower sees the same: the last position, its age, and no arrival time.
                try await gateway.connect("olga", .ops) { other, messages in
                    try await other.send(.subscribe(job: Self.job, since: nil))
                    let late = try await messages.subscribed()
                    #expect(late.tracking == .stale && Self.isAt(1000, late.location))
                    #expect(try #require(late.positionAgeMilliseconds) >= 2000)
                    #expect(late.eta?.state == .recalculating && late.eta?.seconds == nil)
                }
                try await rider.report(Self.job, step: 999)
                _ = try await seen.first { if case .tracking(_, .live, _) = $0 { true } else { nil } }
                let again = try await seen.knownETA()
                #expect(again.seconds != nil)
            }
        }
    }

    @Test func `US-072 AC-006: a customer without network keeps its view, and gets the current state on reconnecting`()
        async throws
    {
        try await Self.run { gateway in
            try await LossyProxy.running(to: .tcp(port: gateway.port)) { network in
                let phone = Phone(token: try await gateway.token("anna", .customer), network: network)
                try await Self.publish(.onTheWay, gateway)
                try await gateway.connect("rider-1", .rider) { rider, answers in
                    try await rider.send(.travel(job: Self.job, active: true))
                    _ = try await answers.travelAnswer()
                    func travel(_ steps: [Int]) async throws {
                        for step in steps {
                            try await rider.report(Self.job, step: step)
                            _ = try await answers.first {
                                if case .ok("location", _, _, _, _) = $0 { true } else { nil }
                            }
                        }
                    }
                    let first = try await phone.follow(since: nil) { messages, _ in
                        try await travel([1000])
                        let shown = try await messages.location()
                        #expect(Self.isAt(1000, shown))
                        _ = try await messages.knownETA()
                        try await network.hold()
                        try await travel([999, 998, 997])
                    }
                    // No request is needed: the rider's current position and the next ones arrive on their own.
                    let second = try await phone.follow(since: first.point) { messages, snapshot in
                        #expect(snapshot.tracking == .live && Self.isAt(997, snapshot.location))
                        #expect(snapshot.missed.isEmpty && snapshot.eta?.state == .ok)
                        try await travel([996])
                        let shown = try await messages.location()
                        #expect(Self.isAt(996, shown))
                        try await network.hold()
                        try await Self.publish(.workInProgress, gateway)
                    }
                    _ = try await phone.follow(since: second.point) { _, snapshot in
                        #expect(snapshot.missed.map(\.status) == [.workInProgress])
                        #expect(snapshot.tracking == .arrived && snapshot.position == nil && snapshot.eta == nil)
                    }
                }
            }
        }
    }

    /// A customer's app on a network that can be disconnected.
    private struct Phone {
        let token: String
        let network: LossyProxy

        /// Connects, follows, and disconnects from the network when `body` is done.
        ///
        /// - Returns: the first snapshot.
        func follow(
            since point: ResumePoint?,
            _ body: (inout GatewayConnection.Messages.AsyncIterator, Snapshot) async throws -> Void
        ) async throws -> Snapshot {
            try await self.network.goOn()
            let url = "ws://127.0.0.1:\(self.network.endpoint.port ?? 0)"
            var shown: Snapshot?
            do {
                try await GatewayConnection.open(url, token: self.token) { connection in
                    var messages = connection.messages.makeAsyncIterator()
                    try await connection.send(.subscribe(job: LiveLocationTests.job, since: point))
                    let snapshot = try await messages.subscribed()
                    shown = snapshot
                    try await body(&messages, snapshot)
                    // Data in flight is lost with the connection.
                    try await self.network.cut()
                    while try await messages.next() != nil {}
                }
            } catch ClientError.connectionLost {}
            guard let shown else { throw Missing() }
            return shown
        }
    }
}

extension Snapshot {
    /// The point from which a follower that has seen this resumes.
    fileprivate var point: ResumePoint { ResumePoint(epoch: self.epoch, id: self.id) }
}
