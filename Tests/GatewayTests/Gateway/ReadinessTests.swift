import Foundation
import NIOCore
import Telemetry
import Testing

@testable import Gateway
@testable import HTTPValues
@testable import Realtime
@testable import TrafficControl

/// Readiness for load balancers, and the health report for people and alerts.
@Suite struct ReadinessTests {
    @Test(
        arguments: [
            (Readiness.Facts(), Readiness.ready),
            (.init(isDraining: true, hasReachedRedis: false, isOverloaded: true), .draining),
            (.init(hasReachedRedis: false), .starting), (.init(isOverloaded: true), .overloaded),
            (.init(silentMilliseconds: 1_999), .ready), (.init(silentMilliseconds: 2_000), .stuck),
            (.init(silentMilliseconds: 2_000, isOverloaded: true), .stuck),
        ])
    func `B29: readiness ignores dependencies that all gateways share`(facts: Readiness.Facts, readiness: Readiness) {
        #expect(Readiness(facts) == readiness)
        #expect((readiness == .ready) == !readiness.text.hasPrefix("not ready"))
    }

    @Test func `a blocked event loop is overdue, and a loop that was late once is not`() {
        let load = SharedLoad(loops: 2)
        let (second, tick): (UInt64, UInt64) = (1_000_000_000, 100_000_000)
        #expect(load.silence(now: second, tick: tick) == 0)
        for pulse in load.pulses { pulse.beat(now: second, tick: tick) }
        load.pulses[0].beat(now: 4 * second, tick: tick)
        #expect(load.silence(now: 4 * second, tick: tick) == 2_900)
        load.pulses[1].beat(now: 4 * second, tick: tick)
        #expect(load.silence(now: 4 * second, tick: tick) == 0)
        #expect(load.loopLag(now: 4 * second, tick: tick) == 2_900)
    }

    @Test func `each Redis instance is up or down since a time that does not change`() {
        var watch = RedisAvailability(now: 1_000)
        func at(_ milliseconds: Int64) -> NIODeadline { .uptimeNanoseconds(UInt64(milliseconds) * 1_000_000) }
        #expect(watch.unresponsive.map(\.dependency) == [.redisLive, .redisLedger])
        watch.observe(live: nil, ledger: nil, now: at(10), time: 1_010)
        watch.observe(live: nil, ledger: nil, now: at(20), time: 1_020)
        #expect(watch.unresponsive.isEmpty && watch.live.since == 1_010)
        watch.observe(live: at(25), ledger: nil, now: at(525), time: 1_525)
        watch.observe(live: at(25), ledger: nil, now: at(625), time: 1_625)
        #expect(watch.unresponsive == [DependencyState(.redisLive, isUp: false, since: 1_025)])
        #expect(watch.ledger == DependencyState(.redisLedger, isUp: true, since: 1_010))
        watch.observe(live: nil, ledger: nil, now: at(900), time: 1_900)
        #expect(watch.live == DependencyState(.redisLive, isUp: true, since: 1_900))
    }

    @Test func `a dependency is down since its first loss on any loop, and up since its last recovery`() {
        let (up, down) = (
            DependencyState(.redisLive, isUp: true, since: 5), DependencyState(.redisLive, isUp: false, since: 7)
        )
        #expect(up.merged(with: down) == down && down.merged(with: up) == down)
        #expect(down.merged(with: .init(.redisLive, isUp: false, since: 3)).since == 3)
        #expect(up.merged(with: .init(.redisLive, isUp: true, since: 9)).since == 9)
    }

    @Test func `the state of a service is the outcome of its last request`() {
        let notes = DependencyStates()
        #expect(notes.all.isEmpty)
        notes.record(.osrm, isUp: true, now: 1)
        notes.record(.osrm, isUp: true, now: 2)
        #expect(notes.all == [DependencyState(.osrm, isUp: true, since: 1)])
        notes.record(.osrm, isUp: false, now: 3)
        notes.record(.osrm, isUp: false, now: 4)
        #expect(notes.all == [DependencyState(.osrm, isUp: false, since: 3)])
    }

