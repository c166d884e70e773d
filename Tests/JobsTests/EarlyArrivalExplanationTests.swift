import EnrouteWire
import Testing
import Tracking

@testable import Jobs
@testable import LiveState

/// What the explanation of a delivery says about its arrival while there is no recent position of its rider.
@Suite struct EarlyArrivalExplanationTests {
    /// A delivery of a rider who has sent no position.
    private static func facts(_ change: (inout JobRecord) -> Void = { _ in }) -> JobFacts {
        SampleFacts.job { facts in
            facts.record = .value(
                SampleFacts.record {
                    ($0.kind, $0.status, $0.isTravelling, $0.travelDeadline) = (.delivery, .preparing, false, nil)
                    $0.acceptedAt = SampleFacts.now - 700_000
                    $0.vendor = PickupPlace(place: Coordinate(latitude: 41.88, longitude: 12.48))
                    change(&$0)
                })
            (facts.travel, facts.position, facts.verdicts) = (.absent, .absent, .absent)
        }
    }

    private static func section(
        _ facts: JobFacts, early: EarlyArrival.Settings = .init()
    ) throws -> Explanation.Section {
        let document = SampleFacts.explanation(of: facts, early: early)
        return try #require(document.sections.first { $0.name == "eta" })
    }

    private static func arrival(_ facts: JobFacts) throws -> Explanation.Value {
        try #require(try Self.section(facts).facts.first { $0.name == "arrives" }?.value)
    }

    @Test func `while an order is prepared, the explanation has the arrival time that followers see`() throws {
        let facts = Self.facts()
        let view = JobView(
            JobLedger.Recovery(record: try #require(facts.record.value)), JobFeed.State(), early: .init(),
            now: SampleFacts.now, freshness: .seconds(30))
        let arrivesAt = try #require(view.snapshot.eta?.arrivesAt)
        let section = try Self.section(facts)
        #expect(section.state == .ok && section.verdict.hasPrefix("Arrival at "), "\(section.verdict)")
        #expect(section.verdict.hasSuffix("because the rider has sent no position yet."), "\(section.verdict)")
        #expect(try Self.arrival(facts) == .number(arrivesAt))
        #expect(section.facts.contains { $0.name == "source" && $0.text == "built_in" })
    }

    @Test func `the same until the first position of a rider who is on the way`() throws {
        var facts = Self.facts {
            ($0.status, $0.isTravelling, $0.travelDeadline) = (.inTransit, true, SampleFacts.deadline)
        }
        facts.travel = .value(.init(fence: 2, deadline: SampleFacts.deadline, rider: SampleFacts.rider))
        #expect(try Self.section(facts).verdict.hasPrefix("Arrival at "))
        facts.position = .value(SampleFacts.position(age: 3_000))
        #expect(try !Self.section(facts).verdict.hasPrefix("Arrival at "))
    }

    @Test func `a stored arrival time of an earlier trip does not hide it`() throws {
        var facts = Self.facts()
        facts.estimate = .value(
            .init(
                fence: 1,
                estimate: ArrivalEstimate(
                    state: .ok, arrivesAt: SampleFacts.now, seconds: 1, source: "osrm", confidence: .medium,
                    at: SampleFacts.now - 1_000)))
        #expect(try Self.arrival(facts) == Self.arrival(Self.facts()))
    }

    @Test func `it depends on the acceptance, the promised time, and the vehicle of the job and of the rider's card`()
        throws
    {
        let usual = try Self.arrival(Self.facts())
        #expect(try Self.arrival(Self.facts { $0.acceptedAt = SampleFacts.now - 650_000 }) != usual)
        let now = SampleFacts.now
        let window = try #require(TimeWindow(from: now + 7_200_000, until: now + 9_000_000))
        #expect(try Self.arrival(Self.facts { $0.display = JobDisplay(window: window) }) != usual)
        let onFoot = try Self.arrival(Self.facts { $0.display = JobDisplay(vehicle: .foot) })
        #expect(onFoot != usual)
        var facts = Self.facts()
        facts.riderCard = .value(RiderCard(vehicle: .foot))
        #expect(try Self.arrival(facts) == onFoot)
    }

    @Test func `while followers see an old position, the explanation does not say that they see an arrival time`()
        throws
    {
        let facts = SampleFacts.job {
            $0.position = .value(SampleFacts.position(age: 60_000))
            let estimate = ArrivalEstimate(
                state: .ok, arrivesAt: SampleFacts.now + 300_000, seconds: 300, source: "osrm", confidence: .medium,
                at: SampleFacts.now - 60_000)
            $0.estimate = .value(.init(fence: 2, estimate: estimate))
        }
        let section = try Self.section(facts)
        #expect(section.state == .attention)
        #expect(section.verdict == "The stored arrival time is not shown: there is no recent position.")
        #expect(!section.facts.contains { $0.name == "arrives" })
    }

    @Test func `no arrival time is explained if arrival times before the pickup are switched off`() throws {
        let section = try Self.section(Self.facts(), early: .off)
        #expect(section.state == .ok && section.verdict == "No arrival time: travel mode is not on.")
        #expect(!section.facts.contains { $0.name == "arrives" })
    }
}
