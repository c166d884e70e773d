// Where a status that comes from outside stands to where a job is. Events come more than once and in any order; what orders
// them is the lifecycle, not their arrival. Time decides only where the lifecycle has a circle (preparing, no rider found,
// preparing again), because there a status lies both before and after another.

package import EnrouteWire

/// What is to be done with a status.
package enum EventOrder: Sendable, Hashable {
    /// It may follow.
    case next
    /// The job is there already, or further: nothing is to be done.
    case superseded
    /// What must come before it is not there yet: the sender should repeat it.
    case early
    /// It can never follow; says why.
    case never(String)

    /// - Parameters:
    ///   - currentAt: when the job became `current`, ms since the epoch.
    ///   - occurredAt: when it became `status`; `nil` when nobody says.
    package init(
        _ status: JobStatus, of kind: JobKind, after current: JobStatus, since currentAt: Int64, occurredAt: Int64?
    ) {
        guard kind.statuses.contains(status) else {
            self = .never("A \(kind.rawValue) is never \(status.rawValue).")
            return
        }
        let isBehind = status == current || Self.reaches(current, from: status)
        let isAhead = Self.reaches(status, from: current)
        let mayFollow = status.predecessors.contains(current)
        switch (isBehind, isAhead) {
        case (true, false): self = .superseded
        case (false, true): self = mayFollow ? .next : .early
        case (true, true):
            guard status != current else {
                self = .superseded
                return
            }
            // Without a time: what may follow does, what may not is old.
            let isNewer = occurredAt.map { $0 >= currentAt } ?? mayFollow
            self = isNewer ? (mayFollow ? .next : .early) : .superseded
        case (false, false):
            self = .never("The job is \(current.rawValue); it never becomes \(status.rawValue) from there.")
        }
    }

    /// Whether steps of the lifecycle, one or more, lead there. O(transitions).
    private static func reaches(_ status: JobStatus, from origin: JobStatus) -> Bool {
        var (found, waiting): (Set<JobStatus>, [JobStatus]) = ([], [status])
        while let next = waiting.popLast() {
            for before in next.predecessors where found.insert(before).inserted { waiting.append(before) }
        }
        return found.contains(origin)
    }
}
