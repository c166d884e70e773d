// The fields of a job's record on which a trip depends. They are read every minute for every trip and rarely change, so
// only three fields are read, without a future.

package import EnrouteWire
internal import Redis

/// The rider, the destination and the zone of a job.
package struct TripFacts: Sendable, Hashable {
    package var rider: PersonID?
    package var destination: Coordinate?
    package var zone: ZoneID?

    package init(rider: PersonID?, destination: Coordinate?, zone: ZoneID?) {
        (self.rider, self.destination, self.zone) = (rider, destination, zone)
    }
}

extension JobLedger {
    /// Reads the rider, the destination and the zone of a job. Call it on the event loop of the client.
    ///
    /// - Parameter completion: called once, on the event loop; `nil` if there is no such job, or if it could not be read.
    /// - Returns: `false` if nothing was sent. Then `completion` is not called.
    package func readTripFacts(_ job: JobID, _ completion: @escaping (TripFacts?) -> Void) -> Bool {
        let key = self.keyspace.job(job)
        return self.ledger.sendDirectly(
            key: key, words: 5, most: CommandWriter.size(ofWord: key.utf8.count) + 4 * CommandWriter.size(ofWord: 16)
        ) { writer in
            writer.word("HMGET")
            writer.word(key)
            writer.word("rider")
            writer.word("destination")
            writer.word("zone")
        } _: { reply in
            self.ledger.reportFailure(reply, of: [key], by: "HMGET")
            guard case .reply(let tape) = reply else { return completion(nil) }
            completion(TripFacts(tape))
        }
    }
}

extension TripFacts {
    /// - Returns: `nil` if a field is missing or malformed; reading the whole record shows which.
    fileprivate init?(_ tape: RESPTape) {
        guard tape.flatCount == 3, (0...2).allSatisfy({ tape.isString($0) }) else { return nil }
        var texts = ["", "", ""]
        for index in 0...2 { tape.withBytes(index) { texts[index] = String(decoding: $0, as: UTF8.self) } }
        guard let rider = optional(texts[0], { PersonID($0) }), let zone = optional(texts[2], { ZoneID($0) }) else {
            return nil
        }
        (self.rider, self.destination, self.zone) = (rider, JobRecord.place(texts[1]), zone)
        // For a destination without coordinates, the whole record is read.
        guard texts[1].isEmpty || self.destination != nil else { return nil }
    }
}
