// The message `subscribe`, for one job or for several.

/// A job to follow, and where to resume.
public struct Subscription: Hashable, Sendable {
    public var job: JobID
    /// The last status that was seen; `nil` to start with the current state.
    public var since: ResumePoint?

    public init(job: JobID, since: ResumePoint? = nil) {
        self.job = job
        self.since = since
    }
}

extension ClientMessage {
    /// Reads `subscribe`, with `job` or with `jobs`.
    static func subscribe(from reader: inout JSONReader) throws(BadMessage) -> Self {
        var members = Members("subscribe")
        var (job, since, jobs) = (JobID?.none, ResumePoint?.none, [Subscription]?.none)
        try reader.object { (name, reader) throws(BadMessage) in
            if name.equals("job") {
                try members.once(0)
                job = try reader.identifier("job")
            } else if name.equals("since") {
                try members.once(1)
                since = reader.null() ? nil : try ResumePoint(from: &reader)
            } else if name.equals("jobs") {
                try members.once(2)
                jobs = try Self.subscriptions(from: &reader)
            } else {
                try reader.value()
            }
        }
        switch (job, jobs) {
        case (let job?, nil): return .subscribe(job: job, since: since)
        case (nil, let jobs?) where since == nil: return .subscribeAll(jobs)
        default: throw BadMessage("subscribe needs either job and optionally since, or jobs")
        }
    }

    /// Reads job ids, or objects with `job` and `since`.
    private static func subscriptions(from reader: inout JSONReader) throws(BadMessage) -> [Subscription] {
        var subscriptions: [Subscription] = []
        try reader.array { (reader) throws(BadMessage) in
            guard subscriptions.count < Limits.subscribeJobs else {
                throw BadMessage("jobs must contain 1 to \(Limits.subscribeJobs) jobs")
            }
            subscriptions.append(try Subscription(from: &reader))
        }
        guard !subscriptions.isEmpty else { throw BadMessage("jobs must contain 1 to \(Limits.subscribeJobs) jobs") }
        return subscriptions
    }

    /// The message as a client sends it.
    static func encoded(_ subscriptions: [Subscription]) -> [UInt8] {
        JSONWriter.message("subscribe") { writer in
            writer.array("jobs", subscriptions) { writer, subscription in
                guard let since = subscription.since else { return writer.text(subscription.job.text) }
                writer.object { writer in
                    writer.field("job", subscription.job.text)
                    writer.object("since") { since.write(into: &$0) }
                }
            }
        }
    }
}

extension Subscription {
    init(from reader: inout JSONReader) throws(BadMessage) {
        guard reader.isAtObject else {
            self.init(job: try reader.identifier("each of jobs"))
            return
        }
        var members = Members("each of jobs")
        var (job, since) = (JobID?.none, ResumePoint?.none)
        try reader.object { (name, reader) throws(BadMessage) in
            if name.equals("job") {
                try members.once(0)
                job = try reader.identifier("job")
            } else if name.equals("since") {
                try members.once(1)
                since = reader.null() ? nil : try ResumePoint(from: &reader)
            } else {
                try reader.value()
            }
        }
        self.init(job: try members.required(job, "job"), since: since)
    }
}

extension ResumePoint {
    func write(into writer: inout JSONWriter) {
        writer.field("epoch", self.epoch)
        writer.field("id", self.id.description)
    }
}
