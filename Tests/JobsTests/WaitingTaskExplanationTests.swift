import EnrouteWire
import Testing

@testable import Jobs
@testable import LiveState

/// Explanations of a job that its rider had before they entered their zone.
@Suite struct WaitingTaskExplanationTests {
    private static func section(_ change: (inout JobFacts) -> Void) throws -> Explanation.Section {
        let facts = SampleFacts.job(change)
        let document = JobExplanation(facts, settings: LiveStateSettings(), freshness: .seconds(30)).document
        return try #require(document.sections.first { $0.name == "job" })
    }

    @Test func `the explanation says that the job is not a task until the rider goes online`() throws {
        let section = try Self.section {
            $0.record = .value(SampleFacts.record { $0.status = .assigned })
            ($0.riderZone, $0.isRiderJoining) = (.value(ZoneID("rome")!), .value(true))
        }
        let verdict = "The job is open: assigned. It becomes a task when rider-1 goes online in zone rome."
        #expect(section.state == .ok && section.verdict == verdict)
        let fact = try #require(section.facts.first { $0.name == "task" })
        #expect(fact.text == "not yet: rider-1 has to go online in zone rome" && fact.value == .flag(false))
    }

    @Test func `a task, a job of a rider without a zone and a job that has ended do not wait`() throws {
        let rome = Reading.value(ZoneID("rome")!)
        let others: [(status: JobStatus, zone: Reading<ZoneID>, isJoining: Reading<Bool>)] = [
            (.assigned, rome, .value(false)), (.assigned, .absent, .absent), (.cancelled, rome, .value(true)),
        ]
        for other in others {
            let section = try Self.section {
                $0.record = .value(SampleFacts.record { $0.status = other.status })
                ($0.riderZone, $0.isRiderJoining) = (other.zone, other.isJoining)
            }
            #expect(section.state == .ok && !section.verdict.contains("task"), "\(section.verdict)")
            #expect(!section.facts.contains { $0.name == "task" })
        }
    }
}
