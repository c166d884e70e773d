import EnrouteWire
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import HTTPValues
@testable import Realtime

/// Which of a rider's devices can report over REST why there is no location, and at which gateway.
@Suite struct UnavailableDeviceTests {
    private static let job = OneDeviceTests.job
    private static let path = "/api/v1/jobs/\(job)/unavailable"

    private static func explain(
        _ gateway: RunningGateway, _ reason: UnavailableReason, device: String?
    ) async throws -> RESTResponse {
        let name = device.map { #","device":"\#($0)""# } ?? ""
        return try await gateway.rest(
            "PUT", Self.path, by: "rider-1", .rider, #"{"reason":"\#(reason.rawValue)"\#(name)}"#)
    }

    private static func summary(_ gateway: RunningGateway) async throws -> ValidationSummary {
        try await ValidationSummaryStore(live: gateway.client, settings: gateway.settings.liveState).read(Self.job)
            .get()
    }

    private static func shown(_ gateway: RunningGateway) async throws -> UnavailableReason? {
        try await Self.summary(gateway).unavailable
    }

    /// Switches travel mode on, and waits until the reasons of earlier trips are cleared.
    private static func start(_ gateway: RunningGateway, _ device: String) async throws {
        let before = try await Self.summary(gateway).sharingAt
        try await OneDeviceTests.start(gateway, device)
        try await becomes("the start is recorded") { try await Self.summary(gateway).sharingAt != before }
    }

    @Test(arguments: ["phone", nil])
    func `a phone that sent its name with travel reports a reason before its first fix, at any gateway`(
        name: String?
    ) async throws {
        try await OneDeviceTests.run { one, other in
            try await Self.start(one, "phone")
            for (gateway, reason) in [(one, UnavailableReason.permissionDenied), (other, .servicesDisabled)] {
                let answer = try await Self.explain(gateway, reason, device: name)
                #expect(answer.status == 204, "\(answer)")
                #expect(try await Self.shown(gateway) == reason)
            }
        }
    }

    @Test func `a phone reports a reason between its fixes, at a gateway that received none of them`() async throws {
        try await OneDeviceTests.run { one, other in
            try await Self.start(one, "phone")
            let reported = try await OneDeviceTests.post(one, 1, device: "phone")
            let answer = try await Self.explain(other, .hidden, device: "phone")
            let next = try await OneDeviceTests.post(other, 2, device: "phone")
            #expect([reported.status, answer.status, next.status] == [200, 204, 200], "\(answer)")
        }
    }

    @Test func `the reason of another phone is refused, and followers do not see it`() async throws {
        try await OneDeviceTests.run { one, other in
            try await Self.start(one, "phone")
            for gateway in [one, other] {
                let answer = try await Self.explain(gateway, .hidden, device: "tablet")
                #expect(answer.status == 409 && answer.member("code") == "other_device", "\(answer)")
            }
            #expect(try await Self.shown(one) == nil)
            try await Self.start(other, "tablet")
            let overtaken = try await Self.explain(one, .hidden, device: "phone")
            let accepted = try await Self.explain(one, .noFix, device: "tablet")
            #expect([overtaken.status, accepted.status] == [409, 204], "\(overtaken) \(accepted)")
            #expect(try await Self.shown(one) == .noFix)
        }
    }

    @Test func `a device must send the same name as with travel, and travel mode must be on`() async throws {
        try await OneDeviceTests.run { one, _ in
            let early = try await Self.explain(one, .hidden, device: "phone")
            #expect(early.status == 403 && early.member("code") == "travel_mode_off", "\(early)")
            try await Self.start(one, "phone")
            let malformed = try await Self.explain(one, .hidden, device: "no name")
            #expect(malformed.status == 422, "\(malformed)")
        }
    }

    @Test func `a reason is shown again after another gateway has published a position`() async throws {
        try await OneDeviceTests.run { one, other in
            try await Self.start(one, "phone")
            let first = try await Self.explain(other, .permissionDenied, device: "phone")
            let reported = try await OneDeviceTests.post(one, 1, device: "phone")
            #expect([first.status, reported.status] == [204, 200], "\(first) \(reported)")
            try await becomes("the position ends the reason") { try await Self.shown(one) == nil }
            let again = try await Self.explain(other, .permissionDenied, device: "phone")
            #expect(again.status == 204, "\(again)")
            #expect(try await Self.shown(one) == .permissionDenied)
        }
    }

    @Test func `switching travel mode off and on clears a reason that another gateway received`() async throws {
        try await OneDeviceTests.run { one, other in
            try await Self.start(one, "phone")
            let answer = try await Self.explain(other, .permissionDenied, device: "phone")
            let off = try await one.rest("DELETE", "/api/v1/jobs/\(Self.job)/travel", by: "rider-1", .rider)
            #expect([answer.status, off.status] == [204, 200], "\(answer) \(off)")
            try await Self.start(one, "phone")
            #expect(try await Self.shown(one) == nil)
        }
    }

    @Test func `if all fixes of a phone with a name are refused, followers see why`() async throws {
        try await OneDeviceTests.run { one, _ in
            try await Self.start(one, "phone")
            try await becomes("the refused fixes are the unavailable reason") {
                let fix = #"{"at":\#(WallClock.nowMilliseconds),"lat":41.9,"lon":12.5,"acc":10000}"#
                let answer = try await one.rest(
                    "POST", "/api/v1/jobs/\(Self.job)/locations", by: "rider-1", .rider,
                    #"{"device":"phone","fixes":[\#(fix)]}"#)
                #expect(answer.status == 422, "\(answer)")
                return try await Self.shown(one) == .noFix
            }
        }
    }
}
