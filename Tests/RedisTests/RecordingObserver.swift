import Redis
import Synchronization

/// Records what it observes.
final class RecordingObserver: RedisObserver {
    struct Received: Sendable {
        var errors: [RedisError] = []
        var refusals: [[String]] = []
        var events: [RedisConnectionEvent] = []
        var writes = 0
    }

    private let state = Mutex(Received())
    let isRefusingWrites = true

    var received: Received { self.state.withLock { $0 } }

    func failed(_ error: RedisError) { self.state.withLock { $0.errors.append(error) } }
    func refused(_ names: [String], by command: String) { self.state.withLock { $0.refusals.append(names) } }
    func observed(_ event: RedisConnectionEvent) { self.state.withLock { $0.events.append(event) } }
    func wrote() { self.state.withLock { $0.writes += 1 } }
}
