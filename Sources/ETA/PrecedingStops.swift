// The stops that a rider makes before a job. The arrival time includes the route through all of them.

package import EnrouteWire
package import LiveState
package import NIOCore

/// Reads the locations of the stops before a job. Thread-safe.
package struct PrecedingStops: Sendable {
    package let stopSequences: StopSequenceStore
    package let ledger: JobLedger

    package init(stopSequences: StopSequenceStore, ledger: JobLedger) {
        self.stopSequences = stopSequences
        self.ledger = ledger
    }

    /// Reads the stops before a job.
    ///
    /// - Parameter rider: the rider of the stops. Stops of other riders and completed stops are ignored.
    /// - Returns: the locations of the stops in order; `nil` for a stop whose location or length is unknown. A visit
    ///   takes minutes or hours, so no arrival time includes one.
    package func stops(before job: JobID, of rider: PersonID) -> EventLoopFuture<[Coordinate?]> {
        self.stopSequences.stops(before: job).flatMap { jobs in
            EventLoopFuture.whenAllSucceed(jobs.map { self.ledger.recover($0) }, on: self.ledger.eventLoop)
        }.map { recoveries in
            recoveries.compactMap { recovery in
                guard let record = recovery?.record, record.rider == rider, record.status.end == nil else {
                    return nil
                }
                return .some(record.kind == .service ? nil : record.destination)
            }
        }
    }
}
