// The head of a job's record: the fields that decide whether a follower is up to date. Gateways read it often, so they do it
// without a script.

package import EnrouteWire
package import NIOCore
internal import Redis

extension JobLedger {
    /// The fields that decide whether a follower is up to date.
    package struct Head: Sendable, Hashable {
        package var epoch: String
        package var id: StatusID
        package var isTravelling: Bool
        package var customer: PersonID
        package var rider: PersonID?
        /// As `JobRecord.revision`.
        package var revision: Int64
    }

    /// Reads the head of a job.
    ///
    /// - Returns: `nil` when there is no such job. Cost: O(1), without a script.
    package func head(_ job: JobID) -> EventLoopFuture<Head?> {
        self.ledger.send([
            "HMGET", .text(self.keyspace.job(job)), "epoch", "head", "travel_active", "customer", "rider",
            "revision",
        ]).flatMapThrowing { try self.head($0, of: job) }
    }

    /// As `head`, without a future; see `RedisClient.sendDirectly`.
    func sendHeadQuery(_ job: JobID, _ completion: @escaping (DirectReply) -> Void) -> Bool {
        let key = self.keyspace.job(job)
        return self.ledger.sendDirectly(
            key: key, words: 8, most: CommandWriter.size(ofWord: key.utf8.count) + 7 * CommandWriter.size(ofWord: 16)
        ) { writer in
            writer.word("HMGET")
            writer.word(key)
            writer.word("epoch")
            writer.word("head")
            writer.word("travel_active")
            writer.word("customer")
            writer.word("rider")
            writer.word("revision")
        } _: { reply in
            self.ledger.reportFailure(reply, of: [key], by: "HMGET")
            completion(reply)
        }
    }

    /// Reads the reply to the query above.
    func head(_ answer: RESPValue, of job: JobID) throws -> Head? {
        guard let fields = answer.array, fields.count == 6 else {
            throw RedisError.unexpectedAnswer(command: "HMGET")
        }
        guard fields[0] != .null || fields[1] != .null || fields[3] != .null else { return nil }
        guard let epoch = fields[0].text, epoch.isNonce, let id = fields[1].text.flatMap({ StatusID($0) }),
            let customer = fields[3].text.flatMap({ PersonID($0) }),
            let rider = optional(fields[4].text ?? "", { PersonID($0) }),
            let revision = optional(fields[5].text ?? "", \.fence)
        else { throw self.ledger.refusal(of: self.keyspace.job(job), by: "HMGET") }
        return Head(
            epoch: epoch, id: id, isTravelling: fields[2].text == "1", customer: customer, rider: rider,
            revision: revision ?? 0)
    }
}
