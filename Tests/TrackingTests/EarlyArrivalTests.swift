import EnrouteWire
import Testing

@testable import Tracking

/// The arrival before the rider is on the way.
@Suite struct EarlyArrivalTests {
    private static let epoch: Int64 = 1_795_000_000_000
    private static let shop = Coordinate(latitude: 41.9, longitude: 12.5)!
    private static let home = Coordinate(latitude: 41.92, longitude: 12.51)!

    private static func early(
        _ status: JobStatus, vehicle: Vehicle? = .bicycle, promisedFrom: Int64? = nil,
        settings: EarlyArrival.Settings = .init(), to home: Coordinate = Self.home
    ) -> EarlyArrival {
        EarlyArrival(
            status: status, since: Self.epoch, from: Self.shop, to: home, vehicle: vehicle,
            promisedFrom: promisedFrom, settings: settings)
    }

    private static func travel(_ vehicle: Vehicle?) -> Double {
        TravelEstimator(vehicle: vehicle).seconds(from: Point(Self.shop), to: Point(Self.home))
    }

    /// Seconds from the start of the status to the arrival, as estimated at a given second of the status.
    private static func seconds(_ early: EarlyArrival, at second: Int64 = 0) throws -> Double {
        let estimate = try #require(early.estimate(wall: Self.epoch + second * 1000))
        return Double(try #require(estimate.arrivesAt) - Self.epoch) / 1000
    }

    @Test func `each step brings the arrival closer by its usual duration`() throws {
        let travel = Self.travel(.bicycle)
        #expect(abs(try Self.seconds(Self.early(.accepted)) - (1200 + travel)) <= 1)
        #expect(abs(try Self.seconds(Self.early(.preparing)) - (1200 + travel)) <= 1)
        #expect(abs(try Self.seconds(Self.early(.readyForPickup)) - (300 + travel)) <= 1)
        #expect(abs(try Self.seconds(Self.early(.inTransit)) - travel) <= 1)
        var settings = EarlyArrival.Settings()
        (settings.preparationSeconds, settings.pickupSeconds) = (60, 30)
        #expect(abs(try Self.seconds(Self.early(.preparing, settings: settings)) - (90 + travel)) <= 1)
    }

    @Test func `preparation counts from the acceptance, whenever it starts and whichever gateway reads it`() throws {
        let (accepted, minute) = (Self.early(.accepted), Int64(60_000))
        let promise = try #require(accepted.estimate(wall: Self.epoch)?.arrivesAt)
        for minutes in [Int64(0), 3, 14] {
            let at = Self.epoch + minutes * minute
            var moved = accepted
            moved.move(to: .preparing, at: at)
            let read = EarlyArrival(
                status: .preparing, since: at, acceptedAt: Self.epoch, from: Self.shop, to: Self.home,
                vehicle: .bicycle,
                promisedFrom: nil, settings: .init())
            #expect(moved.estimate(wall: at)?.arrivesAt == promise, "\(minutes)")
            #expect(read.estimate(wall: at) == moved.estimate(wall: at))
        }
        // Accepted for the evening: the acceptance says nothing, so the start of the preparation counts.
        let evening = Self.epoch + 300 * minute
        #expect(accepted.estimate(wall: evening) == nil)
        var moved = accepted
        moved.move(to: .preparing, at: evening)
        #expect(moved.estimate(wall: evening)?.arrivesAt == promise + 300 * minute)
    }

    @Test func `the estimate for a status with a future time does not start in the future`() throws {
        for ahead in [Int64(0), 1_000, 29_000] {
            let wall = Self.epoch - ahead
            let estimate = try #require(Self.early(.inTransit).estimate(wall: wall))
            #expect(estimate.at <= wall && estimate.at > 0, "\(ahead)")
            let arrivesAt = try #require(estimate.arrivesAt)
            #expect(arrivesAt == Self.early(.inTransit).estimate(wall: Self.epoch)?.arrivesAt)
            #expect(estimate.seconds == (arrivesAt - estimate.at) / 1000)
        }
    }

    @Test func `the estimate depends on the vehicle, and its range is wider than that of the trip alone`() throws {
        #expect(
            try Self.seconds(Self.early(.readyForPickup, vehicle: .foot)) > Self.seconds(Self.early(.readyForPickup)))
        let estimate = try #require(Self.early(.preparing).estimate(wall: Self.epoch))
        let (earliest, latest) = (try #require(estimate.earliestAt), try #require(estimate.latestAt))
        let arrival = try #require(estimate.arrivesAt)
        #expect(earliest < arrival - 500_000 && latest > arrival + 900_000)
        #expect(estimate.confidence == .low && estimate.source == "built_in" && estimate.state == .ok)
    }

    @Test func `the estimate stays the same until the step is late, then it is postponed by five minutes at a time`()
        throws
    {
        let early = Self.early(.readyForPickup)
        let first = try #require(early.estimate(wall: Self.epoch))
        #expect(early.estimate(wall: Self.epoch + 299_000) == first)
        #expect(try Self.seconds(early, at: 300) == Self.seconds(early) + 300)
        #expect(try Self.seconds(early, at: 599) == Self.seconds(early) + 300)
        #expect(try Self.seconds(early, at: 600) == Self.seconds(early) + 600)
        #expect(early.estimate(wall: Self.epoch + 4 * 3_600_000) == nil)
        // Never in the past.
        for second in stride(from: Int64(0), to: 11_000, by: 17) {
            for status in [JobStatus.accepted, .readyForPickup, .inTransit] {
                guard let estimate = Self.early(status).estimate(wall: Self.epoch + second * 1000) else { continue }
                #expect(estimate.arrivesAt ?? 0 >= Self.epoch + second * 1000, "\(status) \(second)")
                #expect(estimate.earliestAt ?? 0 <= estimate.arrivesAt ?? 0)
                #expect(estimate.latestAt ?? 0 >= estimate.arrivesAt ?? 0)
            }
        }
    }

    @Test func `there is no estimate before the acceptance, while no rider can be found, or after the end`() {
        for status in [JobStatus.pendingVendorAcceptance, .allocationFailed, .delivered, .cancelled] {
            #expect(Self.early(status).estimate(wall: Self.epoch) == nil)
        }
        var settings = EarlyArrival.Settings()
        settings.isOn = false
        #expect(Self.early(.accepted, settings: settings).estimate(wall: Self.epoch) == nil)
    }

    @Test func `an order is not expected before the promised time, and an order for another day has no estimate`()
        throws
    {
        let promised = Self.epoch + 3_600_000
        let arrival = try #require(Self.early(.accepted, promisedFrom: promised).estimate(wall: Self.epoch)?.arrivesAt)
        #expect(abs(arrival - promised) <= 1000)
        #expect(Self.early(.accepted, promisedFrom: Self.epoch + 86_400_000).estimate(wall: Self.epoch) == nil)
    }

    @Test(arguments: [Int64.min, -1, 0, .max, 9_999_999_999_999])
    func `absurd times and places do not crash the process`(time: Int64) {
        var early = Self.early(.accepted, promisedFrom: time)
        _ = early.estimate(wall: time)
        early.move(to: .readyForPickup, at: time)
        _ = early.estimate(wall: Self.epoch)
        _ = early.estimate(wall: time)
        let far = Self.early(.inTransit, vehicle: .foot, to: Coordinate(latitude: -90, longitude: 180)!)
        #expect(far.estimate(wall: Self.epoch) == nil)
    }
}
