// Behaves as a rider's phone: signs in, starts travel mode, reports its location and reconnects. It replays a recorded or
// generated trip at a given speed.

import EnrouteClient
import EnrouteWire
import Gateway
import HTTPValues
import Realtime
import Journeys
import Synchronization

/// Replays one journey for one job.
struct Rider: Sendable {
    var url: String
    var token: String
    var trust: ServerTrust
    var job: JobID
    var journey: Journey
    /// The current speed, as a multiple of the recorded one.
    var speed: @Sendable () -> Double
    /// Why the location is unavailable at the moment. With `network` there is no connection either.
    var unavailableReason: @Sendable () -> UnavailableReason? = { nil }
    /// Whether it reports only as often as the gateway requests. It never reports faster than the gateway publishes.
    var followsRequestedRate = false
    /// Called for every refusal.
    var onRefusal: @Sendable (Refusal) -> Void = { _ in }

    /// Counts of a trip.
    struct Summary: Sendable {
        var sent = 0
        /// Fixes of the recording that were skipped between two reports.
        var skipped = 0
        var accepted = 0
        var refused: [ErrorCode: Int] = [:]
        var reconnects = 0
    }

    /// Attempts to reach the gateway, one after the other, before the trip ends.
    static let maxAttempts = 8
    /// How long to wait for the last replies.
    static let lastAnswers = Duration.seconds(2)
    /// The longest time between two checks of the current speed.
    static let stride = Duration.milliseconds(250)

    /// The rider's progress on the trip.
    private struct Progress {
        var next = 0
        /// Time of the recording that has been replayed.
        var elapsed = Duration.zero
        var lookedAt = ContinuousClock.now
        var summary = Summary()
        /// Time of the newest report, in ms. Reports never have the same time, however late this task runs.
        var reportedAt: Int64 = 0

        mutating func advance(by speed: Double) {
            let now = ContinuousClock.now
            self.elapsed += (now - self.lookedAt) * speed
            self.lookedAt = now
        }
    }

    /// Replays from the first fix to the last. Reports carry the time at which they are sent.
    ///
    /// - Throws: `ClientError` when reconnecting would not help, `Unavailable` when travel mode is refused.
    func travel() async throws -> Summary {
        var trip = Progress()
        var backoff = ReconnectBackoff()
        while trip.next < self.journey.fixes.count {
            let before = trip.next
            do {
                while self.unavailableReason() == .network { try await Task.sleep(for: Self.stride) }
                try await GatewayConnection.open(self.url, token: self.token, trust: self.trust) { connection in
                    try await self.travel(connection, &trip)
                }
            } catch let error as ClientError {
                if case .closed(let code, _) = error, !CloseCode.reconnects(after: code) { throw error }
                switch error {
                case .upgradeRefused, .malformedURL: throw error
                default: break
                }
                guard trip.next < self.journey.fixes.count else { break }
                let delay = backoff.next(madeProgress: trip.next > before)
                if case .unreachable = error, backoff.count > Self.maxAttempts { throw error }
                trip.summary.reconnects += 1
                try await Task.sleep(for: delay)
            }
        }
        return trip.summary
    }

    private func travel(_ connection: GatewayConnection, _ trip: inout Progress) async throws {
        let last = Int64(self.journey.fixes.count - 1)
        let (steps, step) = AsyncStream.makeStream(of: Step.self)
        let pace = SharedPace(ReportPace(followsRequestedRate: self.followsRequestedRate))
        let counted = try await withThrowingTaskGroup(of: Summary?.self) { group in
            group.addTask { try await self.listen(connection.messages, step, pace, last: last) }
            defer { group.cancelAll() }
            var stepsTaken = steps.makeAsyncIterator()
            // The stream finishes early if the listener has failed. The group then throws the listener's error.
            guard await stepsTaken.next() == .signedIn else { return try await group.next() ?? nil }
            try await connection.send(.travel(job: self.job, active: true))
            pace.change { $0.sent(at: .now) }
            guard await stepsTaken.next() == .travelling else { return try await group.next() ?? nil }
            guard try await self.report(to: connection, pace, &trip) else { return nil }
            group.addTask {
                try await ContinuousClock().sleep(for: Self.lastAnswers)
                return nil
            }
            if let counted = try await group.next() ?? nil { return counted }
            group.cancelAll()
            return try await group.next() ?? nil
        }
        trip.summary.accepted += counted?.accepted ?? 0
        trip.summary.refused.merge(counted?.refused ?? [:], uniquingKeysWith: +)
    }

    /// The steps before the first report.
    private enum Step { case signedIn, travelling }

