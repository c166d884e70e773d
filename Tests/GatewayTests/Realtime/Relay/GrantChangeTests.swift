import Access
import EnrouteClient
import EnrouteWire
import Foundation
import Testing

@testable import Gateway
@testable import Realtime

/// Authorization to see a job is checked again after every change of the job, not only when a client subscribes.
@Suite struct GrantChangeTests {
    private static func fastLimits(_ settings: inout GatewaySettings) {
        settings.limits.positionsPerSecond = 100_000
        settings.limits.positionsBurst = 100_000
        settings.limits.allowManyMessages()
        settings.validation.allowJumps()
    }

    /// The place of the second rider, far away from the first.
    private static let secondStart = 1_000_000

    private static func assign(
        _ gateway: RunningGateway, _ job: JobID, _ body: String, _ method: String = "PUT"
    ) async throws -> JobRoutesTests.Answer {
        try await JobRoutesTests.ask(
            gateway, method, "/api/v1/jobs/\(job)/assignment", as: gateway.token("orders", .service),
            method == "PUT" ? body : nil)
    }

    /// Reports positions without a pause until one is refused.
    private static func travelUntilRefused(
        _ gateway: RunningGateway, _ job: JobID, as rider: String, _ onStep: @Sendable (Int) -> Void
    ) async throws -> ErrorCode {
        try await gateway.connect(rider, .rider) { connection, messages in
            try await connection.send(.travel(job: job, active: true))
            _ = try await messages.travelAnswer()
            for step in 1... {
                try await connection.report(job, step: step)
                let refusal = try await messages.first { message -> ErrorCode?? in
                    switch message {
                    case .ok("location", _, _, _, _): .some(nil)
                    case .error(let refusal): .some(refusal.code)
                    default: nil
                    }
                }
                if let refusal { return refusal }
                onStep(step)
            }
            throw Missing()
        }
    }

