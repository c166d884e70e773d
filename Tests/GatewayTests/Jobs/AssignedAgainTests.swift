import Access
import EnrouteWire
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import Jobs

/// A job returns to its rider at one gateway while another one has still to release the rider's old task.
@Suite struct AssignedAgainTests: TaskRaces {
    private static let rounds = 100

    /// - Parameter holder: who has the job in between; `nil` for nobody.
    @Test(arguments: [nil, "rider-2"])
    func `a job that returns to its rider while another gateway takes it away is a task of its rider alone`(
        instead name: String?
    ) async throws {
        let holder = name.flatMap { PersonID($0) }
        try await Self.run(capacity: 5) { gateway, first, second in
            var isTheirs: Set<Bool> = []
            for number in 0..<Self.rounds {
                let job = try await Self.order(number, first)
                async let away = try? first.assign(job, to: .some(holder), of: nil, by: Self.actor).get()
                async let back = try? second.assign(job, to: .some(Self.rider), of: nil, by: Self.actor).get()
                async let again = try? second.assign(job, to: .some(Self.rider), of: nil, by: Self.actor).get()
                _ = await (away, back, again)
                let (has, should) = try await Self.holders(of: job, gateway)
                #expect(has == should, "order \(number)")
                isTheirs.insert(should == [Self.rider.text])
                _ = try await first.change(job, to: .cancelled, by: Self.actor, source: "rest").get()
            }
            #expect(isTheirs.contains(true))
        }
    }

    @Test func `a task that was released before the record named its rider becomes a task again`() async throws {
        try await Self.run(capacity: 5) { gateway, first, second in
            let job = try await Self.order(1, first)
            // What an assignment to the same rider does before the record is written.
            let task = try await second.acquireTask(job, for: Self.rider, from: nil, by: Self.actor).get()
            #expect(task?.isNew == false)
            try await first.release(job, of: Self.rider, because: .reassigned, by: Self.actor).get()
            #expect(try await Self.holders(of: job, gateway).has.isEmpty)
            try await second.confirmTask(job, task, of: Self.rider, by: Self.actor).get()
            let (has, should) = try await Self.holders(of: job, gateway)
            #expect(has == [Self.rider.text] && should == has)
        }
    }
}
