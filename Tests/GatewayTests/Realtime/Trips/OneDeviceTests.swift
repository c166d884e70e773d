import EnrouteClient
import EnrouteWire
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import HTTPValues
@testable import Realtime

/// Two phones of one rider: only one reports at a time, so that the marker does not jump between their places.
@Suite(.serialized) struct OneDeviceTests {
    static let job = JobID("job-1")!
    static let (phone, tablet) = (DeviceID("phone")!, DeviceID("tablet")!)

    static func settings(_ settings: inout GatewaySettings) {
        settings.validation.allowJumps()
        settings.limits.allowManyMessages()
        (settings.limits.positionsPerSecond, settings.limits.positionsBurst) = (1_000, 1_000)
        (settings.limits.requestsPerPersonPerSecond, settings.limits.requestsPerPersonBurst) = (1_000, 1_000)
    }

    /// Two gateways at one Redis, with a job that can be shared.
    static func run(
        _ body: @escaping @Sendable (_ one: RunningGateway, _ other: RunningGateway) async throws -> Void
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, Self.settings) { one in
                let address = (live: one.settings.live, ledger: one.settings.ledger)
                try await RunningGateway.run(isSecure: false, at: address, Self.settings) { other in
                    _ = try await one.travellingJob(Self.job.text)
                    try await body(one, other)
                }
            }
        }
    }

    /// One gateway that holds implausible fixes, with a job that can be shared.
    static func runHolding(_ body: @escaping @Sendable (RunningGateway) async throws -> Void) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.limits.allowManyMessages() }) { gateway in
                _ = try await gateway.travellingJob(Self.job.text)
                try await body(gateway)
            }
        }
    }

    /// A connection of a rider's device that switches travel mode on.
    static func device(
        _ gateway: RunningGateway, _ device: DeviceID?,
        _ body: (GatewayConnection, inout GatewayConnection.Messages.AsyncIterator) async throws -> Void
    ) async throws {
        try await gateway.connect("rider-1", .rider) { connection, answers in
            try await connection.send(.travel(job: Self.job, active: true, device: device))
            _ = try await answers.travelAnswer()
            try await body(connection, &answers)
        }
    }

    static func resume(
        _ connection: GatewayConnection, _ device: DeviceID?,
        _ answers: inout GatewayConnection.Messages.AsyncIterator
    ) async throws -> ErrorCode? {
        try await connection.send(.travel(job: Self.job, active: true, device: device, resumes: true))
        do {
            _ = try await answers.travelAnswer()
            return nil
        } catch let code as ErrorCode {
            return code
        }
    }

    /// Reports a place this many steps of 1.1 m north, and returns the error code of the answer.
    static func report(
        _ connection: GatewayConnection, _ step: Int, _ answers: inout GatewayConnection.Messages.AsyncIterator
    ) async throws -> ErrorCode? {
        try await connection.report(Self.job, step: step)
        return try await answers.first { message -> ErrorCode?? in
            switch message {
            case .ok("location", _, _, _, _): .some(nil)
            case .error(let refusal) where refusal.replyTo == "location": refusal.code
            default: nil
            }
        }
    }

    static func post(
        _ gateway: RunningGateway, _ step: Int, device: String?, secondsAgo: Int64 = 0
    ) async throws -> RESTResponse {
        let place = #""lat":\#(41.9 + Double(step) / 100_000),"lon":12.5,"acc":5"#
        let name = device.map { #""device":"\#($0)","# } ?? ""
        return try await gateway.rest(
            "POST", "/api/v1/jobs/\(Self.job)/locations", by: "rider-1", .rider,
            #"{\#(name)"fixes":[{"at":\#(WallClock.nowMilliseconds - secondsAgo * 1000),\#(place)}]}"#)
    }

    /// Switches travel mode on over REST.
    static func start(_ gateway: RunningGateway, _ device: String) async throws {
        let started = try await gateway.rest(
            "PUT", "/api/v1/jobs/\(Self.job)/travel", by: "rider-1", .rider, #"{"device":"\#(device)"}"#)
        #expect(started.status == 200, "\(started)")
    }

    /// How far north of the start followers see the rider, in steps, until it reaches `last`.
    static func steps(
        until last: Int, _ seen: inout GatewayConnection.Messages.AsyncIterator
    ) async throws -> [Int] {
        var steps: [Int] = []
        while steps.last != last {
            let location = try await seen.location()
            steps.append(Int(((location.fix.place.latitude - 41.9) * 100_000).rounded()))
        }
        return steps
    }

    @Test(arguments: [nil, phone], [nil, tablet])
    func `of two phones that report in turn at two gateways, only the one that started last is shown`(
        first: DeviceID?, second: DeviceID?
    ) async throws {
        try await Self.run { one, other in
            try await one.connect("anna", .customer) { customer, seen in
                try await customer.send(.subscribe(job: Self.job, since: nil))
                _ = try await seen.subscribed()
                try await Self.device(one, first) { old, answersOfOld in
                    let answer1 = try await Self.report(old, 5_000, &answersOfOld)
                    #expect(answer1 == nil)
                    try await Self.device(other, second) { new, answersOfNew in
                        for step in 1...12 {
                            let answer2 = try await Self.report(new, step, &answersOfNew)
                            #expect(answer2 == nil)
                            let answer3 = try await Self.report(old, 5_000 + step, &answersOfOld)
                            #expect(answer3 == .otherDevice)
                        }
                    }
                }
                let steps = try await Self.steps(until: 12, &seen)
                // The marker jumps once, at the handover.
                let leaps = zip(steps, steps.dropFirst()).count { abs($0 - $1) > 50 }
                print("leaps shown: \(leaps) of \(steps.count - 1) steps")
                #expect(steps == [5_000] + Array(1...12))
            }
        }
    }

    @Test func `a device that does not report learns it from its first report, wherever it is`() async throws {
        try await Self.runHolding { gateway in
            try await Self.device(gateway, Self.phone) { phone, phoneAnswers in
                let first = try await Self.report(phone, 1, &phoneAnswers)
                #expect(first == nil)
                try await gateway.connect("rider-1", .rider) { tablet, answers in
                    // 5 km away: the validator holds it, so it never reaches Redis.
                    let far = try await Self.report(tablet, 5_000, &answers)
                    #expect(far == .otherDevice)
                }
                let posted = try await Self.post(gateway, 5_000, device: "tablet")
                #expect(posted.status == 409 && posted.text.contains("other_device"), "\(posted)")
            }
        }
    }

    @Test func `a device that took over again at another gateway reports again`() async throws {
        try await Self.runHolding { one in
            let address = (live: one.settings.live, ledger: one.settings.ledger)
            try await RunningGateway.run(isSecure: false, at: address, { $0.limits.allowManyMessages() }) { other in
                try await Self.start(one, "phone")
                let before = try await Self.post(other, 1, device: "phone")
                try await Self.start(one, "tablet")
                let overtaken = try await Self.post(other, 2, device: "phone")
                try await Self.start(one, "phone")
                // Held because it is 5 km away, but not refused as another device's.
                let back = try await Self.post(other, 5_000, device: "phone")
                #expect([before.status, overtaken.status, back.status] == [200, 409, 200], "\(back)")
                #expect(back.text.contains(#""held":["\#(Self.job)"]"#), "\(back)")
            }
        }
    }

    @Test func `a device that takes over far away is shown after seconds`() async throws {
        try await Self.runHolding { gateway in
            try await Self.device(gateway, Self.phone) { phone, phoneAnswers in
                let first = try await Self.report(phone, 1, &phoneAnswers)
                #expect(first == nil)
                try await Self.device(gateway, Self.tablet) { tablet, answers in
                    // The readings are 1 s apart by the tablet's clock.
                    let now = WallClock.nowMilliseconds
                    for second in 1...3 {
                        let fix = Fix(
                            at: now + Int64(second) * 1000, place: Coordinate(latitude: 41.95, longitude: 12.5)!)
                        try await tablet.send(
                            .location(LocationReport(job: Self.job, sequence: Int64(second), fixes: [fix])))
                        _ = try await answers.first { message -> Bool? in
                            if case .ok("location", _, _, _, _) = message { true } else { nil }
                        }
                    }
                    let shown = try await gateway.feed.read(Self.job).get()
                    let text = String(decoding: shown.position ?? [], as: UTF8.self)
                    #expect(text.contains(#""lat":41.95"#), "\(text)")
                }
            }
        }
    }

    @Test func `a device that takes over far away by REST is shown after seconds, at whichever gateway it reports`()
        async throws
    {
        try await Self.runHolding { one in
            let address = (live: one.settings.live, ledger: one.settings.ledger)
            try await RunningGateway.run(isSecure: false, at: address, { $0.limits.allowManyMessages() }) { other in
                try await Self.start(one, "phone")
                // Twenty readings of the phone, so that it is proven.
                let now = WallClock.nowMilliseconds
                func post(_ device: String, _ latitude: Double, seconds: ClosedRange<Int64>) async throws {
                    let fixes = seconds.map { #"{"at":\#(now + $0 * 1000),"lat":\#(latitude),"lon":12.5,"acc":5}"# }
                    let posted = try await other.rest(
                        "POST", "/api/v1/jobs/\(Self.job)/locations", by: "rider-1", .rider,
                        #"{"device":"\#(device)","fixes":[\#(fixes.joined(separator: ","))]}"#)
                    #expect(posted.status == 200, "\(posted)")
                }
                try await post("phone", 41.9, seconds: -25...(-5))
                try await Self.start(one, "tablet")
                try await post("tablet", 41.95, seconds: 0...3)
                let shown = try await one.feed.read(Self.job).get()
                let text = String(decoding: shown.position ?? [], as: UTF8.self)
                #expect(text.contains(#""lat":41.95"#), "\(text)")
            }
        }
    }

    @Test func `an overtaken device cannot resume, and takes over again by starting again`() async throws {
        try await Self.run { one, other in
            try await Self.device(one, Self.phone) { old, answersOfOld in
                try await Self.device(other, Self.tablet) { new, answersOfNew in
                    let answer4 = try await Self.resume(old, Self.phone, &answersOfOld)
                    #expect(answer4 == .otherDevice)
                    let answer5 = try await Self.resume(new, Self.tablet, &answersOfNew)
                    #expect(answer5 == nil)
                    let answer6 = try await Self.report(new, 1, &answersOfNew)
                    #expect(answer6 == nil)
                    try await old.send(.travel(job: Self.job, active: true, device: Self.phone))
                    _ = try await answersOfOld.travelAnswer()
                    let answer7 = try await Self.report(old, 2, &answersOfOld)
                    #expect(answer7 == nil)
                    let answer8 = try await Self.report(new, 3, &answersOfNew)
                    #expect(answer8 == .otherDevice)
                }
            }
        }
    }

    @Test func `a device with a name continues over a new connection, and over REST`() async throws {
        try await Self.run { one, other in
            try await Self.device(one, Self.phone) { phone, answers in
                let answer9 = try await Self.report(phone, 1, &answers)
                #expect(answer9 == nil)
            }
            try await other.connect("rider-1", .rider) { again, answers in
                let answer10 = try await Self.resume(again, Self.phone, &answers)
                #expect(answer10 == nil)
                let answer11 = try await Self.report(again, 2, &answers)
                #expect(answer11 == nil)
            }
            let answer12 = try await Self.post(one, 3, device: "phone").status
            #expect(answer12 == 200)
            let refused = try await Self.post(one, 4, device: "tablet")
            #expect(refused.status == 409 && refused.text.contains("other_device"))
            let answer13 = try await Self.post(other, 4, device: nil).status
            #expect(answer13 == 409)
        }
    }

    @Test func `without a name, a rider continues on a new connection once the old one is closed`() async throws {
        try await Self.run { one, other in
            try await Self.device(one, nil) { phone, answers in
                let answer14 = try await Self.report(phone, 1, &answers)
                #expect(answer14 == nil)
                // While it is open, another connection is another device.
                try await other.connect("rider-1", .rider) { stranger, answers in
                    let answer15 = try await Self.report(stranger, 2, &answers)
                    #expect(answer15 == .otherDevice)
                }
            }
            try await other.connect("rider-1", .rider) { again, answers in
                // The gateway may notice the close a moment later.
                var (step, code) = (3, ErrorCode?.some(.otherDevice))
                while code == .otherDevice {
                    code = try await Self.report(again, step, &answers)
                    step += 1
                }
                #expect(code == nil)
            }
        }
    }

    @Test func `over REST, travel mode names the device, and resuming after another one started is refused`()
        async throws
    {
        try await Self.run { one, other in
            func start(_ gateway: RunningGateway, _ body: String) async throws -> RESTResponse {
                try await gateway.rest("PUT", "/api/v1/jobs/\(Self.job)/travel", by: "rider-1", .rider, body)
            }
            let answer16 = try await start(one, #"{"device":"phone"}"#).status
            #expect(answer16 == 200)
            let answer17 = try await Self.post(other, 1, device: "phone").status
            #expect(answer17 == 200)
            let answer18 = try await start(other, #"{"device":"tablet"}"#).status
            #expect(answer18 == 200)
            let answer19 = try await start(one, #"{"device":"phone","resume":true}"#).status
            #expect(answer19 == 409)
            let answer20 = try await Self.post(one, 2, device: "phone").status
            #expect(answer20 == 409)
            let answer21 = try await Self.post(one, 3, device: "tablet").status
            #expect(answer21 == 200)
            let answer22 = try await start(one, #"{"device":"no name"}"#).status
            #expect(answer22 == 422)
        }
    }

    @Test func `sharing that any device of the rider switched off is not resumed, over REST and WebSocket`()
        async throws
    {
        try await Self.run { one, other in
            func travel(_ method: String, _ body: String) async throws -> RESTResponse {
                try await other.rest(method, "/api/v1/jobs/\(Self.job)/travel", by: "rider-1", .rider, body)
            }
            let early = try await travel("PUT", #"{"device":"phone","resume":true}"#)
            #expect(early.status == 403 && early.member("code") == "travel_mode_off", "\(early)")
            try await Self.device(one, Self.phone) { phone, answers in
                let resumed = try await Self.resume(phone, Self.phone, &answers)
                #expect(resumed == nil)
                let off = try await travel("DELETE", #"{"device":"tablet"}"#)
                #expect(off.status == 200, "\(off)")
                let refused = try await Self.resume(phone, Self.phone, &answers)
                #expect(refused == .travelModeOff)
                let report = try await Self.report(phone, 1, &answers)
                #expect(report == .travelModeOff)
            }
            let late = try await travel("PUT", #"{"device":"phone","resume":true}"#)
            #expect(late.status == 403 && late.member("code") == "travel_mode_off", "\(late)")
            #expect(try await travel("PUT", #"{"device":"phone"}"#).status == 200)
        }
    }

    @Test func `a device that reports resumes although the ledger has lost that it started`() async throws {
        try await Self.run { one, _ in
            try await Self.device(one, Self.phone) { phone, answers in
                let key = one.settings.liveState.keyspace.job(Self.job)
                try await one.client.run("HDEL", key, "travel_active", "travel_deadline", "reporter", "reporter_since")
                let resumed = try await Self.resume(phone, Self.phone, &answers)
                #expect(resumed == nil)
            }
        }
    }

    @Test func `a phone whose trip was taken over publishes no reason when it disconnects`() async throws {
        try await within {
            try await RunningGateway.run(
                isSecure: false,
                {
                    Self.settings(&$0)
                    $0.freshness = .milliseconds(300)
                }
            ) { gateway in
                _ = try await gateway.travellingJob(Self.job.text)
                try await gateway.connect("anna", .customer) { customer, seen in
                    try await customer.send(.subscribe(job: Self.job, since: nil))
                    _ = try await seen.subscribed()
                    try await Self.device(gateway, Self.tablet) { tablet, answers in
                        try await Self.device(gateway, Self.phone) { phone, phoneAnswers in
                            let answer23 = try await Self.report(phone, 1, &phoneAnswers)
                            #expect(answer23 == nil)
                            try await tablet.send(.travel(job: Self.job, active: true, device: Self.tablet))
                            // Otherwise the phone would be the device that reports.
                            _ = try await answers.travelAnswer()
                        }
                        for step in 2...200 {
                            let answer24 = try await Self.report(tablet, step, &answers)
                            #expect(answer24 == nil)
                        }
                    }
                    let isQuiet = try await seen.first { message -> Bool? in
                        if case .unavailable = message { return false }
                        guard case .location(let location) = message else { return nil }
                        return abs(location.fix.place.latitude - 41.902) < 1e-6 ? true : nil
                    }
                    #expect(isQuiet, "a reason of the phone that was taken over")
                }
            }
        }
    }
}
