import LiveState
import Logging
import Redis
import Synchronization
import Telemetry
import TestSupport
import Testing
import Webhooks

/// The delivery to one endpoint, with a real Redis and an endpoint in memory.
@Suite(.needsMachine(for: .faults)) struct EndpointWorkerTests {
    @Test func `a full waiting list repeats nothing, is reported, and delivery continues once there is room`()
        async throws
    {
        // New events that are not sent within the patience wait for room, too.
        try await WorkerStage.set(patience: .seconds(60)) { stage in
            try await stage.fill(100_000)
            stage.endpoint.answer { event in event.subject == "bad" ? .failed(reason: "status 500") : .delivered }
            try await stage.append(["bad", "good", "bad", "good"])
            try await stage.running {
                try await becomes("the warning") { stage.log.count("waiting list of the webhook is full") > 0 }
                try await becomes("lastError") {
                    try await stage.record().lastError.contains("100000 events wait")
                }
                try await becomes("the good events") { stage.endpoint.sent("good").count == 2 }
                // Enough pauses that a repeat would be likely.
                let start = ContinuousClock.now
                try await becomes("several pauses") { ContinuousClock.now - start > stage.settings.fullPause * 20 }
                #expect(stage.endpoint.sent("good") == ["e.1", "e.3"] && stage.endpoint.sent("bad") == ["e.0"])
                #expect(stage.log.count("waiting list of the webhook is full") == 1)
                #expect(stage.counts.values[.webhooksFull] == 1)
                try await stage.fill(0)
                try await becomes("the bad events wait") { try await stage.record().waiting == 2 }
                try await stage.append(["good"], from: 4)
                try await becomes("the next event") { stage.endpoint.sent("good").count == 3 }
                try await becomes("the notice") { stage.log.count("has room again") == 1 }
            }
            #expect(stage.endpoint.sent("good") == ["e.1", "e.3", "e.4"])
        }
    }

    @Test func `a job whose requests take long does not hold up the others, and its events stay in order`()
        async throws
    {
        try await WorkerStage.set { stage in
            stage.endpoint.hold("slow")
            try await stage.append(["slow", "quick", "slow", "quick"])
            try await stage.running {
                // The first request of "slow" is not answered. Three more pages are read meanwhile.
                for page in 1...3 {
                    try await stage.append(["quick", "slow"], from: page * 10)
                    try await becomes("page \(page)") { stage.endpoint.sent("quick").contains("e.\(page * 10)") }
                }
                #expect(stage.endpoint.sent("slow") == ["e.0"])
                stage.endpoint.release()
                try await becomes("the slow ones") { stage.endpoint.sent("slow").count == 5 }
                try await becomes("nothing waits") { try await stage.record().waiting == 0 }
                try await stage.append(["slow"], from: 50)
                try await becomes("a new one") { stage.endpoint.sent("slow").last == "e.50" }
            }
            #expect(stage.endpoint.sent("slow") == ["e.0", "e.2", "e.11", "e.21", "e.31", "e.50"])
        }
    }

    @Test func `malformed data of one job is removed and does not stop the others`() async throws {
        try await WorkerStage.set { stage in
            let keys = stage.keyspace
            let (due, id) = (keys.due(ofWebhook: WorkerStage.id), WorkerStage.id)
            try await stage.client.run("SET", keys.waiting(of: "a-string", ofWebhook: id), "x")
            try await stage.client.run("RPUSH", keys.waiting(of: "garbage", ofWebhook: id), "", "no body", "e.9 {}")
            try await stage.client.run("HSET", keys.webhook(id), "waiting", "3")
            for subject in ["a-string", "garbage", "orphan", "not a name"] {
                try await stage.client.run("ZADD", due, "1", subject)
            }
            try await stage.append(["good", "a-string", "orphan"])
            try await stage.running {
                try await becomes("the events of all") {
                    stage.endpoint.sent("good") == ["e.0"] && stage.endpoint.sent("a-string") == ["e.1"]
                        && stage.endpoint.sent("orphan") == ["e.2"] && stage.endpoint.sent("garbage") == ["e.9"]
                }
                try await becomes("nothing is left") {
                    let left = try await stage.client.run("ZCARD", due).integer
                    let waiting = try await stage.record().waiting
                    return left == 0 && waiting == 0
                }
            }
        }
    }

    @Test func `each event arrives, and those of a job in order, when some fail and some are slow`() async throws {
        try await WorkerStage.set { stage in
            let attempts = Mutex(0)
            stage.endpoint.answer { _ in
                let number = attempts.withLock { number in
                    number += 1
                    return number
                }
                return number % 23 == 0 ? .failed(reason: "status 503") : .delivered
            }
            stage.endpoint.delay { event in event.id.hasSuffix("7") ? .milliseconds(30) : .zero }
            let jobs = (0..<30).map { "job-\($0)" }
            try await stage.running {
                for round in 0..<10 { try await stage.append(jobs, from: round * 30) }
                try await becomes("all") { jobs.allSatisfy { stage.endpoint.delivered($0).count >= 10 } }
            }
            for (number, job) in jobs.enumerated() {
                var seen: [String] = []
                for id in stage.endpoint.delivered(job) where !seen.contains(id) { seen.append(id) }
                #expect(seen == (0..<10).map { "e.\($0 * 30 + number)" })
            }
        }
    }

    @Test func `an endpoint with intermittent failures logs one change in ten seconds, and its record becomes correct`()
        async throws
    {
        try await WorkerStage.set { stage in
            let attempts = Mutex(0)
            stage.endpoint.answer { _ in
                let number = attempts.withLock { number in
                    number += 1
                    return number
                }
                return number % 3 == 1 ? .failed(reason: "status 503") : .delivered
            }
            let jobs = (0..<100).map { "job-\($0)" }
            let start = ContinuousClock.now
            try await stage.append(jobs)
            try await stage.running {
                try await becomes("all") { jobs.allSatisfy { !stage.endpoint.delivered($0).isEmpty } }
                // Without another event.
                try await becomes("the recovery is logged") { stage.log.count("webhook works again") > 0 }
                try await becomes("the recovery is stored") { try await stage.record().failingSince == nil }
            }
            let changes = stage.log.count("webhook delivery failed") + stage.log.count("webhook works again")
            let intervals = (ContinuousClock.now - start) / .milliseconds(EndpointHealth.reportInterval)
            #expect(changes <= 1 + Int(intervals))
            #expect(stage.log.count("webhook works again") <= stage.log.count("webhook delivery failed"))
        }
    }

    @Test func `a recovery that was not reported yet is stored when the worker ends`() async throws {
        try await WorkerStage.set { stage in
            let attempts = Mutex(0)
            stage.endpoint.answer { _ in
                let isFirst = attempts.withLock { number in
                    number += 1
                    return number == 1
                }
                return isFirst ? .failed(reason: "status 503") : .delivered
            }
            try await stage.append(["job-1"])
            try await stage.running {
                try await becomes("the event is settled") {
                    let waiting = try await stage.record().waiting
                    return stage.endpoint.delivered("job-1") == ["e.0"] && waiting == 0
                }
            }
            #expect(stage.log.count("webhook delivery failed") == 1)
            let record = try await stage.record()
            #expect(record.failingSince == nil && record.lastError.isEmpty && record.deliveredAt != nil)
        }
    }

    @Test func `ten idle webhooks of a gateway send fewer than 100 commands a second`() async throws {
        try await WorkerStage.set { stage in
            let tail = StreamTail(EventStreams(ledger: stage.client, settings: LiveStateSettings()))
            var workers: [EndpointWorker] = []
            for number in 0..<10 {
                let id = "wh_idle\(number)"
                try await stage.add(id)
                workers.append(stage.worker(id, tail))
            }
            let running = workers
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in running { group.addTask { await worker.run() } }
                let (start, before) = (ContinuousClock.now, try await stage.commands())
                try await becomes("three seconds", within: .seconds(10)) { ContinuousClock.now - start > .seconds(3) }
                let rate = Double(try await stage.commands() - before) / ((ContinuousClock.now - start) / .seconds(1))
                print("ten idle webhooks: \(Int(rate)) commands/s")
                #expect(rate < 100)
                group.cancelAll()
            }
        }
    }
}

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
        patience: Duration = .milliseconds(50), _ body: (WorkerStage) async throws -> Void
    ) async throws {
        try await withRedis { client, _ in
            var settings = try WebhookSettings()
            settings.patience = patience
            settings.fullPause = .milliseconds(20)
            settings.retries = RetrySchedule(Array(repeating: .milliseconds(1), count: 20))
            let stage = WorkerStage(
                client: client, store: WebhookStore(ledger: client, settings: LiveStateSettings()), settings: settings)
            try await stage.add(Self.id)
            try await body(stage)
        }
    }

    func add(_ id: String) async throws {
        let webhook = Webhook(
            id: id, url: "https://shop.example/", kinds: [], secrets: [.init(text: "whsec_a", expiresAt: 0)],
            createdAt: 1_763_856_000_000)
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
