// A correction: services and operations staff return a job from a wrong status to the right one, with a reason.

/// The response to a correction.
public struct CorrectedStatus: Hashable, Sendable {
    public var job: JobID
    /// The new entry of the log.
    public var event: StatusEvent
    /// The status that was wrong.
    public var corrected: JobStatus
    /// The rider who has the job now; `nil` for none, for example because it could not be assigned to the previous
    /// rider again.
    public var rider: PersonID?

    public init(job: JobID, event: StatusEvent, corrected: JobStatus, rider: PersonID?) {
        (self.job, self.event, self.corrected, self.rider) = (job, event, corrected, rider)
    }

    /// Maximum length of a reason, in Unicode scalars.
    public static let longestReason = 200

    /// Whether a text can be a reason: one line, not only spaces, without control characters.
    public static func isReason(_ text: String) -> Bool { ShownText.isLine(text, longest: Self.longestReason) }

    public var json: [UInt8] {
        var writer = JSONWriter(capacity: 256)
        writer.object { writer in
            writer.field("job", self.job.text)
            writer.field("epoch", self.event.epoch)
            writer.field("prev", self.event.previous?.description ?? "")
            writer.field("id", self.event.id.description)
            writer.field("status", self.event.status.rawValue)
            writer.field("at", self.event.at)
            writer.field("corrected", self.corrected.rawValue)
            writer.field("rider", self.rider?.text)
        }
        return writer.bytes
    }
}

extension JobKind {
    /// The last step that counts as reached, for a job that is returned to `status`.
    ///
    /// - Parameter reached: the last step before the correction. A status that is not a step keeps it, if the status may
    ///   follow that step.
    public func reached(returningTo status: JobStatus, from reached: JobStatus?) -> JobStatus {
        guard !status.isStep else { return status }
        let before = self.steps.filter { status.predecessors.contains($0) }
        if let reached, before.contains(reached) { return reached }
        return before.last ?? self.firstStatus
    }
}
