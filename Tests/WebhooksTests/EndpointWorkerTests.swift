import HTTPValues
import LiveState
import Redis
import Synchronization
import Telemetry
import TestSupport
import Testing
import Webhooks

/// The delivery to one endpoint, with a real Redis and an endpoint in memory.
@Suite(.needsMachine(for: .faults)) struct EndpointWorkerTests {
    @Test func `a full waiting list repeats no event, is reported, and delivery continues once there is room`()
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
                    try await stage.record().lastError.contains("100000 events are waiting")
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

    /// The endpoint has accepted nothing for six days; the failures that count for it may be long over.
    @Test(arguments: [(hoursWithoutRequest: 1, staysOn: false), (hoursWithoutRequest: 30, staysOn: true)])
    func `one failure switches a webhook off only if requests failed all the time before`(
        hoursWithoutRequest: Int64, staysOn: Bool
    ) async throws {
        try await WorkerStage.set(retries: RetrySchedule([.milliseconds(1), .seconds(3_600)])) { stage in
            let (start, hour) = (WallClock.nowMilliseconds, 3_600_000 as Int64)
            try await stage.client.run(
                "HSET", stage.keyspace.webhook(WorkerStage.id), "failing_since", "\(start - 6 * 24 * hour)",
                "failed_at",
                "\(start - hoursWithoutRequest * hour)")
            stage.endpoint.answer { _ in .failed(reason: "status 502") }
            try await stage.append(["job-1"])
            try await stage.running {
                try await becomes("the failure is stored") {
                    let record = try await stage.record()
                    return staysOn ? record.failingSince ?? 0 >= start : !record.isOn
                }
            }
            let record = try await stage.record()
            #expect(record.isOn == staysOn && record.waiting == 1)
        }
    }

    @Test func `trimmed events are reported also for a shard that was empty when the webhook was added`() async throws {
        try await WorkerStage.set { stage in
            #expect(try await stage.record().cursors.values.allSatisfy { $0 == "0-0" })
            let most = EventStreams.longest
            let fill = """
                for i = 1, \(most + 1_000) do redis.call('XADD', KEYS[1], 'MAXLEN', \(most), '*', 'id', 'x') end
                """
            try await stage.client.run("EVAL", fill, "1", stage.keyspace.events(shard: 3))
            try await stage.running {
                try await becomes("the report") { stage.counts.values[.webhookGaps] == 1 }
            }
            #expect(stage.log.count("events were trimmed from the stream before delivery") == 1)
        }
    }

    @Test func `a first event after quiet weeks is no sign of trimmed events`() async throws {
        try await WorkerStage.set { stage in
            let longAgo = WallClock.nowMilliseconds - 2 * EventStreams.lifetime.milliseconds
            try await stage.client.run("HSET", stage.keyspace.webhook(WorkerStage.id), "created_at", "\(longAgo)")
            let before = try await stage.calls(of: "xrevrange")
            try await stage.running {
                // The worker looks at all shards once in each round; so the first round is over.
                try await becomes("a second round") {
                    try await stage.calls(of: "xrevrange") > before + EventStreams.shards
                }
                try await stage.append(["job-1"])
                try await becomes("the event") { stage.endpoint.sent("job-1") == ["e.0"] }
                try await stage.append(["job-1"], from: 1)
                try await becomes("another event") { stage.endpoint.sent("job-1") == ["e.0", "e.1"] }
            }
            #expect(stage.log.count("events were trimmed from the stream before delivery") == 0)
        }
    }

    @Test func `after a successful test, events that wait for a later attempt are delivered at once and in order`()
        async throws
    {
        try await WorkerStage.set(retries: RetrySchedule([.seconds(3_600)])) { stage in
            let jobs = (0..<10).map { "job-\($0)" }
            stage.endpoint.answer { _ in .failed(reason: "status 503") }
            try await stage.append(jobs + jobs)
            try await stage.running {
                try await becomes("all wait") { try await stage.record().waiting == 20 }
                stage.endpoint.answer { _ in .delivered }
                #expect(try await stage.store.switchOn(WorkerStage.id, at: WallClock.nowMilliseconds))
                try await becomes("all arrive") { jobs.allSatisfy { stage.endpoint.delivered($0).count == 2 } }
            }
            for (number, job) in jobs.enumerated() {
                #expect(stage.endpoint.delivered(job) == ["e.\(number)", "e.\(number + 10)"])
            }
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
