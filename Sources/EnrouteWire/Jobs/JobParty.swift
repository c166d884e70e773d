// Who may cause which status. Data, like the lifecycle itself: the order system speaks for everybody (the vendor too, whose
// app talks to it), operations can end and hold up, and the two people of a job do what only they know to have happened.

/// As whom somebody changes a job.
public enum JobParty: String, Sendable, CaseIterable {
    case customer, rider, ops, service

    /// It is one person of each job, named in its record.
    public var isOfJob: Bool { self == .customer || self == .rider }
}

extension JobStatus {
    /// The statuses from which `party` may cause this one; none: it may never.
    public func origins(causedBy party: JobParty) -> [JobStatus] {
        switch (party, self) {
        case (.service, _): self.predecessors
        case (.ops, .cancelled), (.ops, .allocationFailed): self.predecessors
        // Picked up, on its way, at the door, done.
        case (.rider, .inTransit), (.rider, .onTheWay), (.rider, .workInProgress), (.rider, .completed):
            self.predecessors
        case (.rider, .delivered): [.inTransit]
        // Before anybody has begun with it, or when nobody is found to bring it.
        case (.customer, .cancelled): [.pendingVendorAcceptance, .assigned, .allocationFailed]
        default: []
        }
    }

    /// Whether `party` may cause it at all.
    public func canBeCaused(by party: JobParty) -> Bool {
        party == .service || !self.origins(causedBy: party).isEmpty
    }
}
