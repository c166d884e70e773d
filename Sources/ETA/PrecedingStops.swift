// The stops that a rider makes before it comes to a job: an arrival time counts the way by all of them.

package import EnrouteWire
package import LiveState
package import NIOCore

/// Where the stops before a job are. May be used from any thread.
package struct PrecedingStops: Sendable {
    package let stopSequences: StopSequenceStore
    package let ledger: JobLedger

    package init(stopSequences: StopSequenceStore, ledger: JobLedger) {
        self.stopSequences = stopSequences
        self.ledger = ledger
    }

    /// - Parameter rider: whose stops they must be; those of others, and those that have been made, do not count.
    /// - Returns: in their order, `nil` for one of which it is not known where it is.
    package func stops(before job: JobID, of rider: PersonID) -> EventLoopFuture<[Coordinate?]> {
        self.stopSequences.stops(before: job).flatMap { jobs in
            EventLoopFuture.whenAllSucceed(jobs.map { self.ledger.recover($0) }, on: self.ledger.eventLoop)
        }.map { recoveries in
            recoveries.compactMap { recovery in
                guard let record = recovery?.record, record.rider == rider, record.status.endOfTravel == nil else {
                    return nil
                }
                return .some(record.destination)
            }
        }
    }
}
