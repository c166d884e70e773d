// A rider and the followers of its job, over WSS, in lockstep: a location is sent when every follower has received the last one
// and the rider its response. So only one location is in flight at a time, and all runs read and write the same number of them
// at once.

import EnrouteClient
import EnrouteWire
import Glibc
import Synchronization

/// The people of one job. Lives as long as the closure it is passed to.
struct Scene {
    /// An event of a connection.
    private enum News: Sendable {
        case follows
        case travels
        /// A location arrived that was measured at that time.
        case shown(at: Int64)
        case accepted(sequence: Int64)
        case failed(String)
    }

    private let rider: GatewayConnection
    private let url: String
    private let certificate: String
    private let customerToken: String
    private let job: JobID
    private let told: AsyncStream<News>.Continuation
    private var news: AsyncStream<News>.Iterator
    private let patience: Patience
    private(set) var followers = 0
    /// Starts where numbers are large enough to have the same number of digits throughout, so that messages have equal length.
    private var sequence: Int64 = 100_000
    private var lastAt: Int64 = 0

    /// Time limit for the next event; a location to 100 followers under callgrind takes about 30 ms.
    static let patience = Duration.seconds(60)

    /// Signs the rider in, switches travel mode on, and runs `body`.
    static func running<Result: Sendable>(
        url: String, certificate: String, job: String, riderToken: String, customerToken: String,
        _ body: (inout Scene, inout ThrowingTaskGroup<Void, any Error>) async throws -> Result
    ) async throws -> Result {
        guard let job = JobID(job) else { throw BenchFailure("\(job) is not a valid job id.") }
        let trust = ServerTrust.authorities(file: certificate)
        return try await GatewayConnection.open(url, token: riderToken, trust: trust) { rider in
            try await withThrowingTaskGroup { group in
                let (news, told) = AsyncStream.makeStream(of: News.self)
                let patience = Patience()
                var scene = Scene(
                    rider: rider, url: url, certificate: certificate, customerToken: customerToken, job: job,
                    told: told, news: news.makeAsyncIterator(), patience: patience)
                defer { group.cancelAll() }
                group.addTask {
                    await patience.watch { told.yield(.failed("nothing arrived for \(Self.patience)")) }
                }
                group.addTask { await Self.listen(rider, told) }
                try await rider.send(.travel(job: job, active: true))
                guard case .travels = try await scene.next() else { throw Self.outOfStep }
                return try await body(&scene, &group)
            }
        }
    }

    /// Adds followers until there are `count`.
    mutating func follow(_ count: Int, _ group: inout ThrowingTaskGroup<Void, any Error>) async throws {
        while self.followers < count {
            let (url, token, job, told) = (self.url, self.customerToken, self.job, self.told)
            let trust = ServerTrust.authorities(file: self.certificate)
            group.addTask {
                do {
                    try await GatewayConnection.open(url, token: token, trust: trust) { connection in
                        try await connection.send(.subscribe(job: job, since: nil))
                        await Self.listen(connection, told)
                    }
                } catch { told.yield(.failed("a follower: \(error)")) }
            }
            guard case .follows = try await self.next() else { throw Self.outOfStep }
            self.followers += 1
        }
    }

    /// Sends this many locations, each when the previous one has arrived everywhere.
    mutating func travel(_ locations: Int) async throws {
        for _ in 0..<locations {
            self.sequence += 1
            self.lastAt = max(self.lastAt + 1, .now)
            // Equal in length and different in content, like a rider's; back and forth by 11 m, so that none is implausible.
            let step = self.sequence % 16
            let latitude = 41.9021 + 0.0001 * Double(min(step, 16 - step))
            guard let place = Coordinate(latitude: latitude, longitude: 12.4964) else { throw Self.outOfStep }
            let fix = Fix(
                at: self.lastAt, place: place, accuracyMeters: 5, speedMetersPerSecond: 8.2, headingDegrees: 47)
            try await self.rider.send(
                .location(LocationReport(job: self.job, sequence: self.sequence, fixes: [fix])))
            var missing = self.followers + 1
            while missing > 0 {
                switch try await self.next() {
                case .shown(self.lastAt), .accepted(self.sequence): missing -= 1
                default: throw Self.outOfStep
                }
            }
        }
    }

    private static let outOfStep = BenchFailure(
        "A message arrived out of turn. Check that the gateway accepts the limits in Stage.swift.")

    private mutating func next() async throws -> News {
        self.patience.extend(by: Self.patience)
        let news = await self.news.next(isolation: #isolation)
        self.patience.extend(by: .seconds(3600))
        switch news {
        case .failed(let reason)?: throw BenchFailure(reason)
        case let news?: return news
        case nil: throw CancellationError()
        }
    }

    /// Runs until the connection ends.
    private static func listen(_ connection: GatewayConnection, _ told: AsyncStream<News>.Continuation) async {
        do {
            for try await message in connection.messages {
                switch message {
                case .location(let location): told.yield(.shown(at: location.fix.at))
                case .subscribed, .reset: told.yield(.follows)
                case .ok("travel", _, _, _, _): told.yield(.travels)
                case .ok("location", _, let sequence?, _, _): told.yield(.accepted(sequence: sequence))
                case .error(let refusal): told.yield(.failed("\(refusal.code.rawValue): \(refusal.message)"))
                default: continue
                }
            }
            told.yield(.failed("the gateway closed a connection"))
        } catch { told.yield(.failed("\(error)")) }
    }
}

/// A deadline that is extended while there is progress.
private final class Patience: Sendable {
    private let deadline = Mutex(ContinuousClock.now + .seconds(3600))

    func extend(by duration: Duration) { self.deadline.withLock { $0 = .now + duration } }

    /// Checks once a second, until the deadline or cancellation.
    func watch(_ onDeadline: @Sendable () -> Void) async {
        while !Task.isCancelled {
            guard self.deadline.withLock({ ContinuousClock.now < $0 }) else { return onDeadline() }
            try? await Task.sleep(for: .seconds(1))
        }
    }
}

extension Int64 {
    /// ms since the epoch.
    fileprivate static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