    /// Written by the task that receives, read by the one that reports.
    private final class SharedPace: Sendable {
        private let pace: Mutex<ReportPace>

        init(_ pace: ReportPace) { self.pace = Mutex(pace) }

        func change(_ change: (inout sending ReportPace) -> Void) { self.pace.withLock { change(&$0) } }
        func wait() -> Duration { self.pace.withLock { $0.wait(at: .now) } }
        func wait(isLast: Bool) -> Duration { self.pace.withLock { $0.wait(at: .now, isLast: isLast) } }
    }

    private func due(_ index: Int) -> Duration {
        .milliseconds(self.journey.fixes[index].at - self.journey.fixes[0].at)
    }

    /// - Returns: whether it arrived; `false` when the simulated network failed.
    private func report(
        to connection: GatewayConnection, _ pace: SharedPace, _ trip: inout Progress
    ) async throws -> Bool {
        var reported: UnavailableReason?
        let last = self.journey.fixes.count - 1
        while trip.next <= last {
            let due = self.due(trip.next)
            trip.advance(by: self.speed())
            let unavailableReason = self.unavailableReason()
            if unavailableReason == .network { return false }
            if unavailableReason != reported, let unavailableReason {
                let wait = pace.wait()
                guard wait <= .zero else {
                    try await Task.sleep(for: min(Self.stride, wait))
                    continue
                }
                try await connection.send(.unavailable(job: self.job, unavailableReason))
                pace.change { $0.sent(at: .now) }
            }
            reported = unavailableReason
            guard trip.elapsed >= due else {
                try await Task.sleep(for: min(Self.stride, (due - trip.elapsed) / self.speed()))
                continue
            }
            // If several fixes are due, only the newest is sent.
            while trip.next < last, self.due(trip.next + 1) <= trip.elapsed {
                trip.next += 1
                trip.summary.skipped += 1
            }
            let wait = pace.wait(isLast: trip.next == last)
            guard wait <= .zero else {
                try await Task.sleep(for: min(Self.stride, wait))
                continue
            }
            let fix = self.journey.fixes[trip.next]
            trip.reportedAt = max(trip.reportedAt + 1, WallClock.nowMilliseconds)
            if unavailableReason == nil, let reading = Self.reading(of: fix, at: trip.reportedAt) {
                try await connection.send(
                    .location(LocationReport(job: self.job, sequence: Int64(trip.next), fixes: [reading])))
                trip.summary.sent += 1
                pace.change { $0.reported(at: .now) }
            }
            trip.next += 1
        }
        return true
    }

    /// Receives replies until the one to the last report.
    private func listen(
        _ messages: GatewayConnection.Messages, _ step: AsyncStream<Step>.Continuation, _ pace: SharedPace, last: Int64
    ) async throws -> Summary {
        defer { step.finish() }
        var summary = Summary()
        do {
            for try await message in messages {
                switch message {
                case .welcome(let welcome):
                    pace.change { $0.received(welcome.limits) }
                    step.yield(.signedIn)
                case .ok("travel", _, _, _, _): step.yield(.travelling)
                case .rate(let seconds): pace.change { $0.requested(seconds: seconds) }
                case .ok("location", _, let sequence?, _, _):
                    summary.accepted += 1
                    if sequence == last { return summary }
                case .error(let refusal) where refusal.replyTo == "travel" && !refusal.code.isRetryable:
                    throw Unavailable(
                        description: "Travel mode was refused for \(self.job) (\(refusal.code.rawValue)): "
                            + refusal.message)
                // The gateway cannot reach Redis at the moment: retry on a new connection, after a pause.
                case .error(let refusal) where refusal.replyTo == "travel": throw ClientError.connectionLost
                case .error(let refusal):
                    summary.refused[refusal.code, default: 0] += 1
                    if refusal.code == .rateLimited {
                        pace.change { $0.refused(retryInMilliseconds: refusal.retryInMilliseconds, at: .now) }
                    }
                    self.onRefusal(refusal)
                default: continue
                }
            }
        } catch is CancellationError {}
        // The time for the last replies is over.
        if Task.isCancelled { return summary }
        throw ClientError.connectionLost
    }

    /// The fix of the recording as a phone reports it.
    private static func reading(of fix: Journeys.Fix, at: Int64) -> EnrouteWire.Fix? {
        Coordinate(latitude: fix.latitude, longitude: fix.longitude).map { place in
            EnrouteWire.Fix(
                at: at, place: place, accuracyMeters: fix.accuracyMeters.map { min($0, 10_000) },
                speedMetersPerSecond: fix.speedMetersPerSecond.map { min($0, 340) }, headingDegrees: fix.headingDegrees)
        }
    }
}
