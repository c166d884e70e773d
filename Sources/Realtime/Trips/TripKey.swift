// Identifies the trip that a report belongs to.

package import EnrouteWire
package import LiveState

extension TripValidators {
    /// A rider's trip for one job.
    package struct Key: Hashable, Sendable {
        package let rider: PersonID
        package let job: JobID
        /// The device of a REST report, because several may report on the same loop; `nil` for a device without a name, and for
        /// sessions.
        package let reporter: Reporter?

        package init(rider: PersonID, job: JobID, reporter: Reporter? = nil) {
            self.rider = rider
            self.job = job
            self.reporter = reporter.flatMap { $0.isNameless ? nil : $0 }
        }
    }

    /// Travel mode was switched off, on whichever device of the rider. Cost: O(trips), once per journey.
    func restart(_ job: JobID, of rider: PersonID) {
        for (key, entry) in self.entries where key.job == job && key.rider == rider { entry.trip.restart() }
    }
}
