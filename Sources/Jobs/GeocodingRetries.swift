// Looks up addresses again after the geocoding provider did not answer. The addresses are only in memory, because the
// address of a destination is never stored. If the gateway stops, the lookup is repeated when the order system writes
// the job again.

internal import EnrouteWire
internal import Synchronization

/// Repeats lookups with growing pauses until the provider answers. Thread-safe.
package final class GeocodingRetries: Sendable {
    /// A lookup, and what to do with its result.
    package struct Lookup: Sendable {
        /// Names the job and the address, so that the same lookup does not wait twice.
        let name: String
        /// - Returns: whether the lookup is finished.
        let attempt: @Sendable () async -> Bool

        package init(name: String, attempt: @escaping @Sendable () async -> Bool) {
            (self.name, self.attempt) = (name, attempt)
        }
    }

    /// The pauses before the attempts: together about an hour. Each varies by half, so that gateways spread their requests.
    package static let usualPauses: [Duration] = [
        .seconds(5), .seconds(20), .seconds(60), .seconds(300), .seconds(900), .seconds(2400),
    ]
    /// The maximum number of lookups that wait on a gateway. Jobs beyond it keep their state.
    package static let maxWaiting = 1000

    private let pauses: [Duration]
    private let waiting = Mutex<Set<String>>([])
    private let lookups: AsyncStream<Lookup>
    private let input: AsyncStream<Lookup>.Continuation

    package init(pauses: [Duration] = GeocodingRetries.usualPauses) {
        self.pauses = pauses
        (self.lookups, self.input) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.maxWaiting))
    }

    /// Queues a lookup to be repeated later.
    ///
    /// - Returns: whether the lookup will be repeated; `false` if it is waiting already, or too many are.
    @discardableResult
    package func add(_ lookup: Lookup) -> Bool {
        let isNew = self.waiting.withLock { waiting in
            waiting.count < Self.maxWaiting && waiting.insert(lookup.name).inserted
        }
        if isNew { self.input.yield(lookup) }
        return isNew
    }

    /// Repeats lookups until its task is cancelled.
    package func run() async {
        await withDiscardingTaskGroup { group in
            for await lookup in self.lookups { group.addTask { await self.repeatUntilFinished(lookup) } }
            group.cancelAll()
        }
    }

    private func repeatUntilFinished(_ lookup: Lookup) async {
        defer { _ = self.waiting.withLock { $0.remove(lookup.name) } }
        for pause in self.pauses {
            do { try await Task.sleep(for: pause * Double.random(in: 0.5...1.5)) } catch { return }
            if await lookup.attempt() { return }
        }
    }
}
