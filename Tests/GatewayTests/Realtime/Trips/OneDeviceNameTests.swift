import EnrouteClient
import EnrouteWire
import LiveState
import TestSupport
import Testing

@testable import Gateway

/// Which phone reports when some of them have no name, or several.
extension OneDeviceTests {
    @Test(arguments: [nil, phone])
    func `a name in presence or availability does not make another device of one that reports`(
        device: DeviceID?
    ) async throws {
        try await Self.run { one, _ in
            try await Self.device(one, device) { connection, answers in
                try await connection.send(.presence(nil, device: Self.tablet))
                try await connection.send(.availability(.online, device: Self.tablet))
                for step in 1...3 {
                    let answer = try await Self.report(connection, step, &answers)
                    #expect(answer == nil)
                }
            }
        }
    }

    @Test func `an overtaken device is notified even if its positions are older than those of the other one`()
        async throws
    {
        try await Self.run { one, other in
            try await Self.start(one, "phone")
            let before = try await Self.post(one, 1, device: "phone", secondsAgo: 20)
            try await Self.start(other, "tablet")
            let shown = try await Self.post(other, 2, device: "tablet")
            var late: [Int] = []
            for secondsAgo in [12, 9, 6, 3] as [Int64] {
                late.append(try await Self.post(one, 3, device: "phone", secondsAgo: secondsAgo).status)
            }
            #expect([before.status, shown.status] == [200, 200] && late == [409, 409, 409, 409], "\(late)")
        }
    }

    @Test func `a connection without a name takes nothing from a phone that reports by REST without one`() async throws
    {
        try await Self.run { one, other in
            let started = try await one.rest("PUT", "/api/v1/jobs/\(Self.job)/travel", by: "rider-1", .rider, "{}")
            #expect(started.status == 200, "\(started)")
            let first = try await Self.post(one, 1, device: nil)
            try await other.connect("rider-1", .rider) { connection, answers in
                let answer = try await Self.report(connection, 5_000, &answers)
                #expect(answer == .otherDevice)
            }
            let second = try await Self.post(one, 2, device: nil)
            #expect([first.status, second.status] == [200, 200], "\(second)")
        }
    }

    @Test func `of a connection and REST requests without names, the one that started last is shown`() async throws {
        try await Self.run { one, other in
            try await Self.device(one, nil) { connection, answers in
                let before = try await Self.report(connection, 1, &answers)
                let started = try await other.rest(
                    "PUT", "/api/v1/jobs/\(Self.job)/travel", by: "rider-1", .rider, "{}")
                let first = try await Self.post(other, 5_001, device: nil)
                let after = try await Self.report(connection, 2, &answers)
                let second = try await Self.post(other, 5_002, device: nil)
                #expect(before == nil && after == .otherDevice)
                #expect([started.status, first.status, second.status] == [200, 200, 200], "\(second)")
            }
        }
    }

    @Test func `of phones without names, the one that reports continues when the other one resumes`() async throws {
        try await Self.run { one, other in
            try await Self.device(one, nil) { first, answersOfFirst in
                let before = try await Self.report(first, 1, &answersOfFirst)
                try await other.connect("rider-1", .rider) { second, answersOfSecond in
                    let resumed = try await Self.resume(second, nil, &answersOfSecond)
                    let reported = try await Self.report(second, 2, &answersOfSecond)
                    #expect(resumed == nil && reported == .otherDevice)
                    let after = try await Self.report(first, 3, &answersOfFirst)
                    let again = try await Self.resume(first, nil, &answersOfFirst)
                    let last = try await Self.report(first, 4, &answersOfFirst)
                    #expect([before, after, again, last] == [nil, nil, nil, nil])
                }
            }
        }
    }

    @Test func `the reason of a phone without a name is not shown while another one reports`() async throws {
        try await Self.run { one, other in
            try await one.connect("anna", .customer) { customer, seen in
                try await customer.send(.subscribe(job: Self.job, since: nil))
                _ = try await seen.subscribed()
                try await Self.device(one, nil) { overtaken, answersOfOvertaken in
                    let before = try await Self.report(overtaken, 1, &answersOfOvertaken)
                    try await Self.device(other, nil) { newest, answers in
                        try await overtaken.send(.unavailable(job: Self.job, .permissionDenied))
                        _ = try await answersOfOvertaken.first { message -> Void? in
                            if case .ok("unavailable", _, _, _, _) = message { () } else { nil }
                        }
                        let after = try await Self.report(newest, 2, &answers)
                        #expect(before == nil && after == nil)
                        let isQuiet = try await seen.first { message -> Bool? in
                            if case .unavailable = message { return false }
                            guard case .location(let location) = message else { return nil }
                            return abs(location.fix.place.latitude - 41.90002) < 1e-6 ? true : nil
                        }
                        #expect(isQuiet)
                    }
                }
            }
        }
    }

    @Test func `a device that switches travel mode off with resume stops only what it started`() async throws {
        try await Self.run { one, other in
            func switchOff(
                _ connection: GatewayConnection, _ device: DeviceID,
                _ answers: inout GatewayConnection.Messages.AsyncIterator
            ) async throws -> ErrorCode? {
                try await connection.send(.travel(job: Self.job, active: false, device: device, resumes: true))
                do {
                    _ = try await answers.travelAnswer()
                    return nil
                } catch let code as ErrorCode {
                    return code
                }
            }
            try await Self.device(one, Self.phone) { phone, answersOfPhone in
                try await Self.device(other, Self.tablet) { tablet, answersOfTablet in
                    let late = try await switchOff(phone, Self.phone, &answersOfPhone)
                    let reported = try await Self.report(tablet, 1, &answersOfTablet)
                    let own = try await switchOff(tablet, Self.tablet, &answersOfTablet)
                    #expect(late == .otherDevice && reported == nil && own == nil)
                    let isOn = try await one.ledger.recover(Self.job).get()?.record.isTravelling
                    let feed = try await one.feed.read(Self.job).get()
                    #expect(isOn == false && !feed.isOpen)
                }
            }
        }
    }

    @Test func `a take-over that failed before the feed was opened does not lock out the device that reports`()
        async throws
    {
        try await Self.run { one, other in
            try await Self.device(one, Self.phone) { phone, answers in
                let before = try await Self.report(phone, 1, &answers)
                // The ledger has decided, but the live instance did not reply.
                _ = try await other.ledger.startTravel(
                    for: Self.job, by: PersonID("rider-1")!, on: Reporter(Self.tablet)
                ).get()
                let resumed = try await Self.resume(phone, Self.phone, &answers)
                let after = try await Self.report(phone, 2, &answers)
                #expect([before, resumed, after] == [nil, nil, nil])
                let record = try await one.ledger.recover(Self.job).get()?.record
                #expect(record?.reporter == Reporter(Self.phone))
            }
        }
    }
}
