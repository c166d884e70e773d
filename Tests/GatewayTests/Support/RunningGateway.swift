// A real gateway on a free port, with a real redis-server and real TLS, for the duration of a test.

import Access
import Embedded
import EnrouteClient
import EnrouteWire
import Foundation
import Gateway
import Realtime
import LiveState
import Logging
import NIOCore
import NIOPosix
import Redis
import SecureSocket
import ServiceLifecycle
import TestSupport
import Tracking

struct RunningGateway: Sendable {
    let port: Int
    /// The port of the management listener.
    let management: Int
    /// The Redis server started for it; `nil` if the test has its own.
    let redis: RedisServer?
    let settings: GatewaySettings
    /// The PEM file of the CA to trust.
    let certificate: String
    let mint: TokenMint
    let client: RedisClient
    /// The event loops that it runs on.
    let loops: [any EventLoop]
    /// Stops the gateway immediately.
    let stop: @Sendable () -> Void
    /// Starts a graceful shutdown, like SIGTERM.
    let drain: @Sendable () -> Void

    var ledger: JobLedger { JobLedger(ledger: self.client, settings: self.settings.liveState) }
    var feed: JobFeed { JobFeed(live: self.client, settings: self.settings.liveState) }
    var url: String { "\(self.settings.credentials == nil ? "ws" : "wss")://localhost:\(self.port)" }

    /// - Parameters:
    ///   - isSecure: whether to use TLS; `false` is like a gateway behind a load balancer.
    ///   - addresses: the test's own Redis servers; without them one is started.
    ///   - logger: the gateway's logger; `nil` for standard output with the level in ENROUTE_TEST_LOG.
    ///   - change: changes the default settings.
    static func run(
        isSecure: Bool = true, at addresses: (live: RedisAddress, ledger: RedisAddress)? = nil, logger: Logger? = nil,
        _ change: @escaping @Sendable (inout GatewaySettings) -> Void = { _ in },
        _ body: @escaping @Sendable (RunningGateway) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-test-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let files = try DevelopmentCertificate().write(to: folder)
        let credentials = try TLSCredentials(certificateChain: files.certificate, privateKey: files.key)
        let secret = "a secret of at least thirty-two bytes"
        let tokens = TokenVerifier(keys: [try await .hs256(secret: secret)], issuer: "test", audience: "test")
        let mint = try await TokenMint(secret: secret, issuer: "test", audience: "test")
        let run = { @Sendable (live: RedisAddress, ledger: RedisAddress, redis: RedisServer?) in
            var settings = GatewaySettings(
                host: "127.0.0.1", port: 0, credentials: isSecure ? credentials : nil, live: live, ledger: ledger,
                tokens: tokens)
            settings.drainAccept = .zero
            settings.drain = .seconds(1)
            settings.management = ("127.0.0.1", 0)
            // Most tests have no webhooks, and some watch every command.
            settings.webhooks.isDelivering = false
            // Generous limits, so that tests of other things do not fail on a busy machine.
            settings.limits.signInSeconds = 30
            settings.overload.loopLagMilliseconds = 60_000
            settings.maxRevocationAge = .seconds(30)
            // All clients of a test have the same address.
            settings.limits.sessionsPerAddress = 0
            change(&settings)
            try await self.run(settings, redis, files.certificate, mint, logger, body)
        }
        // A gateway costs as much as one or two servers, so the number of concurrent tests is limited.
        try await Turns.servers.take {
            if let addresses { return try await run(addresses.live, addresses.ledger, nil) }
            try await RedisServer.running { redis in
                let address = try RedisAddress(url: redis.url)
                try await run(address, address, redis)
            }
        }
    }

