import EnrouteClient
import EnrouteWire
import LiveState
import Testing

@testable import Gateway

/// Subscribing to jobs, and what followers receive.
@Suite struct SubscriptionTests {
    private static let service = PersonID("service")!

    @Test func `another customer's job and an absent job get the same answer`() async throws {
        try await within {
            try await RunningGateway.run { gateway in
                let foreign = try await gateway.travellingJob("foreign", customer: "bert")
                try await gateway.connect("anna", .customer) { connection, messages in
                    try await connection.send(.subscribe(job: foreign, since: nil))
                    var first = try await messages.refusal()
                    try await connection.send(.subscribe(job: JobID("absent")!, since: nil))
                    var second = try await messages.refusal()
                    #expect((first.job, second.job) == (foreign, JobID("absent")!))
                    first.job = nil
                    second.job = nil
                    #expect(first == second)
                    #expect(first.code == .notFound)
                }
            }
        }
    }

    @Test func `a connection can follow ten jobs, and not eleven`() async throws {
        try await within {
            try await RunningGateway.run { gateway in
                var jobs: [JobID] = []
                for index in 0...10 { jobs.append(try await gateway.travellingJob("job-\(index)")) }
                try await gateway.connect("anna", .customer) { [jobs] connection, messages in
                    for job in jobs.dropLast() {
                        try await connection.send(.subscribe(job: job, since: nil))
                        _ = try await messages.subscribed()
                    }
                    try await connection.send(.subscribe(job: jobs[10], since: nil))
                    #expect(try await messages.refusal().code == .limitExceeded)
                    try await connection.send(.unsubscribe(job: jobs[0]))
                    try await connection.send(.subscribe(job: jobs[10], since: nil))
                    #expect(try await messages.subscribed().status == .onTheWay)
                }
            }
        }
    }

    @Test func `statuses arrive in order, each with the previous id, and the subscription ends with the last one`()
        async throws
    {
        try await within {
            try await RunningGateway.run { gateway in
                let job = try await gateway.travellingJob()
                try await gateway.connect("anna", .customer) { connection, messages in
                    try await connection.send(.subscribe(job: job, since: nil))
                    let snapshot = try await messages.subscribed()
                    for status in [JobStatus.workInProgress, .completed] {
                        _ = try await gateway.ledger.publish(status, of: job, by: Self.service, source: "event").get()
                    }
                    let first = try await messages.status()
                    let second = try await messages.status()
                    #expect([first.status, second.status] == [.workInProgress, .completed])
                    #expect(first.previous == snapshot.id)
                    #expect(second.previous == first.id)
                    #expect([first.epoch, second.epoch] == [snapshot.epoch, snapshot.epoch])
                    let reason = try await messages.first { if case .ended(_, let reason) = $0 { reason } else { nil } }
                    #expect(reason == .completed)
                }
            }
        }
    }

    @Test func `a reconnecting follower receives the events it missed, or a reset if they are lost`() async throws {
        try await within {
            try await RunningGateway.run { gateway in
                let job = try await gateway.travellingJob()
                let before = try #require(try await gateway.ledger.recover(job).get()).record
                let event = try await gateway.ledger.publish(
                    .workInProgress, of: job, by: Self.service, source: "event"
                ).get()
                guard case .published(let missed) = event else { throw Missing() }
                try await gateway.connect("anna", .customer) { connection, messages in
                    try await connection.send(
                        .subscribe(job: job, since: ResumePoint(epoch: before.epoch, id: before.head)))
                    #expect(try await messages.subscribed().missed == [missed])
                }
                try await gateway.connect("anna", .customer) { connection, messages in
                    try await connection.send(.subscribe(job: job, since: ResumePoint(epoch: "other", id: before.head)))
                    let snapshot = try await messages.first {
                        if case .reset(_, let snapshot) = $0 { snapshot } else { nil }
                    }
                    #expect(snapshot.id == missed.id)
                }
            }
        }
    }

