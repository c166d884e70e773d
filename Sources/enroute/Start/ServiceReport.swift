// Decides what systemd is notified of, and when: readiness, reloads, the stop, and the watchdog. `ServiceReporter` sends it.
//
// `READY=1` is sent when the gateway accepts clients, so `systemctl restart` returns when the next gateway may be restarted. A
// gateway that waits for Redis repeatedly extends its start timeout (`EXTEND_TIMEOUT_USEC`), because it would not start sooner
// if systemd killed it.

/// The state of a service as its service manager knows it. A value; times are nanoseconds of CLOCK_MONOTONIC.
struct ServiceReport {
    /// What the gateway reports about itself.
    struct Health: Hashable, Sendable {
        /// The text of `/readyz`.
        var readiness: String
        /// How long the slowest event loop is overdue, in milliseconds.
        var silentMilliseconds = 0
    }

    private enum Phase { case starting, serving, stopping }

    /// The time that each message of a start in progress requests.
    static let startExtension: UInt64 = 30_000_000_000
    /// Time between two such requests.
    static let startExtensionInterval: UInt64 = 5_000_000_000
    /// An event loop that is overdue by this much counts as stuck. Readiness fails after the same time.
    static let stuckMilliseconds = 2_000

    /// The watchdog's time limit; `nil` if the unit has none.
    let watchdog: UInt64?
    private var phase = Phase.starting
    private var isReloading = false
    private var status: String?
    private var nextExtension: UInt64 = 0
    private var nextFeed: UInt64 = 0

    init(watchdog: UInt64?) { self.watchdog = watchdog }

    /// How often `tick` must be called, in nanoseconds. It is called often enough to feed the watchdog in time, even if one
    /// call finds an event loop late.
    var tickInterval: UInt64 { max(10_000_000, min(1_000_000_000, (self.watchdog ?? .max) / 8)) }

    /// Returns the messages that are due.
    mutating func tick(_ health: Health, now: UInt64) -> [ServiceMessage] {
        var messages: [ServiceMessage] = []
        let answers = health.silentMilliseconds < Self.stuckMilliseconds
        switch self.phase {
        case .starting where answers && now >= self.nextExtension:
            self.nextExtension = now + Self.startExtensionInterval
            messages.append(.extendTimeout(microseconds: Self.startExtension / 1000))
        case .serving where answers && now >= self.nextFeed:
            guard let watchdog = self.watchdog else { break }
            self.nextFeed = now + watchdog / 2
            messages.append(.watchdog)
        case .starting, .serving, .stopping: break
        }
        if self.phase != .stopping, !self.isReloading { messages += self.changed(to: health.readiness) }
        return messages
    }

    /// The gateway accepts clients.
    mutating func started(_ health: Health, now: UInt64) -> [ServiceMessage] {
        guard self.phase == .starting else { return [] }
        self.phase = .serving
        // systemd starts the watchdog's timer when the service is ready.
        self.nextFeed = now + (self.watchdog ?? 0) / 2
        return [.ready] + self.changed(to: health.readiness)
    }

    /// Returns nothing unless the gateway serves. Otherwise, `READY=1` after the reload would end the start or the
    /// stop.
    mutating func reloading(now: UInt64) -> [ServiceMessage] {
        guard self.phase == .serving, !self.isReloading else { return [] }
        self.isReloading = true
        return [.reloading(monotonicMicroseconds: now / 1000)] + self.changed(to: "reading the TLS files again")
    }

    mutating func reloaded(_ health: Health) -> [ServiceMessage] {
        guard self.phase == .serving, self.isReloading else { return [] }
        self.isReloading = false
        return [.ready] + self.changed(to: health.readiness)
    }

    /// - Parameter limit: the longest time that the stop takes, in nanoseconds.
    mutating func stopping(limit: UInt64) -> [ServiceMessage] {
        guard self.phase != .stopping else { return [] }
        self.phase = .stopping
        return [.stopping] + self.changed(to: "stopping: clients are asked to reconnect to another gateway")
            + [.extendTimeout(microseconds: limit / 1000)]
    }

    private mutating func changed(to status: String) -> [ServiceMessage] {
        guard status != self.status else { return [] }
        self.status = status
        return [.status(status)]
    }
}
