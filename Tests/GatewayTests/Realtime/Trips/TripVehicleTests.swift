import EnrouteWire
import Testing
import Tracking

@testable import Jobs
@testable import LiveState
@testable import Realtime

@Suite struct TripVehicleTests {
    private static func view(job: Vehicle?, rider: Vehicle?) -> JobView {
        var record = JobRecord(
            kind: .service, customer: PersonID("anna")!, rider: PersonID("rider-1")!, zone: nil,
            destination: Coordinate(latitude: 41.9, longitude: 12.5), vendor: nil, status: .onTheWay,
            statusAt: 1_795_248_617_611, epoch: "8k2p", head: StatusID("1795248617611-42")!, isTravelling: true,
            travelDeadline: nil, fence: 1)
        record.display = job.map { JobDisplay(vehicle: $0) }
        return JobView(
            JobLedger.Recovery(record: record, isReset: false, missed: []), JobFeed.State(),
            card: rider.map { RiderCard(vehicle: $0) }, now: 1_795_248_700_000, freshness: .seconds(30))
    }

    @Test(
        arguments: [(.bicycle, nil, .bicycle), (.bicycle, .car, .bicycle), (nil, .foot, .foot)]
            as [(
                Vehicle?, Vehicle?, Vehicle
            )])
    func `a trip is validated by the vehicle of its job, or else of its rider`(
        job: Vehicle?, rider: Vehicle?, expected: Vehicle
    ) {
        var trip = TripState(bounds: .init())
        let unknown = trip.usualSpeed
        trip.resume(from: Self.view(job: job, rider: rider), now: 1)
        #expect(trip.usualSpeed == TravelAssumptions.of(expected).speed && trip.usualSpeed != unknown)
    }
}
