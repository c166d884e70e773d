// What a rider's trip depends on in a job's record. It is read every minute for every trip, nearly always to find nothing new, so
// it is two fields and no future.

package import EnrouteWire
internal import Redis

/// The rider and the destination of a job.
package struct TripFacts: Sendable, Hashable {
    package var rider: PersonID?
    package var destination: Coordinate?

    package init(rider: PersonID?, destination: Coordinate?) { (self.rider, self.destination) = (rider, destination) }
}

extension JobLedger {
    /// Reads the rider and the destination of a job. Call it on the event loop of the client.
    ///
    /// - Parameter completion: called once, on the event loop; `nil` if there is no such job, or if it could not be read.
    /// - Returns: `false` if nothing was sent. Then `completion` is not called.
    package func readTripFacts(_ job: JobID, _ completion: @escaping (TripFacts?) -> Void) -> Bool {
        let key = self.keyspace.job(job)
        return self.ledger.sendDirectly(
            key: key, words: 4, most: CommandWriter.size(ofWord: key.utf8.count) + 3 * CommandWriter.size(ofWord: 16)
        ) { writer in
            writer.word("HMGET")
            writer.word(key)
            writer.word("rider")
            writer.word("destination")
        } _: { reply in
            self.ledger.reportFailure(reply, of: [key], by: "HMGET")
            guard case .reply(let tape) = reply else { return completion(nil) }
            completion(TripFacts(tape))
        }
    }
}

extension TripFacts {
    /// - Returns: `nil` if a field is missing or malformed; reading the whole record tells which.
    fileprivate init?(_ tape: RESPTape) {
        guard tape.flatCount == 2, tape.isString(0), tape.isString(1) else { return nil }
        var texts = ["", ""]
        for index in 0...1 { tape.withBytes(index) { texts[index] = String(decoding: $0, as: UTF8.self) } }
        guard let rider = optional(texts[0], { PersonID($0) }) else { return nil }
        (self.rider, self.destination) = (rider, JobRecord.place(texts[1]))
        // A destination without coordinates is read as a whole.
        guard texts[1].isEmpty || self.destination != nil else { return nil }
    }
}
