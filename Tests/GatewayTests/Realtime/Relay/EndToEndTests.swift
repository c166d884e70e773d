import EnrouteClient
import EnrouteWire
import Testing

@testable import Gateway
@testable import Realtime

/// The complete path of a location: a rider's phone, TLS, Redis, TLS, a customer's phone.
@Suite struct EndToEndTests {
    static let fixes = 300

    private static func fastLimits(_ settings: inout GatewaySettings) {
        settings.limits.positionsPerSecond = 100_000
        settings.limits.positionsBurst = 100_000
        settings.limits.allowManyMessages()
        settings.validation.allowJumps()
    }

    /// Follows the job until the last fix is received. Returns the snapshot and every location after it.
    private static func follow(
        _ gateway: RunningGateway, _ job: JobID, as customer: String, _ onSubscribed: @Sendable () -> Void
    ) async throws -> (Snapshot, [Location]) {
        try await gateway.connect(customer, .customer) { connection, messages in
            try await connection.send(.subscribe(job: job, since: nil))
            let snapshot = try await messages.subscribed()
            onSubscribed()
            let last = Coordinate(latitude: 41.9 + Double(Self.fixes) / 100_000, longitude: 12.5)!
            var locations: [Location] = []
            while locations.last.map({ abs($0.fix.place.latitude - last.latitude) > 1e-7 }) ?? true {
                locations.append(try await messages.location())
            }
            return (snapshot, locations)
        }
    }

    @Test func `two customers follow one trip to its end, the late one without a gap, and a stranger sees nothing`()
        async throws
    {
        try await within {
            try await RunningGateway.run(Self.fastLimits) { gateway in
                let job = try await gateway.travellingJob()
                let other = try await gateway.travellingJob("job-2", customer: "bert", rider: "rider-2")
                let (early, isEarly) = AsyncStream.makeStream(of: Void.self)
                let (late, isLate) = AsyncStream.makeStream(of: Void.self)
                let (half, isHalf) = AsyncStream.makeStream(of: Void.self)
                let (over, isOver) = AsyncStream.makeStream(of: Void.self)

                async let first = Self.follow(gateway, job, as: "anna") { isEarly.yield() }
                async let second = {
                    _ = await half.first { true }
                    return try await Self.follow(gateway, job, as: "anna") { isLate.yield() }
                }()
                // Receives nothing of the other person's job: the first message after its own snapshot is its own answer,
                // requested after the trip has ended.
                async let stranger = gateway.connect("bert", .customer) { connection, messages -> [ServerMessage] in
                    try await connection.send(.subscribe(job: other, since: nil))
                    _ = try await messages.subscribed()
                    var received: [ServerMessage] = []
                    _ = await over.first { true }
                    try await connection.send(.ping)
                    while let message = try await messages.next() {
                        if case .pong = message { break }
                        received.append(message)
                    }
                    return received
                }

                try await gateway.connect("rider-1", .rider) { connection, messages in
                    _ = await early.first { true }
                    try await connection.send(.travel(job: job, active: true))
                    let deadline = try await messages.travelAnswer()
                    #expect(deadline != nil)
                    for step in 1...Self.fixes {
                        try await connection.report(job, step: step)
                        let answer = try await messages.first { message -> Int64? in
                            switch message {
                            case .ok("location", _, let sequence, _, _): sequence
                            case .error(let refusal): throw refusal.code
                            default: nil
                            }
                        }
                        #expect(answer == Int64(step))
                        if step == Self.fixes / 2 { isHalf.yield() }
                        // The late follower joins while positions are published; the last ones are sent after it has received
                        // its snapshot.
                        if step == Self.fixes - 20 {
                            _ = await late.first { true }
                        }
                    }
                }
                let (firstSnapshot, firstLocations) = try await first
                let (secondSnapshot, secondLocations) = try await second
                isOver.yield()

                #expect(firstSnapshot.tracking == .waiting)
                #expect(firstLocations.count == Self.fixes)
                #expect(zip(firstLocations, firstLocations.dropFirst()).allSatisfy { $0.id < $1.id })
                #expect(firstLocations.last == secondLocations.last)

                let shown = try #require(secondSnapshot.location)
                #expect(secondSnapshot.tracking == .live)
                #expect(firstLocations.contains(shown))
                // Positions that reach a busy gateway together are conflated, so one or two may be left out.
                let expected = firstLocations.filter { $0.id > shown.id }
                #expect(secondLocations.allSatisfy(expected.contains))
                #expect(expected.count - secondLocations.count <= 2)
                #expect(try await stranger == [])
            }
        }
    }

    @Test func `the jobs of one rider are published in turn when reports exceed the rate`() async throws {
        try await within {
            try await RunningGateway.run { settings in
                settings.limits.positionsPerSecond = 20
                settings.limits.positionsBurst = 1
                settings.limits.allowManyMessages()
            } _: { gateway in
                var jobs: [JobID] = []
                for name in ["job-1", "job-2", "job-3"] { jobs.append(try await gateway.travellingJob(name)) }
                try await gateway.connect("rider-1", .rider) { connection, messages in
                    for job in jobs {
                        try await connection.send(.travel(job: job, active: true))
                        _ = try await messages.travelAnswer()
                    }
                    var (answered, step) = ([JobID: Int](), 0)
                    while jobs.contains(where: { answered[$0, default: 0] < 3 }) {
                        step += 1
                        for job in jobs { try await connection.report(job, step: step) }
                        let job = try await messages.first {
                            if case .ok("location", let job?, _, _, _) = $0 { job } else { nil }
                        }
                        answered[job, default: 0] += 1
                    }
                    let counts = jobs.map { answered[$0, default: 0] }
                    #expect((counts.max() ?? 0) - (counts.min() ?? 0) <= 2, "\(counts)")
                }
            }
        }
    }

    @Test func `positions that exceed the rate are conflated, and the last one arrives`() async throws {
        try await within {
            try await RunningGateway.run { settings in
                settings.limits.positionsPerSecond = 4
                settings.limits.positionsBurst = 2
                settings.limits.allowManyMessages()
                settings.validation.allowJumps()
            } _: { gateway in
                let job = try await gateway.travellingJob()
                let (ready, isReady) = AsyncStream.makeStream(of: Void.self)
                async let followed = Self.follow(gateway, job, as: "anna") { isReady.yield() }
                try await gateway.connect("rider-1", .rider) { connection, messages in
                    _ = await ready.first { true }
                    try await connection.send(.travel(job: job, active: true))
                    _ = try await messages.travelAnswer()
                    for step in 1...Self.fixes { try await connection.report(job, step: step) }
                    _ = try await messages.first { message -> Bool? in
                        if case .ok("location", _, Int64(Self.fixes), _, _) = message { true } else { nil }
                    }
                }
                let (_, locations) = try await followed
                #expect(locations.count < Self.fixes / 2)
                #expect(zip(locations, locations.dropFirst()).allSatisfy { $0.id < $1.id })
            }
        }
    }
}
