import LiveState
import Redis
import Testing

/// The findings about several masters, without a server.
@Suite struct InspectionMastersTests {
    private static func master(_ name: String, _ findings: [Finding], keys: Set<RedisRole> = []) -> InspectedMaster {
        var facts = RedisFacts(
            role: .live, connection: RedisConnectionInfo(RedisAddress(endpoint: .cluster([]))), info: "run_id:\(name)")
        facts.keys = keys
        return InspectedMaster(name: name, facts: facts, findings: findings)
    }

    private static let version = Finding(.ok, .live, .version, what: "Redis 7.0.15.")
    private static let clean = Finding(.ok, .live, .persistence, what: "Nothing is written to disk.")
    private static let persists = Finding(
        .error, .live, .persistence, what: "It persists.", why: "w", remedy: "redis-cli -p 2")

    @Test func `findings that differ contain their master, and equal ones are reported once`() {
        let masters = [
            Self.master("a:1", [Self.clean, Self.version]), Self.master("b:2", [Self.persists, Self.version]),
            Self.master("c:3", [Self.clean, Self.version]),
        ]
        #expect(
            masters.findings.map(\.what) == [
                "b:2: It persists.", "Redis 7.0.15.", "a:1: Nothing is written to disk.",
                "c:3: Nothing is written to disk.",
            ])
        #expect(masters.findings.first?.remedy == "redis-cli -p 2")
    }

    @Test func `findings about a single master do not contain its name`() {
        #expect([Self.master("a:1", [Self.persists])].findings == [Self.persists])
        #expect([InspectedMaster]().findings == [] && [InspectedMaster]().together == nil)
    }

    @Test func `the keys of all masters count`() {
        let facts = [Self.master("a:1", [], keys: [.live]), Self.master("b:2", [], keys: [.ledger])].together
        #expect(facts?.keys == [.live, .ledger] && facts?.runID == "a:1")
    }
}
