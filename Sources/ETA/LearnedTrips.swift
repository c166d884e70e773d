// What was learned about trips without followers: the rider's vehicle and progress. The only follower of a job often
// reloads the page or reconnects, possibly on another event loop. The estimator then continues with what it learned
// from minutes of fixes, instead of starting again.

internal import EnrouteWire
internal import Synchronization
internal import Tracking

/// The trips of a gateway, for all its event loops. Thread-safe.
final class LearnedTrips: Sendable {
    private struct Trip {
        let rider: PersonID
        let estimator: TravelEstimator
        /// When its last follower disconnected, in ns of a monotonic clock.
        let since: UInt64
    }

    private let trips = Mutex<[JobID: Trip]>([:])

    /// Seconds for which a trip without followers is stored. The estimator contains the rider's last positions.
    static let lifetime = 300.0
    /// The maximum number of trips. Further ones are not stored.
    static let maxTrips = 1_000

    var count: Int { self.trips.withLock(\.count) }

    func store(_ estimator: TravelEstimator, of job: JobID, by rider: PersonID, now: UInt64) {
        self.trips.withLock { trips in
            guard trips[job] != nil || trips.count < Self.maxTrips else { return }
            trips[job] = Trip(rider: rider, estimator: estimator, since: now)
        }
    }

    /// Removes a trip for a loop that follows it again.
    ///
    /// - Returns: `nil` if nothing is known about a trip of this rider.
    func remove(_ job: JobID, of rider: PersonID, now: UInt64) -> TravelEstimator? {
        guard let trip = self.trips.withLock({ $0.removeValue(forKey: job) }), trip.rider == rider,
            Self.isValid(trip, now)
        else { return nil }
        return trip.estimator
    }

    /// Removes the trips that have had no follower for `lifetime`.
    func expire(now: UInt64) {
        self.trips.withLock { trips in
            guard !trips.isEmpty else { return }
            trips = trips.filter { Self.isValid($0.value, now) }
        }
    }

    private static func isValid(_ trip: Trip, _ now: UInt64) -> Bool {
        now < trip.since + UInt64(Self.lifetime * 1e9)
    }
}
