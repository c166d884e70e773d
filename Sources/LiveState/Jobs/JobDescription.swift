// Changes the fields of a job's record other than its status, rider and customer.

package import EnrouteWire
package import NIOCore
package import Redis

extension JobLedger {
    package enum Description: Sendable, Hashable {
        case changed
        /// The job already had these values.
        case unchanged
        case noSuchJob
        case otherKind(JobKind)
        case ended(JobStatus)
        /// The job has changed since its record was read.
        case overtaken
    }

    /// Changes the given values and leaves those that are `nil`. Followers read the job again. Safe to repeat.
    ///
    /// - Parameters:
    ///   - kind: the kind that the job must have.
    ///   - geocoded: the result of geocoding the destination's address, even if no place was found.
    ///   - revision: of the record with which the values were checked; `nil` for any.
    ///   - display: empty details remove the stored ones; so do empty `metadata` and an empty `recipient`.
    package func describe(
        _ job: JobID, kind: JobKind, zone: ZoneID?, destination: Coordinate?, geocoded: GeocodedAddress? = nil,
        vendor: PickupPlace?, display: JobDisplay? = nil, metadata: JobMetadata? = nil, recipient: Recipient? = nil,
        revision: Int64? = nil
    ) -> EventLoopFuture<Durable<Description>> {
        func place(_ place: Coordinate?) -> RedisCommand.Word { place.map { .bytes($0.json) } ?? "" }
        return self.change(
            job, Scripts.describeJob, keys: [self.keyspace.events(of: job)],
            arguments: [
                .text(kind.rawValue), .text(zone?.text ?? ""),
                geocoded.map { .bytes($0.json(with: destination)) } ?? place(destination),
                vendor.map { .bytes($0.json) } ?? "",
                .text(JobStatus.allCases.filter { $0.end != nil }.map(\.rawValue).joined(separator: ",")),
                self.retention, display.map { .bytes($0.json) } ?? "", metadata.map { .bytes($0.json) } ?? "",
                recipient.map { .bytes($0.json) } ?? "", .text(revision.map(String.init) ?? ""),
            ]
        ).flatMapThrowing { answer in
            let parts = answer.value.array ?? []
            let detail = parts.dropFirst().first?.text
            switch (parts.first?.integer, detail.flatMap(JobKind.init), detail.flatMap(JobStatus.init)) {
            case (1, _, _): return Durable(value: .changed, replicas: answer.replicas)
            case (2, _, _): return Durable(value: .unchanged, replicas: answer.replicas)
            case (0, _, _): return Durable(value: .noSuchJob, replicas: nil)
            case (-1, let kind?, _): return Durable(value: .otherKind(kind), replicas: nil)
            case (-2, _, let status?): return Durable(value: .ended(status), replicas: nil)
            case (-3, _, _): return Durable(value: .overtaken, replicas: nil)
            default: throw RedisError.unexpectedAnswer(command: Scripts.describeJob.name)
            }
        }
    }

    /// Waits until replicas have everything that was written about a job before, on whatever connection. Changes nothing.
    package func confirm(_ job: JobID, kind: JobKind) -> EventLoopFuture<Durable<Description>> {
        self.describe(job, kind: kind, zone: nil, destination: nil, vendor: nil)
    }
}

extension JobLedger {
    /// Makes the followers of a job read it again. Does nothing if the job is not this rider's, or if they were already
    /// notified of this version of the rider's card. Safe to repeat.
    package func refresh(_ job: JobID, after version: Int64, ofCardOf rider: PersonID) -> EventLoopFuture<Void> {
        self.ledger.evaluate(
            Scripts.refreshJob, keys: [self.keyspace.job(job), self.keyspace.events(of: job)],
            arguments: [.text(rider.text), .text(String(version))]
        ).flatMapThrowing { answer in
            guard answer.array?.first?.integer != nil else {
                throw RedisError.unexpectedAnswer(command: Scripts.refreshJob.name)
            }
        }
    }
}
