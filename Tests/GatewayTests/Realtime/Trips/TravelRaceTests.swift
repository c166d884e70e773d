import EnrouteWire
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import Jobs

/// Travel mode is switched on and off at two gateways at the same time. Afterwards the live instance shows what the
/// ledger has decided, even if nobody follows the job.
@Suite struct TravelRaceTests {
    private static let rider = PersonID("rider-1")!

    @Test func `switched on and off at once, a trip is shown exactly if the ledger has travel mode on`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { one in
                try await RunningGateway.run(isSecure: false, at: (one.settings.live, one.settings.ledger)) { other in
                    let job = try await one.travellingJob()
                    let (first, second) = (one.jobs(), other.jobs())
                    var results: Set<Bool> = []
                    for round in 0..<300 {
                        async let started: Int64? = try? first.startTravel(job, by: Self.rider, on: .requests).get()
                        async let stopped: Void? = try? second.stopTravel(job, by: Self.rider).get()
                        _ = await (started, stopped)
                        let isShown = try await one.feed.read(job).get().isOpen
                        let isOn = try await one.ledger.recover(job).get()?.record.isTravelling
                        #expect(isShown == isOn, "round \(round)")
                        results.insert(isShown)
                    }
                    #expect(results == [true, false])
                }
            }
        }
    }

    @Test func `a feed that another gateway opens while travel mode is switched off does not stay open`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                let (ledger, feed) = (gateway.ledger, gateway.feed)
                let start = try await ledger.startTravel(for: job, by: Self.rider).get()
                guard case .on(let deadline, let fence) = start else {
                    Issue.record("travel mode is off: \(start)")
                    return
                }
                guard case .off(let end) = try await ledger.stopTravel(for: job, by: Self.rider).get() else {
                    Issue.record("it was not switched off")
                    return
                }
                // The last step of the other gateway's start arrives only now.
                let late = try await feed.open(job, for: Self.rider, until: deadline, fence: fence).get()
                #expect(late == .open)
                _ = try await feed.close(job, because: .deactivated, notLaterThan: end).get()
                let state = try await feed.read(job).get()
                #expect(!state.isOpen)
                let later = try await feed.open(job, for: Self.rider, until: deadline, fence: fence).get()
                #expect(later == .overtaken)
            }
        }
    }

    @Test func `a feed that only the live instance knows is closed, also after the ledger lost its decision`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                let jobs = gateway.jobs()
                let deadline = try await jobs.startTravel(job, by: Self.rider, on: .requests).get()
                try await jobs.closeIfStopped(job).get()
                let isOpen = try await gateway.feed.read(job).get().isOpen
                #expect(isOpen, "travel mode is on")
                try await jobs.stopTravel(job, by: Self.rider).get()
                // A fence that the ledger has never assigned.
                let opened = try await gateway.feed.open(job, for: Self.rider, until: deadline, fence: 99).get()
                #expect(opened == .open)
                try await jobs.closeIfStopped(job).get()
                let state = try await gateway.feed.read(job).get()
                #expect(!state.isOpen && state.isClosed)
            }
        }
    }
}
