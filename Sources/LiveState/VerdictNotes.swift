// What became of a rider's readings, counted for whoever looks into a complaint, and what is known of its silence and
// of its arrival. Words and numbers, never a place, and gone with the live instance.

package import EnrouteWire
package import NIOCore
package import Redis

/// Writing and reading it at the live instance. May be used from any thread.
package struct VerdictNotes: Sendable {
    private let live: RedisClient
    private let keyspace: Keyspace
    private let lifetime: RedisCommand.Word

    package init(live: RedisClient, settings: LiveStateSettings) {
        self.live = live
        self.keyspace = settings.keyspace
        // As long as travel mode may be on: then the trip is over, and what was noted of it.
        self.lifetime = .integer(settings.travelCap.milliseconds)
    }

    /// Something that is true of a rider from now on; `nil` is true of it: nothing of the kind.
    package enum Word: Sendable, Hashable {
        case dark(DarkReason?)
        case approach(ApproachState?)
        /// Travel mode was switched off because the rider had arrived, and not by hand.
        case stoppedByArrival(Bool)
        /// Travel mode was switched on: a silence counts from now on.
        case sharing
    }

    /// - Parameters:
    ///   - counts: how many more got which verdict; at most 16 verdicts.
    ///   - message: what the job's followers are told.
    package func note(
        _ job: JobID, counts: [(verdict: String, count: Int)] = [], words: [Word] = [], message: ServerMessage? = nil
    ) -> EventLoopFuture<Void> {
        let texts = words.map { word in
            switch word {
            case .dark(let reason): "dark \(reason?.rawValue ?? "-")"
            case .approach(let state): "approach \(state?.rawValue ?? "-")"
            case .stoppedByArrival(let isSo): "stopped \(isSo ? "arrived" : "-")"
            case .sharing: "sharing on"
            }
        }
        return self.live.evaluate(
            Scripts.noteVerdicts, keys: [self.keyspace.verdicts(of: job), self.keyspace.feed(of: job)],
            arguments: [
                .text(counts.map { "\($0.verdict) \($0.count)" }.joined(separator: " ")),
                .text(texts.joined(separator: " ")), .bytes(message?.encoded ?? []), self.lifetime,
            ]
        ).map { _ in }
    }

    package func read(_ job: JobID) -> EventLoopFuture<VerdictSummary> {
        self.live.send(["HGETALL", .text(self.keyspace.verdicts(of: job))]).map { answer in
            let texts = (answer.array ?? []).map { $0.text ?? "" }
            var summary = VerdictSummary()
            for index in stride(from: 0, to: texts.count - 1, by: 2) {
                switch texts[index] {
                case "dark": summary.dark = DarkReason(rawValue: texts[index + 1])
                case "approach": summary.approach = ApproachState(rawValue: texts[index + 1])
                case "stopped": summary.wasStoppedByArrival = texts[index + 1] == "arrived"
                case "sharing": continue
                case "seen_at": summary.seenAt = Self.time(texts[index + 1])
                case "sharing_at": summary.sharingAt = Self.time(texts[index + 1])
                default: summary.counts[texts[index]] = Int(texts[index + 1])
                }
            }
            return summary
        }
    }

    /// `nil` for what is no time: whoever calculates with one need not fear it.
    private static func time(_ text: String) -> Int64? { Int64(text).flatMap { Fix.times.contains($0) ? $0 : nil } }
}
