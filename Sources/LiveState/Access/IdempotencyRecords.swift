// Idempotency keys: of several requests with the same key, one is executed, and every repetition receives its response.
// A key belongs to one person in one role, and to the limits of the token or link. A response may contain a secret (a
// tracking link or a ticket), and the ledger is written to disk. Redis therefore stores neither the key nor the plain
// response: the name of the record and the encryption key are both derived from the idempotency key.

package import EnrouteWire
package import NIOCore
package import Redis

/// Claims and responses, stored in the ledger so that they survive a restart. Safe to use from any thread.
package struct IdempotencyRecords: Sendable {
    private let writes: RedisClient
    private let keyspace: Keyspace

    /// How long an idempotency key is remembered.
    package static let retention = Duration.seconds(24 * 3600)
    /// The shorter retention of a refusal, and of a response with a code that expires by then (`SignInCodes.lifetimes`,
    /// `Tickets.lifetime`). Longer than clients repeat a request. Anyone with a token can cause as many of these
    /// responses as the rate limit allows, so this bounds their memory: at 10 requests/s, 6,000 records or about 6 MB.
    package static let briefRetention = Duration.seconds(600)
    /// How long a claim is exclusive. No request takes longer. If a gateway dies during a request, the key stays
    /// blocked for this long.
    package static let claimDuration = Duration.seconds(30)
    /// The pause before a claim is settled again, after Redis was unavailable.
    static let settlePause = TimeAmount.milliseconds(500)
    /// Maximum number of attempts to settle a claim; together they take a minute. After a longer outage the claim
    /// expires by itself.
    static let maxSettleAttempts = 120
    /// Maximum size of a response in bytes. A longer response is not stored.
    package static let maxAnswerBytes = 65_536
    /// Minimum length of a key if the response contains a secret, because the encryption is only as strong as the key.
    package static let minSecretKeyLength = 20

    /// One caller's idempotency key.
    package struct Key: Sendable {
        fileprivate let record: SealedRecord

        /// - Parameters:
        ///   - text: the header's value as the client sent it.
        ///   - limits: of the caller's token or link; empty for none. Callers with other limits have other keys, so
        ///     that none receives the response to a caller with more permissions.
        package init(_ text: String, of person: PersonID, role: String, limits: [String] = []) {
            // Neither a role nor a name contains a space.
            let owner = [role, person.text] + limits
            self.record = SealedRecord(secret: text, for: "idempotency " + owner.joined(separator: " "))
        }
    }

    /// The right to execute a request.
    package struct Claim: Sendable, Hashable {
        fileprivate let nonce: String
        /// The same request was made before, and its outcome is unknown.
        package let isRepeat: Bool
    }

    package enum ClaimResult: Sendable, Hashable {
        case claimed(Claim)
        /// The first response.
        case answered([UInt8])
        /// Another gateway or task is executing the request, for at most this many ms.
        case inProgress(forMilliseconds: Int64)
        /// The key was used for a different request.
        case otherRequest
    }

    /// How a claim ends.
    package enum Outcome: Sendable, Hashable {
        /// Repeated requests receive this response for `retention`, or for `briefRetention`.
        case answered([UInt8], isBrief: Bool)
        /// The outcome is unknown or uncertain. The same request may be executed again, but no other.
        case unresolved
        /// Nothing was done, and the key is free again.
        case unused
    }

    /// - Parameter writes: the client that sends changes. A later WAIT on the same connection also covers everything that was
    ///   written before a claim.
    package init(writes: RedisClient, settings: LiveStateSettings) {
        self.writes = writes
        self.keyspace = settings.keyspace
    }

    /// Claims a key. If Redis does not reply in time, for example because it is frozen, it may still execute the claim
    /// later. Nobody would use that claim, so it is released in the background.
    ///
    /// - Parameter question: every part of the request that distinguishes it from others.
    package func claim(
        _ key: Key, for question: [UInt8], lasting claimDuration: Duration = Self.claimDuration
    ) -> EventLoopFuture<ClaimResult> {
        let nonce = Secret.make()
        let record = key.record
        let reply = self.writes.evaluate(
            Scripts.claimRequest, keys: [self.keyspace.idempotency(record.name)],
            arguments: [
                .text(record.digest(of: question)), .text(nonce), .integer(claimDuration.milliseconds),
                .integer(Self.retention.milliseconds),
            ])
        reply.whenFailure { error in
            guard (error as? RedisError)?.isOutcomeUnknown == true else { return }
            // Not as unused: an earlier request with this key may have made the change.
            self.settleLater(self.settlement(of: nonce, in: record, as: .unresolved), Self.maxSettleAttempts)
        }
        return reply.flatMapThrowing { answer in
            let parts = answer.array ?? []
            switch parts.first?.integer {
            case 1: return .claimed(Claim(nonce: nonce, isRepeat: false))
            case 2: return .claimed(Claim(nonce: nonce, isRepeat: true))
            case 3:
                guard parts.count == 2, let sealed = parts[1].bytes, let answer = record.open(sealed) else { break }
                return .answered(answer)
            case 0:
                guard parts.count == 2, let rest = parts[1].integer else { break }
                return .inProgress(forMilliseconds: min(max(rest, 1), claimDuration.milliseconds))
            case -1: return .otherRequest
            default: break
            }
            throw self.writes.refusal(of: self.keyspace.idempotency(record.name), by: Scripts.claimRequest.name)
        }
    }

    /// Settles a claim. Does nothing if the claim has expired and another request holds one. If Redis is unavailable,
    /// the future fails, and the claim is settled in the background once Redis is available again.
    package func settle(_ claim: Claim, of key: Key, as outcome: Outcome) -> EventLoopFuture<Void> {
        self.settle(self.settlement(of: claim.nonce, in: key.record, as: outcome), Self.maxSettleAttempts)
    }

    /// The key and the arguments of `settle_request`.
    private typealias Settlement = (key: String, arguments: [RedisCommand.Word])

    private func settlement(of nonce: String, in record: SealedRecord, as outcome: Outcome) -> Settlement {
        let (outcomeName, answer, retention): (RedisCommand.Word, RedisCommand.Word, Duration) =
            switch outcome {
            case .answered(let answer, let isBrief) where answer.count <= Self.maxAnswerBytes:
                ("answered", .bytes(record.seal(answer)), isBrief ? Self.briefRetention : Self.retention)
            case .answered, .unresolved: ("unresolved", "", Self.retention)
            case .unused: ("unused", "", Self.retention)
            }
        return (
            self.keyspace.idempotency(record.name),
            [.text(nonce), outcomeName, answer, .integer(retention.milliseconds)]
        )
    }

    private func settle(_ settlement: Settlement, _ attemptsLeft: Int) -> EventLoopFuture<Void> {
        let reply = self.writes.evaluate(
            Scripts.settleRequest, keys: [settlement.key], arguments: settlement.arguments)
        reply.whenFailure { error in
            guard (error as? RedisError)?.isOutage == true else { return }
            self.settleLater(settlement, attemptsLeft - 1)
        }
        return reply.map { _ in }
    }

    private func settleLater(_ settlement: Settlement, _ attemptsLeft: Int) {
        guard attemptsLeft > 0 else { return }
        self.writes.eventLoop.scheduleTask(in: Self.settlePause) { _ = self.settle(settlement, attemptsLeft) }
    }
}
