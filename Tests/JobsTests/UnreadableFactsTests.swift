import EnrouteWire
import Testing

@testable import Jobs
@testable import LiveState

/// What could not be read is not explained as if it were absent.
@Suite struct UnreadableFactsTests {
    private static func visibility(_ change: (inout JobFacts) -> Void) throws -> Explanation.Section {
        let document = SampleFacts.explanation(of: SampleFacts.job(change))
        return try #require(document.sections.first { $0.name == "visibility" })
    }

    @Test func `tracking links are unknown if the audit trail cannot be read`() throws {
        let section = try Self.visibility { $0.watching.sessions = .failed(SampleFacts.outage) }
        #expect(section.state == .unknown && section.verdict == "Unknown: the ledger Redis is unavailable.")
        let links = try #require(section.facts.first { $0.name == "links" })
        #expect(links.text == "unknown, because the audit trail could not be read")
        let malformed = try Self.visibility { $0.watching.sessions = .malformed(key: "access") }
        #expect(malformed.state == .attention && malformed.verdict.contains("The data in access is malformed"))
        let revoked = try Self.visibility {
            $0.watching.sessions = .failed(SampleFacts.outage)
            $0.revocations.job = SampleFacts.now - 60_000
        }
        #expect(revoked.verdict.contains("the job was revoked"), "this is known")
        let none = try Self.visibility { _ in }
        #expect(none.facts.contains { $0.text == "none was opened recently; others are not listed" })
    }

    @Test func `a rider's availability is unknown if the pool cannot be read`() throws {
        var facts = RiderFacts(rider: SampleFacts.rider, now: SampleFacts.now)
        facts.zone = .value(ZoneID("rome")!)
        let state = ["online", "1", "1", "1", "\(SampleFacts.now - 10_000)", "phone", "7", "\(SampleFacts.now)", ""]
        facts.record = .value(try #require(RiderRecord(state, tasks: [])))
        facts.isInPool = .failed(SampleFacts.outage)
        let document = RiderExplanation(facts, settings: LiveStateSettings()).document
        let section = try #require(document.sections.first { $0.name == "availability" })
        #expect(section.state == .unknown && section.verdict == "Unknown: the ledger Redis is unavailable.")
        #expect(!section.facts.contains { $0.name == "in_pool" })
    }
}
