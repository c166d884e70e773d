// Tests of the location permission, the plan of the receiver, and the values that an app shows.

import Foundation
import Testing

@testable import Enroute
@testable import EnrouteLocation
@testable import EnrouteUI

/// The location permission (US-122), the receiver's plan, and why a phone has no position.
@Suite struct LocationTests {
    /// The table of the rider's page, as Tests/JavaScript/rider-permission-table.test.mjs compares it with the page.
    private static func page() throws -> [String: [String: [String]]] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "permission-table.json")
        return try JSONDecoder().decode([String: [String: [String]]].self, from: Data(contentsOf: file))
    }

    @Test func `US-122: the table equals that of the rider's page`() throws {
        var table: [String: [String: [String]]] = [:]
        for (phase, events) in PermissionFlow.table {
            for (event, step) in events {
                table[phase.rawValue, default: [:]][event.rawValue] =
                    [step.phase.rawValue] + step.actions.map(\.rawValue)
            }
        }
        #expect(table == (try Self.page()))
    }

    @Test func `US-122: on every path the system asks only after consent, and reading starts only with the permission`()
    {
        for phase in PermissionFlow.Phase.allCases {
            for event in PermissionFlow.Event.allCases {
                let step = PermissionFlow.step(phase, event)
                if step.actions.contains(.ask) { #expect(event == .consent) }
                if step.actions.contains(.begin) {
                    #expect([.wishGranted, .changedGranted, .fix, .failTimeout].contains(event) || phase == .sharing)
                }
                if step.phase == .sharing, phase != .sharing { #expect(step.actions.contains(.begin)) }
                if phase == .sharing, step.phase != .sharing { #expect(step.actions.contains(.unwatch)) }
            }
        }
    }

    @Test func `US-122 AC-003: after a refusal the rider is not asked again`() {
        let denied = LocationEvidence(permission: .denied)
        #expect(PermissionFlow.step(.off, denied.wish()).phase == .refused)
        #expect(
            PermissionFlow.step(.off, LocationEvidence(permission: .prompt).wish(wasRefused: true)).phase == .dismissed)
        #expect(PermissionFlow.step(.sharing, denied.change).actions == [.unwatch, .reportPermissionDenied])
        #expect(
            PermissionFlow.step(.revoked, LocationEvidence(permission: .granted).change).actions == [.forget, .begin])
    }

    @Test func `every unavailable reason follows from the evidence`() {
        let granted = LocationEvidence(permission: .granted, sinceLastFix: .seconds(2))
        #expect(granted.unavailableReason == nil)
        #expect(LocationEvidence(permission: .prompt).unavailableReason == nil)
        #expect(
            LocationEvidence(permission: .granted, areServicesEnabled: false).unavailableReason == .servicesDisabled)
        #expect(LocationEvidence(permission: .denied).unavailableReason == .permissionDenied)
        #expect(
            LocationEvidence(permission: .granted, isReduced: true, sinceLastFix: .zero).unavailableReason
                == .permissionDenied)
        #expect(LocationEvidence(permission: .granted).unavailableReason == .noFix)
        #expect(
            LocationEvidence(permission: .granted, sinceLastFix: .seconds(20), isLowPower: true).unavailableReason
                == .lowBattery)
    }

    @Test func `a slower pace needs fewer readings, and a rider who stands still is read within 20 s`() {
        var previous = LocationPlan(pace: .zero)
        for seconds in 1...60 {
            let plan = LocationPlan(pace: .seconds(seconds))
            #expect(plan.accuracy >= previous.accuracy && plan.distanceFilter >= previous.distanceFilter)
            #expect(plan.accuracy < 200 && plan.lookAgainAfter <= .seconds(20))
            previous = plan
        }
    }
}

extension LocationTests {
    @Test func `a receiver has no distance filter while it is silent, so a rider who stands still is reported`() {
        for seconds in 1...60 {
            let plan = LocationPlan(pace: .seconds(seconds))
            #expect(plan.distanceFilter(after: .zero) == plan.distanceFilter)
            #expect(plan.distanceFilter(after: plan.lookAgainAfter - .milliseconds(1)) == plan.distanceFilter)
            #expect(
                plan.distanceFilter(after: plan.lookAgainAfter) == nil
                    && plan.distanceFilter(after: .seconds(60)) == nil)
        }
    }
}

/// The values that an app shows.
@Suite struct PresentationTests {
    private func view(_ arrival: Arrival?) -> JobView {
        JobView(
            id: "visit-1",
            steps: [.init(status: .assigned, state: .complete), .init(status: .onTheWay, state: .active)],
            arrival: arrival)
    }

    @Test func `an arrival is shown as the pages show it`() {
        let now = Date(ms: 1_000_000)
        func phrase(in seconds: Double?, _ state: Arrival.State = .ok, stopsBefore: Int? = nil) -> ArrivalPhrase {
            let arrival = Arrival(
                state: state, arrivesAt: seconds.map { now.addingTimeInterval($0) }, calculatedAt: now,
                stopsBefore: stopsBefore)
            return ArrivalPhrase(self.view(arrival), now: now)
        }
        #expect(ArrivalPhrase(self.view(nil), now: now) == .none)
        #expect(phrase(in: -90) == .now && phrase(in: 59) == .now && phrase(in: 60) == .within(minutes: 1))
        #expect(phrase(in: 3_569) == .within(minutes: 59) && phrase(in: 3_570) == .at(now.addingTimeInterval(3_570)))
        #expect(phrase(in: nil, .recalculating) == .recalculating && phrase(in: nil, .unavailable) == .unavailable)
        #expect(phrase(in: nil, .unavailable, stopsBefore: 1) == .afterStop)
        #expect(phrase(in: 1e300) == .at(now.addingTimeInterval(1e300)))
    }

    @Test func `a live activity fits its limit and survives coding`() throws {
        let arrival = Arrival(state: .ok, arrivesAt: Date(ms: 2_000_000), calculatedAt: Date(ms: 1))
        let state = JobActivityState(self.view(arrival), now: Date(ms: 1_000_000))
        #expect(
            state.completedSteps == 1 && state.totalSteps == 2 && state.arrivesAt == Date(ms: 2_000_000)
                && !state.isOver)
        let data = try JSONEncoder().encode(state)
        #expect(data.count < 4_096)
        #expect(try JSONDecoder().decode(JobActivityState.self, from: data) == state)
    }

    @Test func `only an open connection that answers is certain`() {
        #expect(!TrackedJobRules.isUncertain(.open(isDegraded: false, isSilent: false)))
        for state in [
            ConnectionState.stopped, .connecting, .background, .open(isDegraded: true, isSilent: false),
            .open(isDegraded: false, isSilent: true), .waiting(until: nil, lastClose: nil),
        ] {
            #expect(TrackedJobRules.isUncertain(state))
        }
    }

    @Test func `addresses keep their path prefix`() {
        for (gateway, socket, rest) in [
            ("https://track.example", "wss://track.example/v1", "https://track.example/api/v1/jobs?a=b"),
            ("http://127.0.0.1:8080/", "ws://127.0.0.1:8080/v1", "http://127.0.0.1:8080/api/v1/jobs?a=b"),
            ("https://api.example/track/", "wss://api.example/track/v1", "https://api.example/track/api/v1/jobs?a=b"),
        ] {
            let configuration = EnrouteClient.Configuration(gateway: URL(string: gateway)!) { nil }
            #expect(
                configuration.socketURL.absoluteString == socket
                    && configuration.restURL("/jobs?a=b").absoluteString == rest)
        }
    }
}
