import Access
import EnrouteClient
import EnrouteWire
import LiveState
import TestSupport
import Testing
import Tracking

@testable import Gateway
@testable import HTTPValues
@testable import Realtime

/// What follows from a rider's positions and from their absence: the report interval, the proximity, the unavailable reason,
/// and who receives them.
@Suite struct RiderGuidanceTests {
    /// Meters per degree of latitude.
    private static let metersOfDegree = 111_195.0

    private static func run(
        _ change: @escaping @Sendable (inout GatewaySettings) -> Void = { _ in },
        _ body: @escaping @Sendable (RunningGateway, JobID) async throws -> Void
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { settings in
                settings.limits.allowManyMessages()
                (settings.limits.positionsPerSecond, settings.limits.positionsBurst) = (1_000_000, 1_000_000)
                settings.validation.allowJumps()
                change(&settings)
            } _: { gateway in
                try await body(gateway, try await gateway.travellingJob(zone: RunningGateway.rome))
            }
        }
    }

    /// A position this many meters south of the destination, captured this many ms ago.
    private static func report(
        _ job: JobID, south meters: Double, ago: Int64, speed: Double = 1, battery: Double? = nil
    ) -> ClientMessage {
        .location(
            LocationReport(
                job: job, sequence: 1,
                fixes: [
                    Fix(
                        at: WallClock.nowMilliseconds - ago,
                        place: Coordinate(latitude: 41.9 - meters / Self.metersOfDegree, longitude: 12.5)!,
                        accuracyMeters: 5, speedMetersPerSecond: speed)
                ], battery: battery))
    }

    @Test func `D7: the speed of a phone that reports none is derived from its positions`() {
        var trip = TripState(bounds: .init())
        func speed(south meters: Double, at: Int64) -> Double {
            let place = Coordinate(latitude: 41.9 - meters / Self.metersOfDegree, longitude: 12.5)!
            _ = trip.published(Fix(at: at, place: place), listeners: 1, now: UInt64(at) * 1_000_000)
            return trip.speed ?? trip.usualSpeed
        }
        // Until a speed is known, that of the usual vehicle is assumed.
        let usual = TravelAssumptions.of(nil).speed
        #expect(speed(south: 4000, at: 1_000) == usual)
        #expect(abs(speed(south: 3955, at: 6_000) - 9) < 0.1)
        // After a pause nothing is known.
        #expect(speed(south: 100, at: 600_000) == usual)
    }

    @Test func `US-072: a rider reports rarely without followers, and often near the destination`() async throws {
        try await Self.run { gateway, job in
            try await gateway.connect("rider-1", .rider) { rider, answers in
                try await rider.send(.travel(job: job, active: true))
                _ = try await answers.travelAnswer()
                func rate() async throws -> Double {
                    try await answers.first { if case .rate(let seconds) = $0 { seconds } else { nil } }
                }
                try await rider.send(Self.report(job, south: 400, ago: 50_000))
                let alone = try await rate()
                #expect(alone == 20)
                try await gateway.connect("anna", .customer) { customer, seen in
                    try await customer.send(.subscribe(job: job, since: nil))
                    _ = try await seen.subscribed()
                    try await rider.send(Self.report(job, south: 100, ago: 40_000, speed: 10))
                    let followed = try await rate()
                    #expect(followed == 1)
                }
            }
        }
    }

    @Test func `US-072: a low battery reduces the report rate and is the reason for a later silence`() async throws {
        try await Self.run { gateway, job in
            try await gateway.connect("anna", .customer) { customer, seen in
                try await customer.send(.subscribe(job: job, since: nil))
                _ = try await seen.subscribed()
                try await gateway.connect("rider-1", .rider) { rider, answers in
                    try await rider.send(.travel(job: job, active: true))
                    _ = try await answers.travelAnswer()
                    // With a full battery, the interval would be one second, as above.
                    try await rider.send(Self.report(job, south: 100, ago: 40_000, speed: 10, battery: 0.04))
                    let rate = try await answers.first { if case .rate(let seconds) = $0 { seconds } else { nil } }
                    #expect(rate == 3)
                }
                let unavailable = try await seen.first { message -> TrackingTextKey? in
                    if case .unavailable(_, let text, let reason) = message, reason == nil { text } else { nil }
                }
                #expect(unavailable == .unavailableLowBattery)
            }
            let text = try await gateway.rest("GET", "/api/v1/jobs/\(job)/verdicts", by: "rider-1", .rider).text
            #expect(text.contains(#""unavailable":"low_battery""#), "\(text)")
        }
    }

    @Test func `US-072: arriving is suggested to the rider and to operations staff`()
        async throws
    {
        try await Self.run { gateway, job in
            try await gateway.connect("olga", .ops) { operations, seen in
                try await operations.send(.subscribe(job: job, since: nil))
                _ = try await seen.subscribed()
                try await gateway.connect("rider-1", .rider) { rider, answers in
                    try await rider.send(.travel(job: job, active: true))
                    _ = try await answers.travelAnswer()
                    for (meters, ago) in [(600.0, 55_000), (450, 50_000), (20, 40_000), (20, 30_000), (20, 15_000)] {
                        try await rider.send(Self.report(job, south: meters, ago: Int64(ago)))
                    }
                    var notified: [ProximityState] = []
                    for _ in 0..<2 {
                        notified.append(
                            try await answers.first { if case .proximity(_, let state) = $0 { state } else { nil } })
                    }
                    #expect(notified == [.approaching, .arrived])
                }
                var notified: [ProximityState] = []
                for _ in 0..<2 {
                    notified.append(
                        try await seen.first { if case .proximity(_, let state) = $0 { state } else { nil } })
                }
                #expect(notified == [.approaching, .arrived])
            }
            let text = try await gateway.rest("GET", "/api/v1/jobs/\(job)/verdicts", by: "olga", .ops).text
            #expect(text.contains(#""proximity":"arrived""#), "\(text)")
            // It is only a suggestion: travel mode is still on.
            #expect(try await gateway.feed.read(job).get().isOpen)
            try await Self.appends(
                [#"{"state":"approaching"}"#, #"{"state":"arrived"}"#], as: .proximityChanged, about: job, gateway)
        }
    }

    @Test func `US-072: if configured, travel mode stops on arrival, which is not paused`() async throws {
        try await Self.run {
            $0.arrivalStopsTravel = true
        } _: { gateway, job in
            try await gateway.connect("anna", .customer) { customer, seen in
                try await customer.send(.subscribe(job: job, since: nil))
                _ = try await seen.subscribed()
                try await gateway.connect("rider-1", .rider) { rider, answers in
                    try await rider.send(.travel(job: job, active: true))
                    _ = try await answers.travelAnswer()
                    for (meters, ago) in [(450.0, 50_000), (20, 40_000), (20, 15_000)] {
                        try await rider.send(Self.report(job, south: meters, ago: Int64(ago)))
                    }
                    // A customer is notified of the end, and not of the proximity that led to it.
                    let reason = try await seen.first { message -> EndReason? in
                        if case .proximity = message { throw Missing() }
                        if case .tracking(_, .arrived, let reason) = message { return reason }
                        return nil
                    }
                    #expect(reason == .arrived)
                    let text = try await gateway.rest("GET", "/api/v1/jobs/\(job)", by: "anna", .customer).text
                    #expect(text.contains(#""tracking":"arrived","reason":"arrived""#), "\(text)")
                }
            }
        }
    }

    @Test func `US-072: followers get an unavailable text, operations staff its reason, until a position arrives`()
        async throws
    {
        try await Self.run { gateway, job in
            try await gateway.connect("anna", .customer) { customer, seen in
                try await customer.send(.subscribe(job: job, since: nil))
                _ = try await seen.subscribed()
                try await gateway.connect("olga", .ops) { operations, known in
                    try await operations.send(.subscribe(job: job, since: nil))
                    _ = try await known.subscribed()
                    func unavailable(
                        _ messages: inout GatewayConnection.Messages.AsyncIterator
                    ) async throws -> (TrackingTextKey, UnavailableReason?) {
                        try await messages.first {
                            if case .unavailable(_, let text, let reason) = $0 { (text, reason) } else { nil }
                        }
                    }
                    try await gateway.connect("rider-1", .rider) { rider, answers in
                        try await rider.send(.travel(job: job, active: true))
                        _ = try await answers.travelAnswer()
                        try await rider.send(.unavailable(job: job, .permissionDenied))
                        let (notified, reported) = (try await unavailable(&seen), try await unavailable(&known))
                        #expect(notified == (.unavailablePermissionDenied, nil))
                        #expect(reported == (.unavailablePermissionDenied, .permissionDenied))
                        // A later request returns the same.
                        let text = try await gateway.rest("GET", "/api/v1/jobs/\(job)", by: "anna", .customer).text
                        #expect(text.contains(#""unavailable":"unavailable_permission_denied""#), "\(text)")
                        try await rider.report(job, step: 1)
                        _ = try await seen.location()
                    }
                    // The session of a travelling rider disconnects.
                    let (lost, inferred) = (try await unavailable(&seen), try await unavailable(&known))
                    #expect(lost == (.unavailableNetwork, nil))
                    #expect(inferred == (.unavailableNetwork, .network))
                }
            }
            let text = try await gateway.rest("GET", "/api/v1/jobs/\(job)/verdicts", by: "olga", .ops).text
            #expect(text.contains(#""unavailable":"network""#), "\(text)")
            try await Self.appends(
                [
                    #"{"available":false,"reason":"permission_denied"}"#, #"{"available":true}"#,
                    #"{"available":false,"reason":"network"}"#,
                ], as: .trackingChanged, about: job, gateway)
        }
    }

    /// The stream for other systems has exactly these events of a kind, with the job's zone.
    private static func appends(
        _ data: [String], as kind: LedgerEvent.Kind, about job: JobID, _ gateway: RunningGateway
    ) async throws {
        try await becomes("\(kind) is in the stream: \(data)") {
            let events = try await gateway.events(about: job).filter { $0.kind == kind }
            return events.map(\.data) == data && events.allSatisfy { $0.zone == RunningGateway.rome }
                && Set(events.map(\.id)).count == data.count
        }
    }

    @Test func `a reason for a job that is not this rider's, or that is not shared, is refused`() async throws {
        try await Self.run { gateway, job in
            for name in ["foreign", "off"] {
                let rider = name == "foreign" ? "rider-2" : "rider-1"
                try await gateway.putJob(name, #"{"kind":"service","customer":"anna","rider":"\#(rider)"}"#)
            }
            try await gateway.connect("rider-1", .rider) { rider, answers in
                for (name, code) in [("foreign", ErrorCode.notFound), ("none", .notFound), ("off", .travelModeOff)] {
                    try await rider.send(.unavailable(job: JobID(name)!, .hidden))
                    let refusal = try await answers.refusal()
                    #expect(refusal.replyTo == "unavailable" && refusal.code == code && refusal.job?.text == name)
                }
            }
            let noted = try await gateway.client.run("HGET", "job:{foreign}:verdicts", "unavailable")
            #expect(noted == .null)
        }
    }

    @Test func `a reason is accepted right after travel mode is requested, and after the journey has ended`()
        async throws
    {
        try await Self.run { gateway, _ in
            let job = JobID("later")!
            try await gateway.putJob(job.text, #"{"kind":"service","customer":"anna","rider":"rider-1"}"#)
            try await gateway.changeJob(job.text, to: "on_the_way")
            try await gateway.connect("rider-1", .rider) { rider, answers in
                // The gateway does not know the answer to the first message when the second one arrives.
                try await rider.send(.travel(job: job, active: true))
                try await rider.send(.unavailable(job: job, .hidden))
                _ = try await answers.first { if case .ok("unavailable", _, _, _, _) = $0 { true } else { nil } }
                _ = try await answers.travelAnswer()
                let ended = try await gateway.rest("DELETE", "/api/v1/jobs/\(job)/travel", by: "rider-1", .rider)
                #expect(ended.status == 200, "\(ended)")
                try await rider.send(.unavailable(job: job, .noFix))
                let isAccepted = try await answers.first { message -> Bool? in
                    switch message {
                    case .ok("unavailable", _, _, _, _): true
                    case .error: false
                    default: nil
                    }
                }
                #expect(isAccepted)
            }
        }
    }

    @Test func `only riders can report why their location is unavailable`() async throws {
        try await Self.run { gateway, job in
            try await gateway.connect("anna", .customer) { customer, answers in
                try await customer.send(.unavailable(job: job, .hidden))
                let refusal = try await answers.refusal()
                #expect(refusal.replyTo == "unavailable" && refusal.code == .forbidden)
            }
        }
    }
}
