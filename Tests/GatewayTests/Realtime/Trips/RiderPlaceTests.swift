import Access
import EnrouteClient
import EnrouteWire
import LiveState
import TestSupport
import Testing

@testable import Gateway

/// Where dispatchers find a rider who shares a trip.
@Suite struct RiderPlaceTests {
    private static let (job, rider) = (JobID("job-1")!, PersonID("rider-1")!)
    private static let zone = ZoneID("vienna")!
    private static let service = PersonID("service")!

    /// The app declares itself online as soon as the socket is open, while the session's first heartbeat may still be
    /// on its way. The next heartbeat, 30 s later, is too late for this.
    @Test func `a rider that goes online at once and reports is found where it is within seconds`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let settings = gateway.settings.liveState
                _ = try await Riders(ledger: gateway.client, settings: settings).describe(
                    Self.rider, in: Self.zone, isApproved: true, capacity: 1, by: .init(Self.service)
                ).get()
                _ = try await gateway.ledger.create(
                    NewJob(
                        job: Self.job, kind: .service, customer: PersonID("anna")!, rider: Self.rider,
                        actor: Self.service), epoch: "epoch-1"
                ).get()
                _ = try await gateway.ledger.publish(.onTheWay, of: Self.job, by: Self.service, source: "event").get()
                try await gateway.connect(Self.rider.text, .rider) { rider, answers in
                    try await rider.send(.availability(.online, device: nil))
                    try await rider.send(.travel(job: Self.job, active: true))
                    _ = try await answers.travelAnswer()
                    try await rider.report(Self.job, step: 1)
                    let index = GeoIndex(live: gateway.client, settings: settings)
                    let start = Coordinate(latitude: 41.9, longitude: 12.5)!
                    try await becomes("the rider is found near the start", within: .seconds(15)) {
                        try await index.near(start, in: Self.zone, within: 1_000, limit: 10).get().map(\.rider)
                            == [Self.rider]
                    }
                }
            }
        }
    }
}
