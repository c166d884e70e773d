// The connections of a scene: riders and followers over WSS. Their messages arrive as one sequence of events, which the
// scene awaits step by step, or counts afterwards.

import EnrouteClient
import EnrouteWire
import Glibc
import Synchronization

/// A message that one of the connections received.
enum Received: Sendable {
    case opened(GatewayConnection)
    case welcome
    case subscribed
    /// An `ok` to a message other than `location`.
    case done(replyTo: String)
    /// The rider's location was published.
    case accepted(sequence: Int64)
    /// A follower received a location that was measured at that time.
    case location(at: Int64)
    case estimate(job: JobID, ArrivalEstimate)
    case status(job: JobID)
    case failed(String)
}

/// The connections of one scene. They are closed when the closure that `with` runs returns.
struct Clients {
    private let stage: Stage
    private let told: AsyncStream<Received>.Continuation
    private var events: AsyncStream<Received>.Iterator
    private let patience = Patience()
    private var tasks: [Task<Void, Never>] = []

    /// Time limit for the next event. A location to 100 followers under callgrind takes about 30 ms.
    static let longestWait = Duration.seconds(60)

    private init(_ stage: Stage) {
        let (events, told) = AsyncStream.makeStream(of: Received.self)
        (self.stage, self.told, self.events) = (stage, told, events.makeAsyncIterator())
        let patience = self.patience
        self.tasks.append(
            Task { await patience.watch { told.yield(.failed("nothing arrived for \(Self.longestWait)")) } })
    }

    static func with<Result>(_ stage: Stage, _ body: (inout Clients) async throws -> Result) async throws -> Result {
        var clients = Clients(stage)
        defer { clients.tasks.forEach { $0.cancel() } }
        return try await body(&clients)
    }

    /// Opens a connection and waits until it is signed in.
    mutating func connect(_ token: String) async throws -> GatewayConnection {
        let (url, trust, told) = (self.stage.url, ServerTrust.authorities(file: self.stage.certificate), self.told)
        self.tasks.append(
            Task {
                do {
                    try await GatewayConnection.open(url, token: token, trust: trust) { connection in
                        told.yield(.opened(connection))
                        await Self.listen(connection, told)
                    }
                } catch { told.yield(.failed("a connection: \(error)")) }
            })
        while true {
            guard case .opened(let connection) = try await self.next() else { continue }
            try await self.expect { if case .welcome = $0 { true } else { false } }
            return connection
        }
    }

    /// Opens a connection that follows the job.
    @discardableResult
    mutating func follow(_ job: JobID, token: String) async throws -> GatewayConnection {
        let connection = try await self.connect(token)
        try await self.subscribe(connection, to: job)
        return connection
    }

    mutating func subscribe(_ connection: GatewayConnection, to job: JobID) async throws {
        try await connection.send(.subscribe(job: job, since: nil))
        try await self.expect { if case .subscribed = $0 { true } else { false } }
    }

    /// Sends a message and waits for its `ok`.
    mutating func perform(_ message: ClientMessage, on connection: GatewayConnection) async throws {
        try await connection.send(message)
        try await self.expect { if case .done(message.type) = $0 { true } else { false } }
    }

    /// Waits for this many such events, and discards the others.
    mutating func expect(_ count: Int = 1, _ isExpected: (Received) -> Bool) async throws {
        var missing = count
        while missing > 0 {
            if isExpected(try await self.next()) { missing -= 1 }
        }
    }

    /// The next event.
    mutating func next() async throws -> Received {
        self.patience.extend(by: Self.longestWait)
        let event = await self.events.next(isolation: #isolation)
        self.patience.extend(by: Patience.unlimited)
        switch event {
        case .failed(let reason)?: throw BenchFailure(reason)
        case let event?: return event
        case nil: throw CancellationError()
        }
    }

    /// Runs until the connection closes.
    private static func listen(_ connection: GatewayConnection, _ told: AsyncStream<Received>.Continuation) async {
        do {
            for try await message in connection.messages {
                switch message {
                case .welcome: told.yield(.welcome)
                case .location(let location): told.yield(.location(at: location.fix.at))
                case .subscribed, .reset: told.yield(.subscribed)
                case .ok("location", _, let sequence?, _, _): told.yield(.accepted(sequence: sequence))
                case .ok(let replyTo, _, _, _, _): told.yield(.done(replyTo: replyTo))
                case .eta(let job, let estimate): told.yield(.estimate(job: job, estimate))
                case .status(let job, _): told.yield(.status(job: job))
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
    static let unlimited = Duration.seconds(3600)
    private let deadline = Mutex(ContinuousClock.now + Patience.unlimited)

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
    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
