// The progress of a job as a customer sees it: the steps of its kind, each complete, active, upcoming or cancelled. A
// branch (no rider is found) is neither a step nor an end: the step that was reached stays active.

/// The state of one step.
public enum StepState: String, Sendable, CaseIterable {
    case complete, active, upcoming, cancelled
}

/// One step of a job.
public struct ProgressStep: Hashable, Sendable {
    public var status: JobStatus
    public var state: StepState

    public init(_ status: JobStatus, _ state: StepState) {
        self.status = status
        self.state = state
    }
}

extension JobStatus {
    /// Whether this status is a step, and not a branch.
    public var isStep: Bool { self != .cancelled && self != .allocationFailed }
}

extension JobKind {
    /// The statuses that are steps, in order.
    public var steps: [JobStatus] {
        self.statuses.filter(\.isStep)
    }

    /// The first step that a job in `status` must have reached.
    private func fewest(before status: JobStatus) -> JobStatus {
        self.steps.first { status.predecessors.contains($0) } ?? self.firstStatus
    }

    /// - Parameters:
    ///   - status: the job's status.
    ///   - reached: the last step before `status`, if `status` is not a step. With `nil`, only the steps that must have
    ///     been reached count as complete.
    /// - Returns: all steps of the kind, in order.
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

extension ProgressStep {
    init(from reader: inout JSONReader) throws(BadMessage) {
        let members = Members("step")
        var (status, state) = (JobStatus?.none, StepState?.none)
        try reader.object { (name, reader) throws(BadMessage) in
            if name.equals("status") {
                status = try reader.status()
            } else if name.equals("state") {
                state = StepState(rawValue: try reader.string())
            } else {
                try reader.value()
            }
        }
        self.init(try members.required(status, "status"), try members.required(state, "state"))
    }
}
