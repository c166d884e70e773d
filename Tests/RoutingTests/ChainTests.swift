import EnrouteWire
import TestSupport
import Testing

@testable import Routing

@Suite struct ChainTests {
    private static func seconds(_ count: Double) -> UInt64 { UInt64(count * 1e9) }

    /// When a circuit breaker that always fails permits a query, in seconds.
    private static func asked(_ failure: ProviderFailure, seconds: Int) -> [Int] {
        var (breaker, asked) = (CircuitBreaker(), [Int]())
        for second in 0..<seconds {
            let may = breaker.mayAsk(now: self.seconds(Double(second)))
            guard may else { continue }
            asked.append(second)
            breaker.failed(failure, now: self.seconds(Double(second)))
        }
        return asked
    }

    @Test func `a provider that keeps failing is tried less and less, finally every ten minutes`() {
        let asked = Self.asked(.status(500), seconds: 4000)
        #expect(asked.prefix(6) == [0, 1, 2, 12, 32, 72])
        let pauses = zip(asked, asked.dropFirst()).map { $1 - $0 }
        #expect(pauses.last == 600 && pauses.allSatisfy { $0 <= 600 })
    }

    @Test(arguments: [
        (ProviderFailure.keyRefused, 300), (.throttled(retryAfterSeconds: nil), 60),
        (.throttled(retryAfterSeconds: 7), 7), (.throttled(retryAfterSeconds: 0), 1),
        (.throttled(retryAfterSeconds: .max), 3600),
    ])
    func `a provider that refuses is avoided immediately, within limits`(failure: ProviderFailure, seconds: Int) {
        #expect(Self.asked(failure, seconds: 7300).prefix(2) == [0, seconds])
    }

    @Test func `no route between two points is a valid response`() {
        #expect(Self.asked(.noRoute, seconds: 50).count == 50 && Self.asked(.noPlace, seconds: 50).count == 50)
    }

    @Test func `after the open time one trial query is sent, and others wait for its outcome`() {
        var breaker = CircuitBreaker()
        for _ in 0..<3 { breaker.failed(.late, now: 0) }
        let (early, first, second) = (
            breaker.mayAsk(now: Self.seconds(9)), breaker.mayAsk(now: Self.seconds(10)),
            breaker.mayAsk(now: Self.seconds(11))
        )
        #expect(!early && first && !second)
        breaker.succeeded()
        #expect(!breaker.isOpen(now: Self.seconds(12)))
    }

    @Test func `a request from before succeeds late, and the provider is still avoided for as long as it asked`() {
        for late in [nil, ProviderFailure.noRoute] {
            var breaker = CircuitBreaker()
            let (first, second) = (breaker.mayAsk(now: 0), breaker.mayAsk(now: 0))
            #expect(first && second)
            breaker.failed(.throttled(retryAfterSeconds: 600), now: 0)
            if let late { breaker.failed(late, now: Self.seconds(1)) } else { breaker.succeeded() }
            #expect(breaker.isOpen(now: Self.seconds(599)), "\(String(describing: late))")
            let isTried = breaker.mayAsk(now: Self.seconds(600))
            breaker.succeeded()
            #expect(isTried && !breaker.isOpen(now: Self.seconds(600)))
        }
    }

    @Test func `requests that fail together open the circuit breaker once, for the first open time`() {
        var breaker = CircuitBreaker()
        let opened = (0..<20).map { breaker.failed(.late, now: Self.seconds(Double($0) / 100)) }
        #expect(opened == [false, false, true] + Array(repeating: false, count: 17))
        let (early, trial) = (breaker.mayAsk(now: Self.seconds(10)), breaker.mayAsk(now: Self.seconds(10.1)))
        #expect(!early && trial)
        let (reopened, late) = (
            breaker.failed(.late, now: Self.seconds(11)), breaker.failed(.late, now: Self.seconds(11))
        )
        #expect(reopened && !late)
        #expect(breaker.isOpen(now: Self.seconds(30.9)) && !breaker.isOpen(now: Self.seconds(31)))
    }

