// How far a job has come, as a customer is shown it: the steps of its kind, each complete, active, still to come, or never
// to come. A branch (no rider is found) is no step, and no end either: the step that was reached stays the active one.

/// Where one step stands.
public enum StepState: String, Sendable, CaseIterable {
    case complete, active, upcoming, cancelled
}

/// One step of a job's kind.
public struct ProgressStep: Hashable, Sendable {
    public var status: JobStatus
    public var state: StepState

    public init(_ status: JobStatus, _ state: StepState) {
        self.status = status
        self.state = state
    }
}

extension JobStatus {
    /// Whether it is on the way to the end, and no branch off it.
    public var isStep: Bool { self != .cancelled && self != .allocationFailed }
}

extension JobKind {
    /// The statuses that are steps on the way to the end, in their order.
    public var steps: [JobStatus] {
        self.statuses.filter(\.isStep)
    }

    /// The first step that was surely reached by whoever is in `status`.
    private func fewest(before status: JobStatus) -> JobStatus {
        self.steps.first { status.predecessors.contains($0) } ?? self.firstStatus
    }

    /// - Parameters:
    ///   - status: where the job stands.
    ///   - reached: the last step it was in, where `status` is none; `nil` when that is not known: then no more is said to
    ///     be complete than must have been.
    /// - Returns: all steps of the kind, in their order.
    public func progress(at status: JobStatus, reached: JobStatus? = nil) -> [ProgressStep] {
        let steps = self.steps
        let current = steps.contains(status) ? status : reached ?? self.fewest(before: status)
        let place = steps.firstIndex(of: current) ?? 0
        return steps.enumerated().map { index, step in
            if index < place { return ProgressStep(step, .complete) }
            if status == .cancelled { return ProgressStep(step, .cancelled) }
            if index > place { return ProgressStep(step, .upcoming) }
            return ProgressStep(step, status.end == .completed ? .complete : .active)
        }
    }
}
