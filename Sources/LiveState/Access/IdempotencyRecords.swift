// Requests that carry an idempotency key: of all who send one, one carries it out, and whoever repeats it gets the first
// answer. A key belongs to one person in one role. Redis holds neither the key nor the answer but a name and an encryption
// derived from the key, because an answer may hold a secret (that of a tracking link, a ticket) and the ledger is written to
// disk.

package import EnrouteWire
package import NIOCore
package import Redis

/// Claims and answers at the ledger, which outlives a restart. May be used from any thread.
package struct IdempotencyRecords: Sendable {
    private let writes: RedisClient
    private let keyspace: Keyspace

    /// How long a key is remembered.
    package static let kept = Duration.seconds(24 * 3600)
    /// How long nobody else may act: longer than a request takes. A gateway that died in the middle blocks a key for this long.
    package static let claimed = Duration.seconds(30)
    /// Bytes of an answer; a longer one is not kept.
    package static let longestAnswer = 65_536
    /// Characters of a key under which an answer that holds a secret is kept: the encryption is as strong as the key.
    package static let shortestSecretKey = 20

    /// One person's idempotency key.
    package struct Key: Sendable {
        fileprivate let record: SealedRecord

        /// - Parameter text: as it was sent.
        package init(_ text: String, of person: PersonID, role: String) {
            self.record = SealedRecord(secret: text, for: "idempotency \(role) \(person.text)")
        }
    }

    /// The right to carry a request out.
    package struct Claim: Sendable, Hashable {
        fileprivate let nonce: String
        /// The same was asked for before, and what became of it is not known.
        package let isRepeat: Bool
    }

    package enum Asked: Sendable, Hashable {
        case claimed(Claim)
        /// The first answer.
        case answered([UInt8])
        /// Somebody works on it; for so many ms at most.
        case inProgress(forMilliseconds: Int64)
        /// Something else was asked for under this key.
        case otherRequest
    }

    /// What becomes of a claim.
    package enum Outcome: Sendable, Hashable {
        /// Whoever repeats the request gets this.
        case answered([UInt8])
        /// It is not known, or not for certain, what was done: the same request may act again, and no other.
        case unresolved
        /// Nothing was done: the key is free.
        case unused
    }

    /// - Parameter writes: what carries changes. A later WAIT on it says of all that was written before a claim, too,
    ///   whether a replica has it.
    package init(writes: RedisClient, settings: LiveStateSettings) {
        self.writes = writes
        self.keyspace = settings.keyspace
    }

    /// - Parameter question: all by which one request differs from another.
    package func claim(
        _ key: Key, for question: [UInt8], until claimed: Duration = Self.claimed
    ) -> EventLoopFuture<Asked> {
        let nonce = Secret.make()
        let record = key.record
        return self.writes.evaluate(
            Scripts.claimRequest, keys: [self.keyspace.idempotency(record.name)],
            arguments: [
                .text(record.digest(of: question)), .text(nonce), .integer(claimed.milliseconds),
                .integer(Self.kept.milliseconds),
            ]
        ).flatMapThrowing { answer in
            let parts = answer.array ?? []
            switch parts.first?.integer {
            case 1: return .claimed(Claim(nonce: nonce, isRepeat: false))
            case 2: return .claimed(Claim(nonce: nonce, isRepeat: true))
            case 3:
                guard parts.count == 2, let sealed = parts[1].bytes, let answer = record.open(sealed) else { break }
                return .answered(answer)
            case 0:
                guard parts.count == 2, let rest = parts[1].integer else { break }
                return .inProgress(forMilliseconds: min(max(rest, 1), claimed.milliseconds))
            case -1: return .otherRequest
            default: break
            }
            throw self.writes.refusal(of: self.keyspace.idempotency(record.name), by: Scripts.claimRequest.name)
        }
    }

    /// Ends a claim; does nothing where it ran out and another has it.
    package func settle(_ claim: Claim, of key: Key, as outcome: Outcome) -> EventLoopFuture<Void> {
        let (word, answer): (RedisCommand.Word, RedisCommand.Word) =
            switch outcome {
            case .answered(let answer) where answer.count <= Self.longestAnswer:
                ("answered", .bytes(key.record.seal(answer)))
            case .answered, .unresolved: ("unresolved", "")
            case .unused: ("unused", "")
            }
        return self.writes.evaluate(
            Scripts.settleRequest, keys: [self.keyspace.idempotency(key.record.name)],
            arguments: [.text(claim.nonce), word, answer]
        ).map { _ in }
    }
}