    private static func run(
        _ settings: GatewaySettings, _ redis: RedisServer?, _ certificate: String, _ mint: TokenMint,
        _ given: Logger?, _ body: @escaping @Sendable (RunningGateway) async throws -> Void
    ) async throws {
        var logger = given ?? Logger(label: "test")
        logger.logLevel =
            given?.logLevel ?? ProcessInfo.processInfo.environment["ENROUTE_TEST_LOG"].flatMap {
                Logger.Level(rawValue: $0)
            } ?? .critical
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        let loop = group.next()
        let client = try await loop.submit { [logger] in
            RedisClient(address: settings.ledger, eventLoop: loop, logger: logger)
        }.get()
        try await client.start().get()
        let (ports, listening) = AsyncStream.makeStream(of: GatewayServer.Ports.self)
        let gateway = GatewayServer(settings: settings, group: group, logger: logger) { listening.yield($0) }
        // Stopped below, or earlier by a test of the shutdown.
        let process = ServiceGroup(
            configuration: .init(
                services: [.init(service: gateway, successTerminationBehavior: .ignore)], logger: logger))
        let running = Task {
            defer { listening.finish() }
            try await process.run()
        }
        if let ports = await ports.first(where: { _ in true }) {
            let gateway = RunningGateway(
                port: ports.gateway, management: ports.management ?? 0, redis: redis, settings: settings,
                certificate: certificate, mint: mint, client: client, loops: Array(group.makeIterator()),
                stop: { running.cancel() },
                // Not awaited, because the gateway stops by itself or is stopped below.
                drain: { Task { await process.triggerGracefulShutdown() } })
            let outcome = await Result { try await body(gateway) }
            running.cancel()
            try outcome.get()
        }
        try await running.value
        client.stop()
        try await group.shutdownGracefully()
    }

    /// Returns the response of the management listener.
    func manage(_ path: String) async throws -> (status: Int, text: String) {
        let management = self.management
        let answer = try await blocking {
            let socket = try RawSocket(port: management)
            try socket.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return String(decoding: try socket.readToEnd(), as: UTF8.self)
        }
        let parts = answer.split(separator: "\r\n\r\n", maxSplits: 1)
        return (Int(answer.dropFirst(9).prefix(3)) ?? 0, parts.count > 1 ? String(parts[1]) : "")
    }

    /// Polls until `isSo` returns `true`, slowly enough to leave the CPU to the gateway.
    func eventually(
        _ path: String, _ isSo: ((status: Int, text: String)) -> Bool
    ) async throws -> Bool {
        try await becomes("what \(path) should say", within: Self.patience, every: Self.pace) {
            try await isSo(self.manage(path))
        }
        return true
    }

    /// Waits until the metrics contain this line.
    func waitForMetric(_ line: String) async throws {
        try await becomes("the metrics have \(line)", within: Self.patience, every: Self.pace) {
            try await self.manage("/metrics").text.contains(line)
        }
    }

    /// Waits until this many sessions are signed in, of all roles together.
    func waitForSessions(_ count: Double) async throws {
        try await becomes("\(count) sessions are open", within: Self.patience, every: Self.pace) {
            let samples = try await self.manage("/metrics").text.matches(
                of: /(?m)^enroute_sessions_open\{role="[a-z]+"\} (\S+)$/)
            return samples.compactMap { Double($0.1) }.reduce(0, +) == count
        }
    }

    /// The maximum time to wait; some events occur only once a minute.
    private static let patience = Duration.seconds(240)
    private static let pace = Duration.milliseconds(10)

    func token(_ person: String, _ role: Role, lifetime: Int64 = 900) async throws -> String {
        try await self.mint.token(
            for: PersonID(person)!, role: role, now: Int64(Date.now.timeIntervalSince1970), lifetime: lifetime)
    }

    /// Creates a job that is on its way, so its rider may switch travel mode on.
    func travellingJob(
        _ name: String = "job-1", kind: JobKind = .service, customer: String = "anna", rider: String = "rider-1",
        zone: ZoneID? = nil, at destination: Coordinate? = Coordinate(latitude: 41.9, longitude: 12.5),
        epoch: String? = nil
    ) async throws -> JobID {
        let job = JobID(name)!
        _ = try await self.ledger.create(
            NewJob(
                job: job, kind: kind, customer: PersonID(customer)!, rider: PersonID(rider)!, zone: zone,
                destination: destination, actor: PersonID("service")!),
            epoch: epoch ?? "epoch-\(name)"
        ).get()
        let statuses: [JobStatus] =
            kind == .service ? [.onTheWay] : [.accepted, .preparing, .readyForPickup, .inTransit]
        for status in statuses {
            _ = try await self.ledger.publish(status, of: job, by: PersonID("service")!, source: "event").get()
        }
        return job
    }

    /// Creates a rider that may go online.
    func registerRider(
        _ rider: String = "rider-1", in zone: String = "rome", isApproved: Bool = true, capacity: Int = 1
    ) async throws {
        _ = try await self.riders.describe(
            PersonID(rider)!, in: ZoneID(zone)!, isApproved: isApproved, capacity: capacity,
            by: .init(PersonID("service")!)
        ).get()
    }

