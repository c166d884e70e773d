// The arrivals of the jobs that are followed on one event loop, in ten parts. Each tick checks one part, so each job is checked
// once a second and the work is spread.

internal import EnrouteWire

/// The followed arrivals by job.
struct ArrivalTable {
    /// `Deadlines.tick` is a tenth of a second.
    private static let ticksOfASecond = 10

    private var parts = Array(repeating: [JobID: FollowedArrival](), count: ArrivalTable.ticksOfASecond)
    /// The part to check.
    private var part = 0

    subscript(job: JobID) -> FollowedArrival? {
        get { self.parts[Self.part(of: job)][job] }
        set { self.parts[Self.part(of: job)][job] = newValue }
    }

    private static func part(of job: JobID) -> Int { Int(UInt(bitPattern: job.hashValue) % UInt(self.ticksOfASecond)) }

    /// Records a location. Called for every one, so the entry is modified in place.
    mutating func received(position frame: [UInt8], of job: JobID) {
        self.parts[Self.part(of: job)][job]?.received(position: frame)
    }

    /// Continues with the next part.
    mutating func tick() { self.part = (self.part + 1) % Self.ticksOfASecond }

    /// Every part has been checked since this was last `true`.
    var isNewRound: Bool { self.part == 0 }

    /// Whether the part to check contains any jobs.
    var hasJobsToCheck: Bool { !self.parts[self.part].isEmpty }

    /// Checks the jobs of the part.
    ///
    /// - Returns: what to do, except for jobs whose step is to wait. It is done afterwards, because it may change the jobs.
    mutating func steps(now: UInt64, wall: Int64) -> [(job: JobID, step: FollowedArrival.Step)] {
        let part = self.part
        var steps: [(job: JobID, step: FollowedArrival.Step)] = []
        var index = self.parts[part].startIndex
        while index != self.parts[part].endIndex {
            if !self.parts[part].values[index].isSettled(now: now) {
                let step = self.parts[part].values[index].next(now: now, wall: wall)
                if step != .wait { steps.append((self.parts[part].keys[index], step)) }
            }
            self.parts[part].formIndex(after: &index)
        }
        return steps
    }
}
