// Counts of validation results of a rider's fixes, for support cases, and annotations about its reachability and
// arrival. The data contains counts and names, never a location, and is lost with the live instance.

package import EnrouteWire
package import NIOCore
package import Redis

/// Writes and reads the results in the live instance. Safe to use from any thread.
package struct ValidationSummaryStore: Sendable {
    private let live: RedisClient
    private let keyspace: Keyspace
    private let lifetime: RedisCommand.Word

    package init(live: RedisClient, settings: LiveStateSettings) {
        self.live = live
        self.keyspace = settings.keyspace
        // Travel mode cannot last longer, so the trip is over when the data expires.
        self.lifetime = .integer(settings.maxSharingDuration.milliseconds)
    }

    /// A fact about the rider; `nil` clears it.
    package enum Annotation: Sendable, Hashable {
        case unavailable(UnavailableReason?)
        case proximity(ProximityState?)
        /// Travel mode was switched off automatically on arrival.
        case stoppedByArrival(Bool)
        /// Travel mode was switched on. The time without fixes is measured from here.
        case sharing
    }

    /// Adds to the counts of a job, stores annotations, and publishes a message. Does nothing if another rider shares
    /// their position for the job.
    ///
    /// - Parameters:
    ///   - rider: whose fixes these are.
    ///   - counts: the number of new fixes by verdict; at most 16 verdicts.
    ///   - message: sent to the job's followers.
    package func note(
        _ job: JobID, by rider: PersonID, counts: [(verdict: String, count: Int)] = [], annotations: [Annotation] = [],
        message: ServerMessage? = nil
    ) -> EventLoopFuture<Void> {
        let texts = annotations.map { annotation in
            switch annotation {
            case .unavailable(let reason): "unavailable \(reason?.rawValue ?? "-")"
            case .proximity(let state): "proximity \(state?.rawValue ?? "-")"
            case .stoppedByArrival(let isSo): "stopped \(isSo ? "arrived" : "-")"
            case .sharing: "sharing on"
            }
        }
        return self.live.evaluate(
            Scripts.noteVerdicts,
            keys: [self.keyspace.verdicts(of: job), self.keyspace.feed(of: job), self.keyspace.travel(of: job)],
            arguments: [
                .text(counts.map { "\($0.verdict) \($0.count)" }.joined(separator: " ")),
                .text(texts.joined(separator: " ")), .bytes(message?.encoded ?? []), self.lifetime,
                .text(rider.text),
            ]
        ).map { _ in }
    }

    package func read(_ job: JobID) -> EventLoopFuture<ValidationSummary> {
        let key = self.keyspace.verdicts(of: job)
        return self.live.send(["HGETALL", .text(key)]).map { answer in
            let stored = StoredVerdicts(answer)
            if !stored.isValid { self.live.refuse(key, by: "HGETALL") }
            return stored.summary
        }.flatMapErrorThrowing { error in
            // The error has been logged. The job is shown without its validation results.
            guard (error as? RedisError)?.isMalformedData == true else { throw error }
            return ValidationSummary()
        }
    }
}

/// The hash `job:{J}:verdicts`.
package struct StoredVerdicts: Sendable, Hashable {
    package var summary = ValidationSummary()
    /// When each verdict was last counted, ms since the epoch; up to a minute too early for `accepted`.
    package var lastAt: [String: Int64] = [:]
    /// Whether every field is valid. A malformed field changes nothing.
    package var isValid = true

    package init() {}

    /// - Parameter answer: the reply to HGETALL.
    init(_ answer: RESPValue) {
        let texts = (answer.array ?? []).map { $0.text ?? "" }
        for index in stride(from: 0, to: texts.count - 1, by: 2) {
            let (name, value) = (texts[index], texts[index + 1])
            if name.hasPrefix("at:") {
                self.isValid = self.apply(timeOf: String(name.dropFirst(3)), value) && self.isValid
            } else {
                self.isValid = self.summary.apply(name, value) && self.isValid
            }
        }
    }

    private mutating func apply(timeOf verdict: String, _ text: String) -> Bool {
        guard verdict.isVerdict, let time = text.time else { return false }
        self.lastAt[verdict] = time
        return true
    }
}

extension ValidationSummary {
    /// Applies one field of the hash. A malformed field changes nothing.
    ///
    /// - Returns: whether the field is valid.
    fileprivate mutating func apply(_ name: String, _ text: String) -> Bool {
        switch name {
        case "unavailable":
            guard let reason = optional(text.annotation, UnavailableReason.init) else { return false }
            self.unavailable = reason
        case "proximity":
            guard let state = optional(text.annotation, ProximityState.init) else { return false }
            self.proximity = state
        case "stopped":
            guard ["", "arrived"].contains(text.annotation) else { return false }
            self.wasStoppedByArrival = text == "arrived"
        case "sharing": break
        case "seen_at":
            guard let time = text.time else { return false }
            self.seenAt = time
        case "sharing_at":
            guard let time = text.time else { return false }
            self.sharingAt = time
        default:
            guard name.isVerdict, let count = text.amount else { return false }
            self.counts[name] = count
        }
        return true
    }
}

extension String {
    /// The value of an annotation; empty for `-`, which stands for none.
    fileprivate var annotation: String { self == "-" ? "" : self }

    /// A time within the range in which sums cannot overflow; `nil` for anything else.
    fileprivate var time: Int64? { Int64(self).flatMap { Fix.times.contains($0) ? $0 : nil } }

    /// Whether it has the form of a verdict's name. Later versions may have other names.
    fileprivate var isVerdict: Bool {
        (1...32).contains(self.utf8.count) && self.utf8.allSatisfy { (97...122).contains($0) || $0 == 95 }
    }
}