    func connect<Result: Sendable>(
        _ person: String, _ role: Role,
        _ body: (GatewayConnection, inout GatewayConnection.Messages.AsyncIterator) async throws -> Result
    ) async throws -> Result {
        try await GatewayConnection.open(
            self.url, token: try await self.token(person, role), trust: .authorities(file: self.certificate)
        ) { connection in
            var messages = connection.messages.makeAsyncIterator()
            return try await body(connection, &messages)
        }
    }
}

extension Limits {
    /// Disables rate limits, for tests of other things.
    mutating func allowManyMessages() {
        (self.messagesPerSecond, self.messagesBurst) = (1_000_000, 1_000_000)
        (self.messagesPerPersonPerSecond, self.messagesPerPersonBurst) = (1_000_000, 1_000_000)
        (self.messagesPerAddressPerSecond, self.messagesPerAddressBurst) = (1_000_000, 1_000_000)
    }
}

extension LocationValidator.Bounds {
    /// Accepts every jump, for tests whose riders are somewhere else at once.
    mutating func allowJumps() {
        self.vehicle = VehicleBounds(usualMetersPerSecond: 1e9, acceleration: 1e9, jitterMeters: 1e9, unrest: 1e9)
        self.fastestMetersPerSecond = 1e9
    }
}

/// The connection closed before the expected message arrived.
struct Missing: Error {}

/// An operation took longer than it ever should.
struct TookTooLong: Error {}

/// Fails if `body` does not finish in time. This only stops hanging tests; it is not a measurement, because a test may have had
/// to wait for its turn.
func within<Result: Sendable>(
    _ bound: Duration = .seconds(400), _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await withThrowingTaskGroup(of: Result.self) { group in
        group.addTask { try await body() }
        group.addTask {
            try await ContinuousClock().sleep(for: bound)
            throw TookTooLong()
        }
        defer { group.cancelAll() }
        guard let first = try await group.next() else { throw TookTooLong() }
        return first
    }
}

extension GatewayConnection.Messages.AsyncIterator {
    /// Returns the next message for which `choose` returns a value, skipping earlier ones.
    mutating func first<Result>(_ choose: (ServerMessage) throws -> Result?) async throws -> Result {
        while let message = try await self.next() {
            if let result = try choose(message) { return result }
        }
        throw Missing()
    }

    mutating func subscribed() async throws -> Snapshot {
        try await self.first { message in
            switch message {
            case .subscribed(_, let snapshot): snapshot
            case .error(let refusal): throw refusal.code
            default: nil
            }
        }
    }

    mutating func refusal() async throws -> Refusal {
        try await self.first { if case .error(let refusal) = $0 { refusal } else { nil } }
    }

    mutating func location() async throws -> Location {
        try await self.first { if case .location(let location) = $0 { location } else { nil } }
    }

    /// Switches travel mode on, or returns the error code.
    mutating func travelAnswer() async throws -> Int64? {
        try await self.first { message -> Int64?? in
            switch message {
            case .ok("travel", _, _, let deadline, _): .some(deadline)
            case .error(let refusal): throw refusal.code
            default: nil
            }
        }
    }
}

extension GatewayConnection {
    /// Reports one fix captured now, `step` hundred-thousandths of a degree along a street.
    func report(_ job: JobID, step: Int, sequence: Int? = nil) async throws {
        let place = Coordinate(latitude: 41.9 + Double(step) / 100_000, longitude: 12.5)!
        try await self.send(
            .location(
                LocationReport(
                    job: job, sequence: Int64(sequence ?? step),
                    fixes: [Fix(at: Self.captureTime.next(), place: place, accuracyMeters: 5)])))
    }

    private static let captureTime = CaptureTimes()
}

/// Times that increase by at least a millisecond, like those of a phone's fixes.
private final class CaptureTimes: @unchecked Sendable {
    private let lock = NSLock()
    private var last: Int64 = 0

    func next() -> Int64 {
        self.lock.withLock {
            self.last = max(self.last + 1, Int64(Date.now.timeIntervalSince1970 * 1000))
            return self.last
        }
    }
}

extension Result where Failure == any Error {
    init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