    @Test func `a failure that arrives after the open time, before the trial, changes nothing`() {
        var breaker = CircuitBreaker()
        for _ in 0..<3 { breaker.failed(.late, now: 0) }
        let opened = breaker.failed(.status(500), now: Self.seconds(10))
        let trial = breaker.mayAsk(now: Self.seconds(10))
        #expect(!opened && trial)
    }

    @Test(arguments: [ProviderFailure.throttled(retryAfterSeconds: 300), .keyRefused])
    func `a request from before is refused late, and the provider is avoided for longer`(refusal: ProviderFailure) {
        var breaker = CircuitBreaker()
        for _ in 0..<3 { breaker.failed(.late, now: 0) }
        let opened = (0..<2).map { _ in breaker.failed(refusal, now: Self.seconds(1)) }
        #expect(opened == [false, false])
        #expect(breaker.isOpen(now: Self.seconds(300.9)) && !breaker.isOpen(now: Self.seconds(301)))
    }

    @Test(arguments: [
        (ProviderFailure.keyRefused, true), (.throttled(retryAfterSeconds: 5), true), (.noRoute, false),
        (.noPlace, false), (.late, false),
    ])
    func `only a refusal opens the circuit breaker at the first failure`(failure: ProviderFailure, opens: Bool) {
        var breaker = CircuitBreaker()
        let opened = breaker.failed(failure, now: 0)
        #expect(opened == opens && breaker.isOpen(now: 0) == opens)
    }

    @Test func `a success resets the count of failures`() {
        var breaker = CircuitBreaker()
        for _ in 0..<10 {
            breaker.failed(.late, now: 0)
            breaker.failed(.late, now: 0)
            breaker.succeeded()
        }
        #expect(!breaker.isOpen(now: 0))
    }

    @Test func `a budget applies to a UTC day, and a clock that goes back does not refill it`() {
        var budget = DailyBudget(questions: 2)
        let day: Int64 = 86_400_000
        let taken = [day, day + 1, 2 * day - 1, 2 * day, day, 2 * day + 1, 2 * day + 2].map { budget.take(wall: $0) }
        #expect(taken == [true, true, false, true, true, false, false])
        #expect(budget.left(wall: 3 * day) == 2 && budget.left(wall: 2 * day) == 0)
        #expect(DailyBudget.day(of: -1) == -1 && DailyBudget.day(of: 0) == 0 && DailyBudget.day(of: day) == 1)
        var endless = DailyBudget(questions: nil)
        #expect(endless.left(wall: 0) == nil)
        let always = (0..<1000).allSatisfy { _ in endless.take(wall: 0) }
        #expect(always)
        var none = DailyBudget(questions: 0)
        let never = none.take(wall: 0)
        #expect(!never)
    }

    @Test func `the chain continues after a failed provider, and ends`() {
        var chain = RouteChain(
            links: [.azureMaps, .mapbox, .osrm].map { .init(source: $0, budget: DailyBudget(questions: 1)) })
        var steps: [RouteChain.Step] = []
        for index in 0...3 { steps.append(chain.next(from: index, now: 0, wall: 0)) }
        #expect(steps == [.ask(0), .ask(1), .ask(2), .exhausted])
        let spent = chain.next(from: 0, now: 0, wall: 0)
        #expect(spent == .exhausted)
        let tomorrow = chain.next(from: 0, now: 0, wall: 86_400_000)
        #expect(tomorrow == .ask(0))
    }

