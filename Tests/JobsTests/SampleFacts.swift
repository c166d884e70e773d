import EnrouteWire
import Redis
import Tracking

@testable import Jobs
@testable import LiveState

/// Facts about a job, for tests: a rider who is on the way and shares its position, with one follower.
enum SampleFacts {
    /// 2026-11-21 17:30:17 UTC
    static let now: Int64 = 1_795_282_217_000
    static let job = JobID("job-7")!
    static let rider = PersonID("rider-1")!
    static let anna = PersonID("anna")!
    static let deadline = Self.now + 7_200_000
    static let outage = RedisError.disconnected

    static func position(age: Int64) -> PositionFacts {
        let at = Self.now - age
        let message =
            #"{"type":"location","id":"\#(at)000","at":\#(at),"job":"job-7","received":\#(at),"lat":41.9,"lon":12.5}"#
        return PositionFacts(storedAt: at, message: Array(message.utf8))
    }

    static func record(_ change: (inout JobRecord) -> Void = { _ in }) -> JobRecord {
        var record = JobRecord(
            kind: .service, customer: Self.anna, rider: Self.rider, zone: ZoneID("rome"),
            destination: Coordinate(latitude: 41.9, longitude: 12.5), vendor: nil, status: .onTheWay,
            statusAt: Self.now - 600_000, epoch: "8k2p", head: StatusID("1795248617611-0")!, isTravelling: true,
            travelDeadline: Self.deadline, fence: 2)
        change(&record)
        return record
    }

    static func gateway(_ name: String, followers: Int, state: String = "serving") -> GatewayFacts {
        GatewayFacts(
            id: "\(name)-x1", at: Self.now - 2_000, health: .value(.init(name: name, state: state)),
            followers: .value(followers), riderSessions: .value(followers))
    }

    static func job(_ change: (inout JobFacts) -> Void = { _ in }) -> JobFacts {
        var facts = JobFacts(job: Self.job, now: Self.now)
        facts.record = .value(Self.record())
        facts.log = .value([
            StatusLogEntry(
                id: Self.record().head, previous: nil, status: .onTheWay, at: Self.now - 600_000,
                recordedAt: Self.now - 600_000, actor: nil, source: "rest", request: nil)
        ])
        facts.travel = .value(.init(fence: 2, deadline: Self.deadline, rider: Self.rider))
        facts.position = .value(Self.position(age: 3_000))
        var verdicts = StoredVerdicts()
        (verdicts.summary.counts, verdicts.lastAt) = (["accepted": 40, "held": 1], ["accepted": Self.now - 3_000])
        verdicts.summary.seenAt = Self.now - 3_000
        facts.verdicts = .value(verdicts)
        facts.watching.gateways = .value([Self.gateway("g1", followers: 1), Self.gateway("g2", followers: 0)])
        facts.watching.feedSubscribers = .value(1)
        facts.watching.eventSubscribers = .value(1)
        (facts.liveKeys.master, facts.ledgerKeys.master) = ("127.0.0.1:1", "127.0.0.1:2")
        change(&facts)
        return facts
    }

    static func explanation(
        of facts: JobFacts, early: EarlyArrival.Settings = .off, showsPosition: Bool = false
    ) -> Explanation {
        JobExplanation(
            facts, settings: LiveStateSettings(), freshness: .seconds(30), early: early, showsPosition: showsPosition
        ).document
    }
}
