import Testing

@testable import Jobs
@testable import LiveState

/// The section about followers while the report of a gateway is older than the subscriptions and the audit trail.
@Suite struct DepartedFollowersTests {
    /// - Parameters:
    ///   - reported: followers in the gateway's report.
    ///   - departed: how many of them have left since, by the audit trail.
    ///   - subscribers: subscribed event loops.
    private static func watching(
        reported: Int, departed: Int, subscribers: Int
    ) throws -> Explanation.Section {
        let facts = SampleFacts.job { facts in
            var gateway = SampleFacts.gateway("g1", followers: reported)
            gateway.departed = departed
            facts.watching.gateways = .value([gateway])
            facts.watching.feedSubscribers = .value(subscribers)
            facts.watching.eventSubscribers = .value(subscribers)
        }
        let document = SampleFacts.explanation(of: facts)
        return try #require(document.sections.first { $0.name == "watching" })
    }

    @Test func `when the last follower has left, nobody follows the job, and nothing is wrong`() throws {
        let section = try Self.watching(reported: 1, departed: 1, subscribers: 0)
        #expect(section.state == .ok && section.verdict == "Nobody follows the job.")
        #expect(section.facts.contains { $0.text == "g1: 1 follower, reported 2 s ago; 1 left since" }, "\(section)")
    }

    @Test func `followers that have left are not counted`() throws {
        let section = try Self.watching(reported: 3, departed: 1, subscribers: 1)
        #expect(section.state == .ok && section.verdict == "2 followers on g1 (2).")
    }

    @Test func `followers that have not left receive nothing if no event loop is subscribed to their channels`()
        throws
    {
        let section = try Self.watching(reported: 2, departed: 1, subscribers: 0)
        #expect(section.state == .attention && section.verdict.contains("Followers receive no locations"))
    }

    @Test func `a subscription without a reported follower means that one has just started or stopped`() throws {
        let section = try Self.watching(reported: 0, departed: 0, subscribers: 1)
        #expect(section.state == .ok && section.verdict.hasPrefix("Somebody has just started or stopped following"))
    }
}
