// What is known of a job before it is created. Requests and events arrive again after their answer was lost, and then they must
// change nothing, whatever has happened to the job and its rider since.

package import EnrouteWire
package import NIOCore
internal import Redis

extension JobLedger {
    /// Reads what creating a job with this epoch would find. create_job makes the decision; this check spares the caller the
    /// checks and changes before it.
    ///
    /// - Returns: `nil` if the job would be created. Cost: O(1), without a script.
    package func earlierCreation(of job: JobID, epoch: String) -> EventLoopFuture<Creation?> {
        let key = self.keyspace.job(job)
        return self.ledger.send(["HMGET", .text(key), "epoch", "head", "erased"]).flatMapThrowing { answer in
            guard let fields = answer.array, fields.count == 3 else {
                throw RedisError.unexpectedAnswer(command: "HMGET")
            }
            guard fields[0] != .null else {
                let erased = fields[2].text?.split(separator: " ") ?? []
                return erased.contains(Substring(epoch)) ? .erased : nil
            }
            guard let known = fields[0].text, known.isNonce, let head = fields[1].text.flatMap({ StatusID($0) })
            else { throw self.ledger.refusal(of: key, by: "HMGET") }
            return .exists(epoch: known, head: head)
        }
    }

    /// Returns whether this request created the job, according to the first entry of its log. Cost: O(1), without a script.
    ///
    /// - Parameter request: its id. Gateways before 2026-11-30 did not store it. Then the person alone decides.
    package func wasCreated(_ job: JobID, by actor: PersonID, request: String) -> EventLoopFuture<Bool> {
        let key = self.keyspace.log(of: job)
        return self.ledger.send(["XRANGE", .text(key), "-", "+", "COUNT", 1]).flatMapThrowing { answer in
            guard let first = answer.array?.first else { return false }
            guard let fields = first.logEntry?.fields else { throw self.ledger.refusal(of: key, by: "XRANGE") }
            return fields["source"] == "create" && fields["actor"] == actor.text
                && (fields["request"] ?? request) == request
        }
    }
}
