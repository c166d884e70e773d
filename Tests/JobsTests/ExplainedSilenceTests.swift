import Testing

@testable import Jobs
@testable import LiveState

/// What the explanation of a job says about gateways that have stopped reporting.
@Suite struct ExplainedSilenceTests {
    private static func verdict(_ names: [String]) throws -> String {
        let facts = SampleFacts.job { facts in
            facts.watching.gateways = .value(
                names.map { GatewayFacts(id: $0, at: SampleFacts.now - 30_000, health: .absent) })
        }
        let document = SampleFacts.explanation(of: facts)
        return try #require(document.sections.first { $0.name == "watching" }).verdict
    }

    @Test func `one gateway is described in the singular, and several in the plural`() throws {
        #expect(
            try Self.verdict(["g1-x"]).contains(
                "g1-x stopped reporting 30 s ago: it has stopped, or cannot reach Redis; its followers are not counted."
            ))
        #expect(
            try Self.verdict(["g1-x", "g2-y", "g3-z"]).contains(
                "g1-x, g2-y and g3-z stopped reporting 30 s ago: "
                    + "they have stopped, or cannot reach Redis; their followers are not counted."))
    }
}
