import EnrouteWire
import LiveState

extension RunningGateway {
    /// The events of a job in the stream for other systems, in their order.
    func events(about job: JobID) async throws -> [LedgerEvent] {
        let streams = EventStreams(ledger: self.client, settings: self.settings.liveState)
        var events: [LedgerEvent] = []
        for shard in 0..<Keyspace.eventShards {
            events += try await streams.read(shard: shard, after: "0-0").compactMap(\.event)
        }
        return events.filter { $0.subject == job.text }
    }
}

extension ServerMessage {
    /// A subscription ends.
    var isEnd: Bool { if case .ended = self { true } else { false } }
}