    @Test func `after a job is reassigned, followers see no position of the first rider after one of the second`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false, Self.fastLimits) { gateway in
                for round in 0..<20 {
                    let job = try await gateway.travellingJob("job-\(round)")
                    let (seen, onSeen) = AsyncStream.makeStream(of: Void.self)
                    let (subscribed, onSubscribed) = AsyncStream.makeStream(of: Void.self)
                    async let shown = gateway.collectMessages(of: job, by: "anna") {
                        onSubscribed.finish()
                    } until: { message in
                        guard case .location(let location) = message else { return false }
                        onSeen.yield()
                        return location.fix.place.latitude > 51.9005
                    }
                    for await _ in subscribed {}
                    async let refusal = Self.travelUntilRefused(gateway, job, as: "rider-1") { _ in }
                    var locations = seen.makeAsyncIterator()
                    for _ in 0..<10 { await locations.next() }
                    let answer = try await Self.assign(gateway, job, #"{"rider":"rider-2","insteadOf":"rider-1"}"#)
                    #expect(answer.status == 200, "\(answer.text)")
                    #expect(try await refusal == .travelModeOff)
                    try await gateway.connect("rider-2", .rider) { connection, messages in
                        try await connection.send(.travel(job: job, active: true))
                        _ = try await messages.travelAnswer()
                        for step in 1...60 {
                            try await connection.report(job, step: Self.secondStart + step)
                            _ = try await messages.first {
                                if case .ok("location", _, _, _, _) = $0 { true } else { nil }
                            }
                        }
                    }
                    let messages = try await shown
                    let ended = try #require(messages.firstIndex(of: .tracking(job: job, .ended, .reassigned)))
                    let reset = try #require(messages.firstIndex { if case .reset = $0 { true } else { false } })
                    let after = messages[min(ended, reset)...].compactMap { message -> Double? in
                        if case .location(let location) = message { location.fix.place.latitude } else { nil }
                    }
                    #expect(!after.isEmpty && after.allSatisfy { $0 > 51 }, "\(after)")
                }
            }
        }
    }

    @Test
    func `after a reassignment, the previous rider is notified and can no longer see the job or switch travel mode on`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                try await gateway.connect("rider-1", .rider) { connection, messages in
                    try await connection.send(.subscribe(job: job, since: nil))
                    _ = try await messages.subscribed()
                    let answer = try await Self.assign(gateway, job, #"{"rider":"rider-2","insteadOf":"rider-1"}"#)
                    #expect(answer.text.hasPrefix(#"{"customer":"anna","fence":"#), "\(answer)")
                    #expect(answer.text.hasSuffix(#","job":"job-1","rider":"rider-2"}"#), "\(answer)")
                    let reason = try await messages.first {
                        if case .ended(job, let reason) = $0 { reason } else { nil }
                    }
                    #expect(reason == .reassigned)
                    try await connection.send(.travel(job: job, active: true))
                    #expect(try await messages.refusal().code == .notFound)
                    try await connection.send(.subscribe(job: job, since: nil))
                    #expect(try await messages.refusal().code == .notFound)
                }
            }
        }
    }

    @Test
    func `after a change of customer, the first one is notified and sees nothing more, and the second one may follow`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false, Self.fastLimits) { gateway in
                let job = try await gateway.travellingJob()
                try await gateway.connect("anna", .customer) { connection, messages in
                    try await connection.send(.subscribe(job: job, since: nil))
                    _ = try await messages.subscribed()
                    async let refusal = Self.travelUntilRefused(gateway, job, as: "rider-1") { _ in }
                    _ = try await messages.location()
                    let answer = try await Self.assign(gateway, job, #"{"customer":"bert"}"#)
                    #expect(answer.status == 200)
                    let reason = try await messages.first {
                        if case .ended(job, let reason) = $0 { reason } else { nil }
                    }
                    #expect(reason == .revoked)
                    // The rider keeps travelling all the time, and the new customer sees it.
                    try await gateway.connect("bert", .customer) { connection, others in
                        try await connection.send(.subscribe(job: job, since: nil))
                        _ = try await others.subscribed()
                        for _ in 0..<20 { _ = try await others.location() }
                    }
                    try await connection.send(.ping)
                    let next = try await messages.next()
                    guard case .pong? = next else {
                        Issue.record("\(next as Any)")
                        return
                    }
                    #expect(try await Self.assign(gateway, job, "", "DELETE").status == 200)
                    #expect(try await refusal == .travelModeOff)
                }
            }
        }
    }

    @Test func `refreshing with a narrower token ends the subscriptions it does not cover`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let kept = try await gateway.travellingJob("kept")
                let lost = try await gateway.travellingJob("lost")
                try await gateway.connect("anna", .customer) { connection, messages in
                    for job in [kept, lost] {
                        try await connection.send(.subscribe(job: job, since: nil))
                        _ = try await messages.subscribed()
                    }
                    let narrow = try await gateway.mint.token(
                        for: PersonID("anna")!, role: .customer, now: Int64(Date.now.timeIntervalSince1970), job: kept)
                    try await connection.send(.refresh(token: narrow))
                    let ended = try await messages.first {
                        if case .ended(let job, let why) = $0 { (job, why) } else { nil }
                    }
                    #expect(ended == (lost, .revoked))
                    try await connection.send(.ping)
                    _ = try await messages.first { message -> Bool? in
                        if case .ended = message { throw Missing() }
                        if case .pong = message { return true }
                        return nil
                    }
                }
            }
        }
    }

    @Test func `a refused assignment states the reason, and repeating an assignment does no harm`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                #expect(try await Self.assign(gateway, job, "{}").status == 422)
                #expect(try await Self.assign(gateway, job, #"{"rider":"a b"}"#).status == 422)
                #expect(try await Self.assign(gateway, JobID("absent")!, #"{"rider":"r"}"#).status == 404)
                for _ in 0..<2 {
                    #expect(
                        try await Self.assign(gateway, job, #"{"rider":"rider-2","insteadOf":"rider-1"}"#).status == 200
                    )
                }
                for role in Role.allCases where role != .service && role != .ops {
                    let answer = try await JobRoutesTests.ask(
                        gateway, "PUT", "/api/v1/jobs/\(job)/assignment", as: gateway.token("anna", role),
                        #"{"rider":"rider-3"}"#)
                    #expect(answer.status == 403)
                }
                _ = try await gateway.ledger.publish(.cancelled, of: job, by: PersonID("s")!, source: "rest").get()
                let late = try await Self.assign(gateway, job, #"{"rider":"rider-3"}"#)
                #expect(late.status == 409)
                #expect(late.text.contains(#""jobStatus":"cancelled""#))
            }
        }
    }

    @Test func `one report for two jobs reaches both, and neither customer learns of the other's job`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, Self.fastLimits) { gateway in
                let first = try await gateway.travellingJob("job-1", customer: "anna")
                let second = try await gateway.travellingJob("job-2", customer: "bert")
                let off = try await gateway.travellingJob("job-3", customer: "carl")
                let (subscribed, onSubscribed) = AsyncStream.makeStream(of: Void.self)
                @Sendable func followed(_ person: String, _ job: JobID) async throws -> [ServerMessage] {
                    try await gateway.collectMessages(of: job, by: person) {
                        onSubscribed.yield()
                    } until: {
                        if case .ended = $0 { true } else { false }
                    }
                }
                async let anna = followed("anna", first)
                async let bert = followed("bert", second)
                async let carl = followed("carl", off)
                var newcomers = subscribed.makeAsyncIterator()
                for _ in 0..<3 { await newcomers.next() }
                try await gateway.connect("rider-1", .rider) { connection, messages in
                    for job in [first, second] {
                        try await connection.send(.travel(job: job, active: true))
                        _ = try await messages.travelAnswer()
                    }
                    var (answered, refused) = ([JobID: Int](), 0)
                    for step in 1...50 {
                        try await connection.send(
                            .location(
                                LocationReport(
                                    job: first, otherJobs: [second, off], sequence: Int64(step),
                                    fixes: [
                                        Fix(
                                            at: Int64(Date.now.timeIntervalSince1970 * 1000) + Int64(step),
                                            place: Coordinate(latitude: 41 + Double(step) / 100_000, longitude: 12)!)
                                    ])))
                        for _ in 0..<3 {
                            _ = try await messages.first { message -> Bool? in
                                switch message {
                                case .ok("location", let job?, Int64(step), _, _): answered[job, default: 0] += 1
                                case .error(let refusal) where refusal.job == off: refused += 1
                                default: return nil
                                }
                                return true
                            }
                        }
                    }
                    #expect(answered == [first: 50, second: 50])
                    #expect(refused == 50)
                }
                for job in [first, second, off] {
                    _ = try await gateway.ledger.publish(.cancelled, of: job, by: PersonID("s")!, source: "rest").get()
                }
                for (received, own) in [(try await anna, first), (try await bert, second), (try await carl, off)] {
                    let others = Set(["job-1", "job-2", "job-3"]).subtracting([own.text])
                    for message in received {
                        let text = "\(message)"
                        #expect(others.allSatisfy { !text.contains($0) }, "\(text)")
                    }
                    let places = received.compactMap {
                        if case .location(let location) = $0 { location.fix.place } else { nil }
                    }
                    // The places are filtered, and these follow each other faster than any rider.
                    #expect(places.isEmpty == (own == off), "\(own)")
                    #expect(places.allSatisfy { (41.0...41.0005).contains($0.latitude) }, "\(own)")
                }
            }
        }
    }
}
