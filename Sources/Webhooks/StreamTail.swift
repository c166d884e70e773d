// The ends of the stream's shards. All webhooks of a gateway share them, so that an idle webhook reads no shard.

package import LiveState

/// The newest entries of the shards, read at most once in each interval, for any number of readers.
package actor StreamTail {
    private let streams: EventStreams
    private var newest: [String] = []
    private var readAt: ContinuousClock.Instant?
    private var reading: Task<[String], any Error>?

    /// How long the result of a read is used.
    package static let interval: Duration = .milliseconds(200)

    package init(_ streams: EventStreams) { self.streams = streams }

    /// The id of each shard's newest entry, at most an interval ago.
    package func ends() async throws -> [String] {
        if let readAt, ContinuousClock.now - readAt < Self.interval { return self.newest }
        if let reading { return try await reading.value }
        let streams = self.streams
        let task = Task { try await streams.newest() }
        self.reading = task
        defer { self.reading = nil }
        self.newest = try await task.value
        self.readAt = ContinuousClock.now
        return self.newest
    }
}
