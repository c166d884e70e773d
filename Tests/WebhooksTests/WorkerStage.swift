import HTTPValues
import LiveState
import Logging
import Redis
import Synchronization
import Telemetry
import TestSupport
import Testing
import Webhooks

/// One webhook whose lease is held, and what observes its delivery.
struct WorkerStage: Sendable {
    let client: RedisClient
    let store: WebhookStore
    let settings: WebhookSettings
    let endpoint = MemoryEndpoint()
    let counts = SharedCounts()
    let log = LogLines()
    let keyspace = Keyspace()

    static let id = "wh_1"
    private static let me = "gateway-1"

    static func set(
        patience: Duration = .milliseconds(50),
        retries: RetrySchedule = RetrySchedule(Array(repeating: .milliseconds(1), count: 20)),
        _ body: (WorkerStage) async throws -> Void
    ) async throws {
        try await withRedis { client, _ in
            var settings = try WebhookSettings()
            settings.patience = patience
            settings.fullPause = .milliseconds(20)
            settings.retries = retries
            let stage = WorkerStage(
                client: client, store: WebhookStore(ledger: client, settings: LiveStateSettings()), settings: settings)
            try await stage.add(Self.id)
            try await body(stage)
        }
    }

    func add(_ id: String) async throws {
        let webhook = Webhook(
            id: id, url: "https://shop.example/", kinds: [], secrets: [.init(text: "whsec_a", expiresAt: 0)],
            createdAt: WallClock.nowMilliseconds)
        #expect(try await self.store.add(webhook))
        #expect(try await self.store.lease(of: id, holder: Self.me).hold())
        // Nothing renews it here, and a busy machine may need longer than it lasts.
        try await self.client.run("PEXPIRE", self.keyspace.lease(ofWebhook: id), "600000")
    }

    func worker(_ id: String, _ tail: StreamTail) -> EndpointWorker {
        let endpoint = self.endpoint
        return EndpointWorker(
            id: id, holder: Self.me, store: self.store, tail: tail, settings: self.settings, counts: self.counts,
            logger: self.log.logger
        ) { event, _, _ in await endpoint.accept(event) }
    }

    /// Runs the worker of the webhook while `body` runs.
    func running(_ body: () async throws -> Void) async throws {
        let worker = self.worker(Self.id, StreamTail(self.store.streams))
        let task = Task { await worker.run() }
        do {
            try await body()
        } catch {
            task.cancel()
            self.endpoint.release()
            await task.value
            throw error
        }
        task.cancel()
        await task.value
    }

    /// Appends an event for each of these jobs, numbered from `first` on.
    func append(_ subjects: [String], from first: Int = 0) async throws {
        for (index, subject) in subjects.enumerated() {
            let event = LedgerEvent(
                id: "e.\(first + index)", kind: .closed, time: 1_763_856_000_000, subject: subject, data: "{}")
            try await self.store.streams.append(event).get()
        }
    }

    func record() async throws -> Webhook { try #require(try await self.store.read(Self.id)) }

    /// Makes Redis look as if this many events waited.
    func fill(_ waiting: Int) async throws {
        try await self.client.run("HSET", self.keyspace.webhook(Self.id), "waiting", "\(waiting)")
    }

    /// How often Redis has processed a command.
    func calls(of command: String) async throws -> Int {
        let text = try await self.client.run("INFO", "commandstats").text ?? ""
        let line = text.split(whereSeparator: \.isNewline).first { $0.hasPrefix("cmdstat_\(command):calls=") }
        return line?.firstMatch(of: /calls=(\d+)/).flatMap { Int($0.1) } ?? 0
    }

    /// Number of commands that Redis has processed.
    func commands() async throws -> Int {
        let text = try await self.client.run("INFO", "stats").text ?? ""
        return try #require(text.firstMatch(of: /total_commands_processed:(\d+)/).flatMap { Int($0.1) })
    }
}

/// An endpoint that records what it receives.
final class MemoryEndpoint: Sendable {
    private struct State {
        var sent: [(subject: String, id: String)] = []
        var delivered: [(subject: String, id: String)] = []
        var answer: @Sendable (WaitingEvent) -> WebhookSender.Result = { _ in .delivered }
        var delay: @Sendable (WaitingEvent) -> Duration = { _ in .zero }
        var held: String?
    }

    private let state = Mutex(State())

    func answer(_ answer: @escaping @Sendable (WaitingEvent) -> WebhookSender.Result) {
        self.state.withLock { $0.answer = answer }
    }

    func delay(_ delay: @escaping @Sendable (WaitingEvent) -> Duration) { self.state.withLock { $0.delay = delay } }

    /// Does not answer requests about a job until `release`.
    func hold(_ subject: String) { self.state.withLock { $0.held = subject } }
    func release() { self.state.withLock { $0.held = nil } }

    func sent(_ subject: String) -> [String] {
        self.state.withLock { $0.sent.filter { $0.subject == subject }.map(\.id) }
    }

    func delivered(_ subject: String) -> [String] {
        self.state.withLock { $0.delivered.filter { $0.subject == subject }.map(\.id) }
    }

    func accept(_ event: WaitingEvent) async -> WebhookSender.Result {
        let (answer, delay) = self.state.withLock { state in
            state.sent.append((event.subject, event.id))
            return (state.answer, state.delay(event))
        }
        if delay > .zero { await pause(delay) }
        while self.state.withLock({ $0.held }) == event.subject, !Task.isCancelled { await pause(.milliseconds(2)) }
        let result = answer(event)
        if result == .delivered { self.state.withLock { $0.delivered.append((event.subject, event.id)) } }
        return result
    }
}

/// The messages of a logger.
final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])

    func count(_ part: String) -> Int { self.lines.withLock { $0.filter { $0.contains(part) }.count } }
    func add(_ line: String) { self.lines.withLock { $0.append(line) } }
    var logger: Logger { Logger(label: "test") { _ in LineHandler(lines: self) } }
}

private struct LineHandler: LogHandler {
    let lines: LogLines
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) { self.lines.add("\(event.message)") }
}
