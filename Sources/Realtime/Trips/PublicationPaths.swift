// The publication paths of a rider's jobs. A rider usually has one job, so the last path is tried first.

internal import EnrouteWire
internal import LiveState

/// Remembers the publication path of each job that one session reports for.
struct PublicationPaths {
    private let maxJobs: Int
    private var last: LocationPublisher.Path?
    private var paths: [JobID: LocationPublisher.Path] = [:]

    var count: Int { self.paths.count }

    /// - Parameter maxJobs: the maximum number of remembered paths. Beyond it, all are forgotten and encoded again.
    init(maxJobs: Int) { self.maxJobs = maxJobs }

    mutating func path(
        for job: JobID, by rider: PersonID, on reporter: Reporter, _ publisher: LocationPublisher
    ) -> LocationPublisher.Path {
        if let last = self.last, last.job == job, last.rider == rider, last.reporter == reporter { return last }
        let path: LocationPublisher.Path
        if let known = self.paths[job], known.rider == rider, known.reporter == reporter {
            path = known
        } else {
            path = publisher.path(for: job, by: rider, on: reporter)
            if self.paths.count >= self.maxJobs { self.paths = [:] }
            self.paths[job] = path
        }
        self.last = path
        return path
    }
}