    @Test func `when travel mode stops, the position is erased, followers get the reason, and reports are refused`()
        async throws
    {
        try await within {
            try await RunningGateway.run { gateway in
                let job = try await gateway.travellingJob()
                try await gateway.connect("anna", .customer) { customer, seen in
                    try await customer.send(.subscribe(job: job, since: nil))
                    _ = try await seen.subscribed()
                    try await gateway.connect("rider-1", .rider) { rider, answers in
                        try await rider.send(.travel(job: job, active: true))
                        _ = try await answers.travelAnswer()
                        try await rider.report(job, step: 1)
                        _ = try await seen.location()
                        try await rider.send(.travel(job: job, active: false))
                        _ = try await answers.travelAnswer()
                        try await rider.report(job, step: 2)
                        #expect(try await answers.refusal().code == .travelModeOff)
                    }
                    let ended = try await seen.first { message -> EndReason? in
                        switch message {
                        case .location: throw Missing()
                        case .tracking(_, .paused, let reason): reason
                        default: nil
                        }
                    }
                    #expect(ended == .deactivated)
                }
                let feed = try await gateway.feed.read(job).get()
                #expect(!feed.isOpen && feed.position == nil)
            }
        }
    }

    @Test func `S2: another rider can neither switch travel mode nor report for a job`() async throws {
        try await within {
            try await RunningGateway.run { gateway in
                let job = try await gateway.travellingJob()
                try await gateway.connect("rider-2", .rider) { rider, answers in
                    try await rider.send(.travel(job: job, active: true))
                    await #expect(throws: ErrorCode.notFound) { try await answers.travelAnswer() }
                    try await rider.report(job, step: 1)
                    #expect(try await answers.refusal().code == .travelModeOff)
                }
                #expect(try await gateway.feed.read(job).get().position == nil)
            }
        }
    }

    @Test func `when Redis disconnects the subscriptions, no client is disconnected and positions resume`() async throws
    {
        try await within {
            try await RunningGateway.run { gateway in
                let job = try await gateway.travellingJob()
                try await gateway.connect("anna", .customer) { customer, seen in
                    try await customer.send(.subscribe(job: job, since: nil))
                    _ = try await seen.subscribed()
                    try await gateway.connect("rider-1", .rider) { rider, answers in
                        try await rider.send(.travel(job: job, active: true))
                        _ = try await answers.travelAnswer()
                        try await rider.report(job, step: 1)
                        let before = try await seen.location()
                        _ = try await gateway.client.send(["CLIENT", "KILL", "TYPE", "pubsub"]).get()
                        let snapshot = try await seen.first { if case .reset(_, let state) = $0 { state } else { nil } }
                        #expect(snapshot.location == before)
                        try await rider.report(job, step: 2)
                        // If the other subscription has not been restored yet, the position arrives with its reset.
                        let newest = try await seen.first { message -> Location? in
                            switch message {
                            case .location(let location): location
                            case .reset(_, let state) where state.location != before: state.location
                            default: nil
                            }
                        }
                        #expect(newest.id > before.id)
                    }
                }
            }
        }
    }

    @Test func `followers are asked to reconnect elsewhere when the gateway stops`() async throws {
        try await within {
            try await RunningGateway.run { gateway in
                let job = try await gateway.travellingJob()
                try await gateway.connect("anna", .customer) { connection, messages in
                    try await connection.send(.subscribe(job: job, since: nil))
                    _ = try await messages.subscribed()
                    gateway.stop()
                    let retryIn = try await messages.first {
                        if case .goaway(let retryIn) = $0 { retryIn } else { nil }
                    }
                    #expect((0...1000).contains(retryIn))
                    await #expect(throws: ClientError.closed(code: 4000, reason: "going away")) {
                        while try await messages.next() != nil {}
                    }
                }
            }
        }
    }
}

extension GatewayConnection.Messages.AsyncIterator {
    mutating func status() async throws -> StatusEvent {
        try await self.first { if case .status(_, let event) = $0 { event } else { nil } }
    }
}
