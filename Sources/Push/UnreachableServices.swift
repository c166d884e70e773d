// Push services that cannot be reached. While one rests, its messages fail at once. Otherwise they would occupy the
// places of messages to other services, each for three attempts and their time limits.

internal import Synchronization

/// The push services that this gateway could not reach, by origin. Thread-safe.
final class UnreachableServices: Sendable {
    /// How long no message is sent to a service after one could not reach it.
    static let rest = Duration.seconds(60)
    /// Maximum number of services. Browsers name them, so there may be any number.
    static let most = 1_000

    private let restsUntil = Mutex<[String: ContinuousClock.Instant]>([:])

    /// Returns whether a message may be sent. After a rest, one message finds out whether the service can be reached;
    /// the others wait for its outcome, at most for another rest.
    func admits(_ origin: String, now: ContinuousClock.Instant = .now) -> Bool {
        self.restsUntil.withLock { services in
            guard let until = services[origin] else { return true }
            guard until <= now else { return false }
            services[origin] = now + Self.rest
            return true
        }
    }

    /// Reports that all attempts to send a message failed without a response.
    func add(_ origin: String, now: ContinuousClock.Instant = .now) {
        self.restsUntil.withLock { services in
            if services.count >= Self.most { services = services.filter { $0.value > now } }
            guard services.count < Self.most || services[origin] != nil else { return }
            services[origin] = now + Self.rest
        }
    }

    /// Reports a response.
    func remove(_ origin: String) {
        self.restsUntil.withLock { $0[origin] = nil }
    }
}
