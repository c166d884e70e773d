// Which party may set which status. Like the lifecycle, this is data. The order system acts for everybody, including the
// vendor, whose app uses it. Operations staff can cancel a job or set `allocationFailed`. The rider and the customer report
// what only they know.

/// The party that changes a job.
public enum JobParty: String, Sendable, CaseIterable {
    case customer, rider, ops, service

    /// Whether the party is one person of each job, named in the job's record.
    public var isOfJob: Bool { self == .customer || self == .rider }
}

extension JobStatus {
    /// The statuses from which `party` may set this one; empty if it never may.
    public func origins(causedBy party: JobParty) -> [JobStatus] {
        switch (party, self) {
        case (.service, _): self.predecessors
        case (.ops, .cancelled), (.ops, .allocationFailed): self.predecessors
        // Picked up, on the way, at the door, done.
        case (.rider, .inTransit), (.rider, .onTheWay), (.rider, .workInProgress), (.rider, .completed):
            self.predecessors
        case (.rider, .delivered): [.inTransit]
        // Before anybody has started to work on it, or when no rider is found.
        case (.customer, .cancelled): [.pendingVendorAcceptance, .assigned, .allocationFailed]
        default: []
        }
    }

    /// Whether `party` may ever set this status.
    public func canBeCaused(by party: JobParty) -> Bool {
        party == .service || !self.origins(causedBy: party).isEmpty
    }
}
