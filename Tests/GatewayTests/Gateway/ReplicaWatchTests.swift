import Logging
import Telemetry
import Testing

@testable import Gateway

/// The reports about a Redis that loses a replica.
struct ReplicaWatchTests {
    @Test func `a lost replica is a warning with the number that is left, and its return is logged too`() {
        let lines = RecordedLines()
        let watch = ReplicaWatch(addresses: [.live: "a:1", .ledger: "b:1"], logger: lines.logger)
        for replicas in [2, 2, nil, 2, 1, nil, 1, 2] { watch.observe(replicas, of: .ledger) }
        for replicas in [0, 0] { watch.observe(replicas, of: .live) }
        #expect(lines.all.map(\.level) == [.warning, .notice])
        #expect(lines.all.map(\.message) == ["redis has fewer replicas", "redis has more replicas"])
        let metadata = lines.all[0].metadata
        #expect(metadata["role"] == "ledger" && metadata["redis"] == "b:1" && metadata["replicas"] == "1")
        #expect("\(metadata["reason"] ?? "")".hasPrefix("2 were connected before"))
        #expect(lines.all[1].metadata["replicas"] == "2")
    }

    @Test func `a replica that was lost while Redis did not answer is reported when it answers again`() {
        let lines = RecordedLines()
        let watch = ReplicaWatch(addresses: [:], logger: lines.logger)
        for replicas in [1, nil, 0] { watch.observe(replicas, of: .live) }
        #expect(lines.all.map(\.message) == ["redis has fewer replicas"])
    }

    @Test func `the gauge has a sample for each Redis that answers`() {
        let watch = ReplicaWatch(addresses: [:], logger: RecordedLines().logger)
        #expect(!watch.text.contains("role="))
        watch.observe(2, of: .live)
        watch.observe(0, of: .ledger)
        #expect(watch.text.contains(#"enroute_redis_replicas{role="live"} 2.0"#))
        #expect(watch.text.contains(#"enroute_redis_replicas{role="ledger"} 0.0"#))
        watch.observe(nil, of: .live)
        #expect(!watch.text.contains(#"role="live""#) && watch.text.contains(#"role="ledger""#))
    }
}

extension ReplicaWatch {
    fileprivate var text: String { Exposition.text(Counts(), [self.gauge]) }
}
