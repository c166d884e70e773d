// How a status from another system relates to the current status of a job. Events arrive more than once and in any
// order, so they are ordered by the lifecycle, not by their arrival. Time decides only where the lifecycle has a cycle
// (preparing, no rider found, preparing again), because there a status is both before and after another.

package import EnrouteWire

/// What to do with a status.
package enum EventOrder: Sendable, Hashable {
    /// Apply it.
    case next
    /// Ignore it: the job already has this status or a later one.
    case superseded
    /// A status in between is missing: the sender should retry.
    case notYet
    /// The job can never reach it; the reason is a sentence.
    case rejected(String)

    /// - Parameters:
    ///   - currentAt: when the job became `current`, ms since the epoch.
    ///   - occurredAt: when the job got `status`; `nil` when unknown.
    package init(
        _ status: JobStatus, of kind: JobKind, after current: JobStatus, since currentAt: Int64, occurredAt: Int64?
    ) {
        guard kind.statuses.contains(status) else {
            self = .rejected(
                "A \(kind.rawValue) never has the status \(status.rawValue). Use one of \(Self.list(kind.statuses)).")
            return
        }
        let isBehind = status == current || Self.reaches(current, from: status)
        let isAhead = Self.reaches(status, from: current)
        let mayFollow = status.predecessors.contains(current)
        switch (isBehind, isAhead) {
        case (true, false): self = .superseded
        case (false, true): self = mayFollow ? .next : .notYet
        case (true, true):
            guard status != current else {
                self = .superseded
                return
            }
            // Without a time, apply a status that may follow and ignore one that may not.
            let isNewer = occurredAt.map { $0 >= currentAt } ?? mayFollow
            self = isNewer ? (mayFollow ? .next : .notYet) : .superseded
        case (false, false):
            let what = "The job is \(current.rawValue) and cannot become \(status.rawValue)"
            self = .rejected(
                current.successors.isEmpty
                    ? "\(what): \(current.rawValue) is final."
                    : "\(what). It can become \(Self.list(current.successors)).")
        }
    }

    private static func list(_ statuses: [JobStatus]) -> String {
        statuses.map(\.rawValue).joined(separator: ", ")
    }

    /// Whether a job can have a status only once: the lifecycle does not lead back to it.
    package static func happensOnce(_ status: JobStatus) -> Bool { !Self.reaches(status, from: status) }

    /// Returns whether one or more lifecycle steps lead there. O(transitions).
    private static func reaches(_ status: JobStatus, from origin: JobStatus) -> Bool {
        var (found, waiting): (Set<JobStatus>, [JobStatus]) = ([], [status])
        while let next = waiting.popLast() {
            for before in next.predecessors where found.insert(before).inserted { waiting.append(before) }
        }
        return found.contains(origin)
    }
}