    @Test func `a query that was not sent does not count as a trial, and may use up the day's budget`() {
        var chain = RouteChain(links: [.init(source: .osrm, budget: DailyBudget(questions: 5))])
        for _ in 0..<3 { chain.failed(0, .late, now: 0) }
        let trying = chain.next(from: 0, now: Self.seconds(10), wall: 0)
        chain.notSent(0, isSpent: false, wall: 0)
        let again = chain.next(from: 0, now: Self.seconds(10), wall: 0)
        chain.notSent(0, isSpent: true, wall: 0)
        let spent = chain.next(from: 0, now: Self.seconds(10), wall: 0)
        let tomorrow = chain.next(from: 0, now: Self.seconds(10), wall: 86_400_000)
        #expect([trying, again, spent, tomorrow] == [.ask(0), .ask(0), .exhausted, .ask(0)])
    }

    @Test(
        arguments: [
            ("120", nil, 120), ("0", nil, 0), ("99999999999999999999", nil, .max), ("-1", nil, nil), ("", nil, nil),
            ("soon", "Sat, 29 Feb 2025 23:59:30 GMT", nil), ("Sun, 06 Nov 1994 08:49:37 GMT", nil, nil),
            ("Sun, 01 Mar 2026 00:00:30 GMT", "Sat, 28 Feb 2026 23:59:30 GMT", 60),
            ("Wed, 01 Mar 2028 00:00:00 GMT", "Mon, 28 Feb 2028 00:00:00 GMT", 172_800),
            ("Thu, 01 Jan 2026 00:00:00 GMT", "Wed, 31 Dec 2025 23:00:00 GMT", 3600),
            ("Wed, 31 Dec 2025 23:00:00 GMT", "Thu, 01 Jan 2026 00:00:00 GMT", 0),
            ("Wed, 31 Dec 2025 25:00:00 GMT", "Thu, 01 Jan 2026 00:00:00 GMT", nil),
        ] as [(String, String?, Int?)])
    func `Retry-After is a number of seconds, or a date by the response's own clock`(
        text: String, date: String?, seconds: Int?
    ) {
        #expect(RetryAfter.seconds(text, date: date) == seconds)
    }

    // MARK: cache

    private static func cell(_ latitude: Double) throws -> RouteCell {
        let start = try #require(Coordinate(latitude: latitude, longitude: 16.4))
        return RouteCell(try #require(RouteQuery(places: [start, ProviderFixtures.door])))
    }

    private static func route(_ seconds: Double) throws -> SourcedRoute {
        SourcedRoute(answer: try RouteAnswer(seconds: seconds, meters: 1, knowsTraffic: true), source: .osrm)
    }

    @Test func `a cached route is valid for the same block for 45 s`() throws {
        var cache = RouteCache()
        let (here, near, far) = (try Self.cell(48.20010), try Self.cell(48.20015), try Self.cell(48.2021))
        cache.store(try Self.route(60), here, now: 0)
        #expect(cache.answer(near, now: Self.seconds(44)) == (try Self.route(60)))
        #expect(cache.answer(here, now: Self.seconds(45)) == nil && cache.answer(far, now: 0) == nil)
    }

    @Test func `a full cache removes the oldest route, and a renewed one stays`() throws {
        var cache = RouteCache(most: 10)
        for number in 0..<10 {
            cache.store(try Self.route(60), try Self.cell(48 + Double(number) * 0.01), now: UInt64(number))
        }
        cache.store(try Self.route(90), try Self.cell(48), now: 20)
        for number in 10..<19 {
            cache.store(try Self.route(60), try Self.cell(48 + Double(number) * 0.01), now: 20 + UInt64(number))
        }
        #expect(cache.count <= 10)
        #expect(cache.answer(try Self.cell(48), now: 40)?.answer.seconds == 90)
        #expect(cache.answer(try Self.cell(48.05), now: 40) == nil)
    }

    @Test func `expired routes do not accumulate`() throws {
        var cache = RouteCache()
        for number in 0..<20_000 {
            cache.store(try Self.route(60), try Self.cell(Double(number % 80) + 0.5), now: Self.seconds(Double(number)))
        }
        #expect(cache.count <= 46)
    }
}
