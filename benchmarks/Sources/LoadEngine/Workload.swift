// The load that every peer gets: open the followers, warm up, measure, wait for messages in flight, report.

internal import Glibc

/// The figures to measure during a run.
public struct Watched {
    public var server: ProcessGroup?
    public var redis: ProcessGroup?

    public init(server: ProcessGroup?, redis: ProcessGroup?) { (self.server, self.redis) = (server, redis) }

    var groups: [ProcessGroup] { [self.server, self.redis, .own].compactMap { $0 } }
    /// Those of the groups, then that of the whole machine.
    var times: [CPUTime] { self.groups.map(\.cpu) + [.machine] }

    /// One for each group, and one for all other processes.
    func figures(since earlier: [CPUTime], per count: Int, seconds: Double) -> [CPUFigures] {
        let spent = zip(self.times, earlier).map { $0 - $1 }
        var others = spent[spent.count - 1]
        others.scheduled -= spent.dropLast().reduce(0) { $0 + $1.scheduled }
        let figures = zip(self.groups, spent).map { CPUFigures($0.name, $1, per: count, seconds: seconds) }
        guard self.server != nil, self.redis != nil else { return figures }
        return figures + [CPUFigures(CPUFigures.others, others, per: count, seconds: seconds)]
    }
}

/// Sends messages at a rate to followers.
public struct Delivery {
    public var mode: String
    public var perSecond: Double
    /// Jobs that receive messages; channel `k` of the schedule is the `k`th.
    public var channels: Int
    /// Messages due at the same time.
    public var burst: Int
    public var warmup: Double
    public var seconds: Double
    /// Time limit for followers to subscribe, and for the last messages, in s.
    public var patience: Double
    /// The number of locations in a published message, if figures are per location rather than per delivered message.
    var locationsPerMessage: Int?

    public init(
        mode: String, perSecond: Double, channels: Int, burst: Int = 1, warmup: Double, seconds: Double,
        patience: Double = 120
    ) {
        (self.mode, self.perSecond, self.channels, self.burst) = (mode, perSecond, channels, burst)
        (self.warmup, self.seconds, self.patience) = (warmup, seconds, patience)
    }

    /// - Parameters:
    ///   - crowd: the open followers.
    ///   - publisher: created by `PublisherKind`.
    ///   - slow: followers that stop reading when publishing starts.
    ///   - redis: counts the work of Redis in the measured window.
    func run(
        _ crowd: Crowd, _ publisher: any Publisher, _ watched: Watched, _ loop: Loop, slow: Crowd? = nil,
        counting redis: RedisCounter? = nil
    ) throws -> Report {
        guard loop.run(seconds: 10, while: { !publisher.isReady && publisher.failure == nil }), publisher.isReady else {
            throw LoadError("the publisher did not connect: \(publisher.failure ?? "no answer within 10 s")")
        }
        slow?.setReading(false)
        let schedule = Schedule(
            start: Clock.now + 50_000_000, perSecond: self.perSecond, channels: self.channels, burst: self.burst,
            warmup: self.warmup,
            seconds: self.seconds)
        crowd.schedule = schedule
        slow?.schedule = schedule
        let pacer = Pacer(schedule, publisher)
        loop.add(pacer)
        defer { loop.remove(pacer) }

        loop.run(until: schedule.due(schedule.firstMeasured)) { publisher.failure == nil }
        let counts = try redis?.counts()
        let (times, begin, before, first) = (watched.times, Clock.now, crowd.tally.delivered, pacer.next)
        loop.run(until: schedule.due(schedule.count)) { publisher.failure == nil }
        let seconds = Double(Clock.now - begin) / 1e9
        let delivered = crowd.tally.delivered - before
        let locations = self.locationsPerMessage.map { (pacer.next - first) * $0 }
        var report = Report(
            crowd.target.name, self.mode, connections: crowd.count + (slow?.count ?? 0), perSecond: self.perSecond,
            seconds: self.seconds)
        report.cpu = watched.figures(
            since: times, per: locations ?? delivered, seconds: seconds)
        if let redis, let counts {
            report.redis = RedisFigures(try redis.counts() - counts, per: locations ?? delivered)
        }

        let expected = crowd.expected
        loop.run(seconds: min(5, self.patience)) {
            publisher.failure == nil
                && (!pacer.isDone || crowd.tally.delivered < expected || publisher.unconfirmed > 0)
        }
        if let failure = publisher.failure { throw LoadError("publishing failed: \(failure)") }
        if let server = watched.server, !server.isAlive {
            throw LoadError(
                "\(crowd.target.name) exited during the run: \(crowd.tally.delivered) of \(expected) messages were delivered"
            )
        }
        let tally = crowd.tally
        report.latency = LatencyFigures(tally)
        report.messages = MessageFigures(
            expected: expected, delivered: tally.delivered, missing: max(0, expected - tally.delivered),
            disordered: tally.disordered, late: Int(tally.latency.count(within: 2_000_000_000...119_999_999_999)),
            deliveredPerSecond: Double(delivered) / seconds,
            publishLatenessP99: Double(pacer.lateness.valueAtPercentile(99)) / 1e6,
            unconfirmed: publisher.unconfirmed)
        report.note(tally)
        return report
    }
}

extension Crowd {
    /// Opens all followers and reports their cost: from a tenth of them on, so that one-time allocations of the server are not
    /// included.
    func openMeasured(_ watched: Watched, timeout seconds: Double) throws -> (MemoryFigures?, OpeningFigures) {
        let first = self.count / 10
        try self.open(first, timeout: seconds)
        self.loop.run(seconds: 1)
        let (memory, cpu, begin) = (watched.server?.memory, watched.server?.cpu, Clock.now)
        try self.open(timeout: seconds)
        let (later, elapsed) = (watched.server?.cpu, Double(Clock.now - begin) / 1e9)
        self.loop.run(seconds: 2)
        let opened = Double(self.count - first)
        let opening = OpeningFigures(
            perSecond: opened / elapsed, cpu: later.map { ($0 - cpu!).scheduled * 1e6 / opened })
        return (
            watched.server.map { MemoryFigures(before: memory!, after: $0.memory, connections: self.count - first) },
            opening
        )
    }
}

extension Crowd {
    /// Messages that its followers should receive in total.
    var expected: Int {
        guard let schedule else { return 0 }
        return self.identities.reduce(0) { $0 + schedule.messages(to: $1.channel) }
    }
}

extension LatencyFigures {
    init(_ tally: Tally) {
        func milliseconds(_ percentile: Double) -> Double {
            Double(tally.latency.valueAtPercentile(percentile)) / 1e6
        }
        self.count = Int(tally.latency.totalCount)
        guard self.count > 0 else { return }
        (self.p50, self.p95, self.p99) = (milliseconds(50), milliseconds(95), milliseconds(99))
        self.p999 = milliseconds(99.9)
        self.max = Double(tally.latency.max) / 1e6
    }
}

extension Report {
    mutating func note(_ tally: Tally) {
        for (code, count) in tally.closeCodes { self.closeCodes[String(code), default: 0] += count }
        self.losses.merge(tally.losses, uniquingKeysWith: +)
        if tally.refusals > 0 {
            self.warnings.append("\(tally.refusals) errors arrived as messages, the first: \(tally.firstRefusal ?? "")")
        }
    }
}