    @Test func `the health report and the metrics contain name, address and time of an outage`() throws {
        let states = [
            DependencyState(.redisLive, isUp: false, since: 1_795_248_617_626),
            DependencyState(.osrm, isUp: true, since: 1_795_248_617_000),
        ]
        let report = HealthReport(
            gateway: "g-1", readiness: .ready, dependencies: states, places: [.redisLive: "10.0.0.5:6379"])
        #expect(
            String(decoding: try JSONDocument.bytes(report), as: UTF8.self)
                == #"{"dependencies":[{"name":"redis_live","place":"10.0.0.5:6379","since":"2026-11-21T08:10:17.626Z","#
                + #""state":"down"},{"name":"osrm","since":"2026-11-21T08:10:17.000Z","state":"up"}],"gateway":"g-1","#
                + #""readiness":"ready","status":"degraded"}"#)
        #expect(states.exposition.contains("\nenroute_dependency_up{dependency=\"redis_live\"} 0\n"))
        #expect(
            states.exposition.contains(
                "\nenroute_dependency_last_change_timestamp_seconds{dependency=\"osrm\"} 1795248617.0\n"))
    }
}

/// When overload is logged, and when it is only counted.
@Suite struct OverloadEpisodeTests {
    private static func lines(_ pauses: [(isPaused: Bool, ticks: Int)]) -> [OverloadEpisode.Line] {
        var (episode, now, lines) = (OverloadEpisode(), UInt64(1_000_000_000), [OverloadEpisode.Line]())
        for (isPaused, ticks) in pauses {
            for _ in 0..<ticks {
                if let line = episode.update(isPaused: isPaused, now: now) { lines.append(line) }
                now += 100_000_000
            }
        }
        return lines
    }

    @Test func `B17: a lasting overload is logged once, and its end once`() {
        #expect(Self.lines([(false, 50), (true, 19)]).isEmpty)
        #expect(Self.lines([(true, 3_000)]) == [.started])
        #expect(Self.lines([(true, 100), (false, 99)]) == [.started])
        #expect(Self.lines([(true, 100), (false, 500)]) == [.started, .ended(seconds: 10)])
    }

    @Test func `B17: a flickering overload is logged once if it lasts, and otherwise never`() {
        // Half a second of overload every five seconds for an hour.
        #expect(Self.lines(Array(repeating: [(true, 5), (false, 45)], count: 720).flatMap { $0 }).isEmpty)
        // Alternating every second: this counts as one overload.
        let flickers = Array(repeating: [(true, 10), (false, 5)], count: 100).flatMap { $0 }
        #expect(Self.lines(flickers) == [.started])
        #expect(Self.lines(flickers + [(false, 200)]) == [.started, .ended(seconds: 149)])
    }
}

/// The maximum age of a session.
@Suite struct SessionAgeTests {
    @Test func `B40: the maximum age of a session is random between half the limit and the limit`() throws {
        #expect(SessionAge(limit: 0) == nil)
        let ages = try (0..<1_000).map { _ in try #require(SessionAge(limit: 3_600)) }
        #expect(ages.allSatisfy { (1_800_000...3_600_000).contains($0.milliseconds) })
        #expect(ages.allSatisfy { (0...5_000).contains($0.retryInMilliseconds) })
        // Evenly distributed: about a tenth of the sessions in each tenth of the time.
        for tenth in 0..<10 {
            let range = Int64(1_800_000 + tenth * 180_000)..<Int64(1_800_000 + (tenth + 1) * 180_000)
            #expect((50...160).contains(ages.count { range.contains($0.milliseconds) }))
        }
        #expect(SessionAge(limit: 1).map { $0.retryInMilliseconds <= 100 } == true)
        #expect(SessionAge(limit: Int(Int32.max)) != nil)
    }
}
