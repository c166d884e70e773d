import LiveState
import Testing

@testable import enroute

/// Whether a gateway starts, waits or exits, by the findings about both Redis instances.
struct StartDecisionTests {
    private static let clock = Finding(.error, .live, .clock, what: "The clock is ahead.", remedy: "set it")
    private static let memory = Finding(.error, .live, .memory, what: "The memory is full.", remedy: "add some")
    private static let persistence = Finding(.error, .ledger, .persistence, what: "No file.", remedy: "change it")
    private static let down = Finding(.error, .live, .connection, what: "No answer.", remedy: "start it")

    private static func decision(
        _ findings: [Finding], isUnavailable: Bool = false, in mode: DeploymentMode = .production
    ) throws -> StartDecision {
        try StartDecision(
            on: RedisInspection.Outcome(findings: findings, isUnavailable: isUnavailable), in: mode)
    }

    @Test func `a gateway waits while its clock is wrong, as after a boot until it is synchronized`() throws {
        #expect(try Self.decision([Self.clock]) == .wait(.clock, [Self.clock]))
        #expect(try Self.decision([Self.clock, Self.memory]) == .wait(.clock, [Self.clock]))
        #expect(try Self.decision([]) == .start(warnings: []))
    }

    @Test func `a gateway does not wait for a small difference between the clocks`() throws {
        let small = Finding(.warning, .live, .clock, what: "The clock is 300 ms ahead.")
        #expect(try Self.decision([small]) == .start(warnings: []))
    }

    @Test func `an error that only an operator corrects is reported at once, without the clock`() throws {
        let error = #expect(throws: ConfigurationError.self) { try Self.decision([Self.clock, Self.persistence]) }
        let text = "\(try #require(error))"
        #expect(text.contains("No file.") && text.contains("ENROUTE_MODE=development"))
    }

    @Test func `development mode starts with a wrong clock and with an unsuitable Redis`() throws {
        let findings = [Self.clock, Self.persistence]
        #expect(try Self.decision(findings, in: .development) == .start(warnings: findings))
        #expect(throws: ConfigurationError.self) { try Self.decision([Self.down], in: .development) }
    }

    @Test func `a gateway waits for an unavailable Redis before it decides about the other one`() throws {
        let findings = [Self.down, Self.clock, Self.persistence]
        for mode in DeploymentMode.allCases {
            #expect(try Self.decision(findings, isUnavailable: true, in: mode) == .wait(.redis, [Self.down]))
        }
    }
}
