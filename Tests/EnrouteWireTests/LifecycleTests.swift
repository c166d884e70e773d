import EnrouteWire
import Testing

@Suite struct LifecycleTests {
    /// All statuses of the kind that are reachable from a status, including itself.
    private func reachable(from first: JobStatus, in statuses: [JobStatus]) -> Set<JobStatus> {
        var found: Set<JobStatus> = [first]
        while true {
            let next = statuses.filter { !found.contains($0) && $0.predecessors.contains(where: found.contains) }
            if next.isEmpty { return found }
            found.formUnion(next)
        }
    }

    @Test(arguments: JobKind.allCases)
    func `exactly the statuses of a kind are reachable from its first one`(kind: JobKind) {
        #expect(self.reachable(from: kind.firstStatus, in: JobStatus.allCases) == Set(kind.statuses))
        #expect(Set(kind.statuses).count == kind.statuses.count)
        #expect(kind.statuses.first == kind.firstStatus)
    }

    @Test func `every status belongs to a kind`() {
        #expect(Set(JobKind.allCases.flatMap(\.statuses)) == Set(JobStatus.allCases))
    }

    @Test func `only the first status has no predecessor`() {
        let first = Set(JobKind.allCases.map(\.firstStatus))
        for status in JobStatus.allCases { #expect(status.predecessors.isEmpty == first.contains(status), "\(status)") }
    }

    @Test func `no status follows itself, and no predecessor is duplicated`() {
        for status in JobStatus.allCases {
            #expect(!status.predecessors.contains(status))
            #expect(Set(status.predecessors).count == status.predecessors.count)
        }
    }

    @Test func `nothing follows the end, and the end is reachable from every other status`() {
        let ends: Set<JobStatus> = [.delivered, .completed, .cancelled]
        for status in JobStatus.allCases {
            let successors = status.successors
            #expect(successors == JobStatus.allCases.filter { $0.predecessors.contains(status) })
            #expect((status.end != nil) == ends.contains(status))
            #expect(successors.isEmpty == ends.contains(status), "\(status)")
            #expect(!self.reachable(from: status, in: JobStatus.allCases).isDisjoint(with: ends))
        }
    }

    @Test func `every job that has not ended can be cancelled`() {
        #expect(Set(JobStatus.cancelled.predecessors) == Set(JobStatus.allCases.filter { $0.end == nil }))
    }

    @Test func `a rider shares its position while in transit or on the way, and in no other status`() {
        #expect(Set(JobStatus.allCases.filter(\.allowsTravel)) == [.inTransit, .onTheWay])
        #expect(JobStatus.travelling == [.inTransit, .onTheWay])
    }

    @Test func `travel mode ends with every status that may follow a travelling one`() {
        for status in JobStatus.allCases where status.predecessors.contains(where: \.allowsTravel) {
            #expect(status.endOfTravel != nil, "\(status)")
        }
        for status in JobStatus.travelling { #expect(status.endOfTravel == nil) }
    }

    @Test func `every end has its reason`() {
        #expect(JobStatus.delivered.end == .completed)
        #expect(JobStatus.completed.end == .completed)
        #expect(JobStatus.cancelled.end == .cancelled)
        #expect(JobStatus.workInProgress.end == nil)
        #expect(JobStatus.workInProgress.endOfTravel == .arrived)
    }

    @Test func `the names on the wire are unique words joined by underscores`() {
        let names =
            JobStatus.allCases.map(\.rawValue) + EndReason.allCases.map(\.rawValue)
            + TrackingState.allCases.map(\.rawValue)
        for name in names {
            #expect(name.utf8.allSatisfy { (97...122).contains($0) || $0 == 95 } && name.utf8.count <= 40)
        }
        #expect(Set(JobStatus.allCases.map(\.rawValue)).count == JobStatus.allCases.count)
    }
}
