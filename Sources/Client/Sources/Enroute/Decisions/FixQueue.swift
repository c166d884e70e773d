// The queue of a rider's readings. It is bounded, sends the newest first and not faster than the gateway requests, and
// omits readings that are too old to be accepted. All times are in ms.

import Foundation

struct FixQueue {
    /// The maximum number of queued readings. Beyond it, the oldest are discarded.
    static let mostFixes = 20
    /// The maximum number of readings in one report. If the gateway refuses the newest one, it can show the previous
    /// one.
    static let fixesPerReport = 5
    /// The age at which a gateway refuses a reading.
    static let lifetime = 55_000.0
    /// The maximum number of unanswered reports of different jobs. Beyond it, the oldest are discarded.
    static let mostUnanswered = 20
    /// The maximum number of jobs in one report.
    static let mostJobs = 10
    /// The interval between two reports until the gateway requests another one.
    static let firstInterval = 1_000.0
    /// The intervals that a gateway may request.
    static let intervals = 1_000.0...20_000.0
    /// By how much the local clock may be wrong before reports use the gateway's clock.
    static let clockTolerance = 2_000.0

    struct Reading: Equatable {
        var jobs: [JobID]
        var fix: Fix
        var battery: Double?
        /// ms since the epoch, by the local clock.
        var at: Double
        /// Grows with each reading that is queued.
        var place = 0

        func sharesJob(with other: Reading) -> Bool { self.jobs.contains(where: other.jobs.contains) }
    }

    private var waiting: [Reading] = []
    private var sequence: Int64 = 0
    private var sentAt = -Double.infinity
    private var lastPlace = 0
    /// For each list of jobs, the newest reading that was sent and not answered, by sequence.
    private var unanswered: [(sequence: Int64, reading: Reading)] = []
    private(set) var interval = Self.firstInterval

    var count: Int { self.waiting.count }

    /// Whether a sent report is still unanswered.
    var isUnanswered: Bool { !self.unanswered.isEmpty }

    mutating func setInterval(seconds: Double) {
        guard seconds.isFinite else { return }
        self.interval = min(Self.intervals.upperBound, max(Self.intervals.lowerBound, seconds * 1000))
    }

    /// Adds a reading for jobs in the order of their stops.
    ///
    /// - Throws: if there are no jobs or too many. A reading that no gateway would accept, or that is already queued
    ///   for the same jobs, is left out.
    mutating func add(_ fix: Fix, jobs: [JobID], battery: Double? = nil) throws(EnrouteError) {
        guard (1...Self.mostJobs).contains(jobs.count) else {
            throw EnrouteError(
                .badRequest, "A location can be reported for 1 to \(Self.mostJobs) jobs, not for \(jobs.count).")
        }
        let at = fix.measuredAt.timeIntervalSince1970 * 1000
        guard fix.place.isValid, at.isFinite, abs(at) < 1e15 else { return }
        guard !self.waiting.contains(where: { $0.at == at && $0.jobs == jobs }) else { return }
        self.lastPlace += 1
        self.waiting.append(Reading(jobs: jobs, fix: fix, battery: battery, at: at, place: self.lastPlace))
        self.waiting.sort { ($0.at, $1.place) > ($1.at, $0.place) }
        if self.waiting.count > Self.mostFixes { self.waiting.removeLast(self.waiting.count - Self.mostFixes) }
    }

    /// Returns the time until the next report is due; `nil` if the queue is empty.
    func due(at now: Double) -> Double? {
        self.waiting.isEmpty ? nil : max(0, self.sentAt + self.interval - now)
    }

    /// Returns the report that is due: the newest readings of the jobs that have waited longest. It removes older
    /// readings that share a job with the report, because they are no longer needed. Readings for other jobs remain for
    /// the next reports.
    ///
    /// - Parameter clockOffset: how far the gateway's clock is ahead of the local one, in ms.
    mutating func next(at moment: Moment, clockOffset: Double) -> LocationReport? {
        guard self.due(at: moment.now) == 0 else { return nil }
        let correction = abs(clockOffset) > Self.clockTolerance ? clockOffset : 0
        self.waiting.removeAll { moment.wall - $0.at >= Self.lifetime }
        guard let first = self.waiting.min(by: { $0.place < $1.place }) else { return nil }
        let newest = self.waiting.first { $0.sharesJob(with: first) } ?? first
        let jobs = newest.jobs
        let sent = self.waiting.filter { $0.jobs == jobs }.prefix(Self.fixesPerReport)
        self.waiting.removeAll { $0.at <= newest.at && $0.sharesJob(with: newest) }
        self.sentAt = moment.now
        self.sequence += 1
        self.unanswered.removeAll { $0.reading.jobs == jobs }
        self.unanswered = self.unanswered.suffix(Self.mostUnanswered - 1) + [(self.sequence, newest)]
        return LocationReport(
            jobs: jobs, sequence: self.sequence, fixes: sent.map { $0.reported(correction) },
            battery: newest.battery.within(0...1))
    }

    /// Handles the acceptance or refusal of the report with this number, and of all earlier ones.
    mutating func answered(_ sequence: Int64) {
        self.unanswered.removeAll { $0.sequence <= sequence }
    }

    /// Handles a refused report for this job; `nil` if the refusal contains no job.
    mutating func refused(_ job: JobID?) {
        self.unanswered.removeAll { report in job.map { report.reading.jobs.contains($0) } ?? true }
    }

    /// Handles a lost connection. If a rider stands still, there is no newer reading, so unanswered ones are sent
    /// again.
    mutating func disconnected() {
        self.sentAt = -.infinity
        self.repeatUnanswered()
    }

    /// Queues unanswered readings again, at the usual pace.
    mutating func repeatUnanswered() {
        let readings = self.unanswered.map(\.reading)
        self.unanswered = []
        // The readings were validated when they were first queued.
        for reading in readings { try? self.add(reading.fix, jobs: reading.jobs, battery: reading.battery) }
    }

    /// Discards everything about a job. A reading for several jobs stays for the others.
    mutating func forget(_ job: JobID) {
        for place in self.waiting.indices { self.waiting[place].jobs.removeAll { $0 == job } }
        for place in self.unanswered.indices { self.unanswered[place].reading.jobs.removeAll { $0 == job } }
        self.waiting.removeAll(where: \.jobs.isEmpty)
        self.unanswered.removeAll(where: \.reading.jobs.isEmpty)
    }
}

extension FixQueue.Reading {
    /// Leaves out members that are outside of the gateway's range.
    fileprivate func reported(_ correction: Double) -> ReportedFix {
        func digits(_ degrees: Double) -> Double { (degrees * 1e7).rounded() / 1e7 }
        let course = self.fix.course.flatMap { $0.isFinite ? $0 : nil }.map {
            ($0.truncatingRemainder(dividingBy: 360) + 360).truncatingRemainder(dividingBy: 360)
        }
        return ReportedFix(
            at: Int64((self.at + correction).rounded()), latitude: digits(self.fix.place.latitude),
            longitude: digits(self.fix.place.longitude), accuracy: self.fix.accuracy.within(0...10_000),
            speed: self.fix.speed.within(0...340), course: course,
            isMocked: self.fix.isMocked == true)
    }
}

extension Double? {
    fileprivate func within(_ range: ClosedRange<Double>) -> Double? {
        self.flatMap { range.contains($0) ? $0 : nil }
    }
}
