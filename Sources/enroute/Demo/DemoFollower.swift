// Measures what followers experience: it follows your order and a few of the town's, through the same port as the
// customer's page.

import EnrouteClient
import EnrouteWire
import Foundation
import HTTPValues
import Journeys
import NIOCore
import Synchronization
import TrafficControl

/// A follower of your order and of some of the town's. Thread-safe.
final class DemoFollower: Sendable {
    /// The number of latencies that are evaluated.
    static let newest = 200
    /// Maximum number of jobs; a session may follow 200.
    static let maxJobs = 150
    private static let pause = Duration.milliseconds(100)
    private static let pollPause = Duration.milliseconds(20)

    private struct State {
        var jobs: Set<JobID> = []
        /// Sends to the current connection.
        var change: AsyncStream<ClientMessage>.Continuation?
        var latencies = LatencyWindow(capacity: DemoFollower.newest)
        var received = 0
        var disconnects = 0
        var isConnected = false
        /// When the newest location arrived, and the time of its fix.
        var locationAt: ContinuousClock.Instant?
        var fixAt: Int64 = 0
        /// The newest location of your order.
        var yours: (fix: EnrouteWire.Fix, receivedAt: ContinuousClock.Instant)?
        var unavailable: UnavailableReason?
        /// The number of locations of your order that were far from its rider.
        var strange = 0
    }

    private let state = Mutex(State())
    private let orders: DemoOrders
    private let controls: DemoControls
    private let socket: String
    private let trust: ServerTrust

    init(orders: DemoOrders, controls: DemoControls, socket: String, trust: ServerTrust) {
        (self.orders, self.controls, self.socket, self.trust) = (orders, controls, socket, trust)
    }

    func follow(_ job: JobID) {
        self.state.withLock { state in
            guard state.jobs.count < Self.maxJobs, state.jobs.insert(job).inserted else { return }
            state.change?.yield(.subscribe(job: job, since: nil))
        }
    }

    func unfollow(_ job: JobID) {
        self.state.withLock { state in
            guard state.jobs.remove(job) != nil else { return }
            state.change?.yield(.unsubscribe(job: job))
        }
    }

    /// Follows until it is cancelled, and reconnects whenever the connection is lost.
    func run() async throws {
        while !Task.isCancelled {
            do {
                let token = try await self.orders.token(of: .operations)
                try await GatewayConnection.open(self.socket, token: token, trust: self.trust) { connection in
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        defer { group.cancelAll() }
                        let changes = self.changes()
                        group.addTask { for await message in changes { try await connection.send(message) } }
                        group.addTask { for try await message in connection.messages { self.receive(message) } }
                        try await group.next()
                    }
                }
            } catch  where !Task.isCancelled {
                // The gateway was killed, or has not started yet.
            }
            self.state.withLock { state in
                if state.isConnected { state.disconnects += 1 }
                state.isConnected = false
            }
            try await Task.sleep(for: Self.pause)
        }
    }

    /// The subscriptions of a new connection, followed by changes for as long as it is the current one.
    private func changes() -> AsyncStream<ClientMessage> {
        let (changes, change) = AsyncStream.makeStream(
            of: ClientMessage.self, bufferingPolicy: .bufferingNewest(Self.maxJobs * 2))
        self.state.withLock { state in
            for job in state.jobs { change.yield(.subscribe(job: job, since: nil)) }
            state.change?.finish()
            state.change = change
        }
        return changes
    }

    private func receive(_ message: ServerMessage) {
        let yours = self.controls.order?.job
        switch message {
        case .welcome: self.state.withLock { $0.isConnected = true }
        case .unavailable(let job, _, let reason) where job == yours: self.state.withLock { $0.unavailable = reason }
        case .location(let location):
            let (now, isYours) = (WallClock.nowMilliseconds, location.job == yours)
            let isStrange = isYours && self.isFar(location.fix.place)
            self.state.withLock { state in
                state.received += 1
                state.latencies.add(.milliseconds(max(0, now - location.fix.at)))
                state.locationAt = .now
                state.fixAt = max(state.fixAt, location.fix.at)
                guard isYours else { return }
                state.yours = (location.fix, .now)
                state.unavailable = nil
                if isStrange { state.strange += 1 }
            }
        default: break
        }
    }

    /// Whether a place is farther from your rider than the rider can have moved.
    private func isFar(_ place: Coordinate) -> Bool {
        let reading = self.controls.phone.reading(at: 0)
        return abs(place.latitude - reading.latitude) > DemoPhone.jump / 2
    }

    // MARK: results

    /// What followers have experienced so far.
    struct Measured: Sendable {
        var p50Milliseconds: Double?
        var p95Milliseconds: Double?
        var received: Int
        var disconnects: Int
        var isConnected: Bool
        var locationAt: ContinuousClock.Instant?
        /// The time of the newest fix, in ms since the epoch.
        var fixAt: Int64
        /// When the newest location of your order arrived.
        var yoursAt: ContinuousClock.Instant?
        /// The time of its fix, in ms since the epoch.
        var yoursFixAt: Int64
        var unavailable: UnavailableReason?
        var strange: Int
    }

    var measured: Measured {
        self.state.withLock { state in
            Measured(
                p50Milliseconds: state.latencies.percentile(50), p95Milliseconds: state.latencies.percentile(95),
                received: state.received, disconnects: state.disconnects, isConnected: state.isConnected,
                locationAt: state.locationAt, fixAt: state.fixAt, yoursAt: state.yours?.receivedAt,
                yoursFixAt: state.yours?.fix.at ?? 0, unavailable: state.unavailable, strange: state.strange)
        }
    }

    /// Waits until a condition is met.
    ///
    /// - Returns: how long that took; `nil` after the maximum time.
    func time(
        until longest: Duration, _ isSo: @Sendable (Measured) -> Bool
    ) async throws -> Duration? {
        let start = ContinuousClock.now
        while ContinuousClock.now - start < longest {
            if isSo(self.measured) { return ContinuousClock.now - start }
            try await Task.sleep(for: Self.pollPause)
        }
        return nil
    }
}
