import EnrouteWire
import Routing
import TestSupport
import Testing
import Tracking

@testable import ETA

/// The arrival of one job without sockets: its input and its next steps.
@Suite struct FollowedArrivalTests {
    private static let door = Coordinate(latitude: 48.2351, longitude: 16.4138)!
    private static let second: UInt64 = 1_000_000_000
    private static let epoch: Int64 = 1_795_000_000_000

    private static func arrival(before: [Coordinate?] = []) -> FollowedArrival {
        var arrival = FollowedArrival(
            rider: PersonID("rider-1")!, destination: self.door, bounds: ArrivalSettings().bounds())
        arrival.before = before
        return arrival
    }

    /// A fix `hundredths` of a degree south of the door, at this second.
    private static func fix(_ hundredths: Double, at seconds: Int) -> Fix {
        Fix(
            at: self.epoch + Int64(seconds) * 1000,
            place: Coordinate(latitude: self.door.latitude - hundredths / 100, longitude: self.door.longitude)!)
    }

    private static func ns(_ seconds: Int) -> UInt64 { UInt64(seconds + 1000) * self.second }

    private static func next(_ arrival: inout FollowedArrival, _ seconds: Int) -> FollowedArrival.Step {
        arrival.next(now: self.ns(seconds), wall: self.epoch + Int64(seconds) * 1000)
    }

    /// Calculates with the built-in estimator.
    private static func calculate(_ arrival: inout FollowedArrival, _ seconds: Int) -> ArrivalEstimate? {
        guard case .calculate(let calculation) = self.next(&arrival, seconds) else { return nil }
        return arrival.finish(
            calculation, by: nil, now: self.ns(seconds), wall: self.epoch + Int64(seconds) * 1000)
    }

    @Test func `before the first position there is no estimate`() {
        var arrival = Self.arrival()
        for seconds in 0..<600 {
            let step = Self.next(&arrival, seconds)
            #expect(step == .wait)
        }
    }

    @Test func `before the first position a delivery has the estimate of its status, sent once for each change`() {
        var arrival = Self.arrival()
        let shop = Coordinate(latitude: 48.22, longitude: 16.4)!
        let early = EarlyArrival(
            status: .accepted, since: Self.epoch, from: shop, to: Self.door, vehicle: .bicycle, promisedFrom: nil,
            settings: .init())
        arrival.sent(early: early.estimate(wall: Self.epoch), of: early)
        var sent: [Int: Int64] = [:]
        for seconds in 1..<1000 {
            if seconds == 700 { arrival.early?.move(to: .readyForPickup, at: Self.epoch + 700_000) }
            if case .sendEarly(let estimate) = Self.next(&arrival, seconds) { sent[seconds] = estimate.arrivesAt }
        }
        #expect(Set(sent.keys) == [700], "\(sent)")
        // A position ends this estimate.
        arrival.observe(Self.fix(1, at: 1000), now: Self.ns(1000))
        let first = Self.calculate(&arrival, 1000)
        #expect(first?.state == .ok && first?.arrivesAt != sent[700])
    }

    @Test
    func `US-072 AC-007: without locations the arrival becomes doubtful, then unavailable, and recovers`() {
        var arrival = Self.arrival()
        arrival.observe(Self.fix(5, at: 0), now: Self.ns(0))
        let first = Self.calculate(&arrival, 0)
        #expect(first?.state == .ok)
        if let first { arrival.received(first, now: Self.ns(0)) }
        var told: [Int: ArrivalState] = [:]
        for seconds in 1..<400 {
            if case .send(let estimate) = Self.next(&arrival, seconds) { told[seconds] = estimate.state }
        }
        #expect(told == [31: .recalculating, 301: .unavailable])
        arrival.observe(Self.fix(4, at: 400), now: Self.ns(400))
        let again = Self.calculate(&arrival, 400)
        #expect(again?.state == .ok)
    }

    @Test func `the result of another gateway is adopted, and a gateway's own result is not adopted again`() {
        var arrival = Self.arrival()
        arrival.observe(Self.fix(5, at: 0), now: Self.ns(0))
        arrival.received(
            ArrivalEstimate(
                state: .ok, arrivesAt: Self.epoch + 600_000, seconds: 600, source: "osrm", confidence: .medium,
                at: Self.epoch), now: Self.ns(0))
        var due: [Int] = []
        for seconds in 1...121 {
            arrival.observe(Self.fix(5 - Double(seconds) / 100, at: seconds), now: Self.ns(seconds))
            guard let found = Self.calculate(&arrival, seconds) else { continue }
            due.append(seconds)
            // The result arrives a little later.
            arrival.received(found, now: Self.ns(seconds) + Self.second / 2)
        }
        #expect(due == [60, 120])
    }

    @Test func `published estimates are scored at the arrival, by source and horizon`() {
        var arrival = Self.arrival()
        arrival.observe(Self.fix(5, at: 0), now: Self.ns(0))
        let told = ArrivalEstimate(
            state: .ok, arrivesAt: Self.epoch + 270_000, seconds: 270, source: "osrm", confidence: .medium,
            at: Self.epoch)
        arrival.predictions.published(told, now: Self.ns(0))
        arrival.predictions.published(ArrivalEstimate(state: .unavailable, at: Self.epoch), now: Self.ns(0))
        let judged = arrival.predictions.arrived(now: Self.ns(300))
        #expect(judged.count == 1 && judged.first?.source == .osrm)
        #expect(judged.first?.minutes == 5 && judged.first?.errorSeconds == 30)
        #expect(arrival.predictions.arrived(now: Self.ns(300)).isEmpty)
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `while an arrival is settled, looking at it changes nothing`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var arrival = Self.arrival()
        var running: ArrivalTime.Calculation?
        var settled = 0
        for seconds in 0..<900 {
            if Int.random(in: 0..<8, using: &generator) == 0, seconds % 300 < 200 {
                let away = Double.random(in: 0...5, using: &generator)
                arrival.observe(Self.fix(away, at: seconds), now: Self.ns(seconds))
            }
            if let calculation = running, Bool.random(using: &generator) {
                running = nil
                if Int.random(in: 0..<5, using: &generator) == 0 {
                    arrival.failed(calculation, now: Self.ns(seconds))
                } else {
                    let wall = Self.epoch + Int64(seconds) * 1000
                    let found = arrival.finish(calculation, by: nil, now: Self.ns(seconds), wall: wall)
                    if let found, Bool.random(using: &generator) { arrival.received(found, now: Self.ns(seconds)) }
                }
            }
            let isSettled = arrival.isSettled(now: Self.ns(seconds))
            let step = Self.next(&arrival, seconds)
            if case .calculate(let calculation) = step { running = calculation }
            if isSettled {
                settled += 1
                #expect(step == .wait, "seed \(seed), second \(seconds)")
            }
        }
        #expect(settled > 20)
    }

    @Test func `errors are a histogram by provider and horizon, and queries are counted by outcome`() {
        let counts = ArrivalCounts()
        for seconds in [10.0, 15, 61, 5000] { counts.recordError(.osrm, minutes: 5, seconds: seconds) }
        counts.note(.failed(.mapbox, .throttled(retryAfterSeconds: 7)))
        counts.note(.cached(.osrm))
        let labels = #"provider="osrm",horizon_minutes="5""#
        for line in [
            #"enroute_eta_requests_total{provider="mapbox",outcome="throttled"} 1"#,
            #"enroute_eta_requests_total{provider="osrm",outcome="cached"} 1"#,
            #"enroute_eta_error_seconds_bucket{\#(labels),le="15"} 2"#,
            #"enroute_eta_error_seconds_bucket{\#(labels),le="60"} 2"#,
            #"enroute_eta_error_seconds_bucket{\#(labels),le="120"} 3"#,
            #"enroute_eta_error_seconds_bucket{\#(labels),le="+Inf"} 4"#,
            #"enroute_eta_error_seconds_sum{\#(labels)} 5086.0"#, #"enroute_eta_error_seconds_count{\#(labels)} 4"#,
        ] { #expect(counts.text.contains(line + "\n"), "\(line)") }
    }

    @Test func `a new destination or another route is calculated immediately`() {
        var arrival = Self.arrival()
        arrival.observe(Self.fix(5, at: 0), now: Self.ns(0))
        let first = Self.calculate(&arrival, 0)
        if let first { arrival.received(first, now: Self.ns(0)) }
        #expect(arrival.lastSent != nil)
        arrival.setDestination(Coordinate(latitude: 48.4, longitude: 16.4138)!)
        #expect(arrival.lastSent == nil)
        arrival.observe(Self.fix(5, at: 1), now: Self.ns(1))
        let second = Self.calculate(&arrival, 1)
        #expect((second?.seconds ?? 0) > (first?.seconds ?? 0))
        for seconds in 2..<30 {
            arrival.observe(Self.fix(5 + Double(seconds) / 20, at: seconds), now: Self.ns(seconds))
            if let third = Self.calculate(&arrival, seconds) {
                #expect(third.state == .ok && seconds >= 11)
                return
            }
        }
        Issue.record("no calculation was started for the rider who turned round")
    }

    @Test(arguments: [25, 50])
    func `a phone whose clock was slow at first has the same arrival as one with the right clock`(correction: Int)
        throws
    {
        var (right, slow) = (Self.arrival(), Self.arrival())
        for seconds in 0...90 {
            // 11 m/s. The gateway corrects the clock after 12 s.
            let away = 5 - Double(seconds) / 100
            right.observe(Self.fix(away, at: seconds), now: Self.ns(seconds))
            let at = seconds < 12 ? seconds - correction : seconds
            slow.observe(Self.fix(away, at: at), now: Self.ns(seconds))
        }
        let expected = try #require(Self.calculate(&right, 90)?.seconds)
        let found = try #require(Self.calculate(&slow, 90)?.seconds)
        #expect(abs(found - expected) < 20, "\(found) instead of \(expected)")
    }

    @Test func `the estimator learns as much from late or rare positions as from others`() throws {
        var (every, rarely) = (Self.arrival(), Self.arrival())
        for seconds in 0...300 {
            let fix = Self.fix(5 - Double(seconds) / 100, at: seconds)
            every.observe(fix, now: Self.ns(seconds))
            if seconds.isMultiple(of: 30) { rarely.observe(fix, now: Self.ns(seconds + 3 + seconds % 4)) }
        }
        #expect(every.learned?.assumedVehicle == .car && rarely.learned?.assumedVehicle == .car)
        let (expected, found) = (Self.calculate(&every, 300)?.seconds, Self.calculate(&rarely, 310)?.seconds)
        #expect(abs(try #require(found) - #require(expected)) < 5)
    }

    @Test func `the arrival after another stop includes that stop, or only the number of stops`() {
        let between = Coordinate(latitude: 48.2, longitude: 16.5)!
        var direct = Self.arrival()
        var round = Self.arrival(before: [between])
        var unknown = Self.arrival(before: [nil])
        let fix = Self.fix(5, at: 0)
        direct.observe(fix, now: Self.ns(0))
        round.observe(fix, now: Self.ns(0))
        unknown.observe(fix, now: Self.ns(0))
        #expect(round.question?.places == [fix.place, between, Self.door])
        let (straight, bent) = (Self.calculate(&direct, 0), Self.calculate(&round, 0))
        #expect(straight?.stopsBefore == nil && bent?.stopsBefore == 1)
        #expect((bent?.seconds ?? 0) > (straight?.seconds ?? 0) + 180)
        #expect(unknown.question == nil && Self.calculate(&unknown, 0) == nil)
        let told = Self.next(&unknown, 1)
        #expect(told == .send(ArrivalEstimate(state: .unavailable, at: Self.epoch + 1000, stopsBefore: 1)))
    }

    @Test func `an arrival time ends when a stop of unknown length comes first, and returns after that stop`() throws {
        var arrival = Self.arrival()
        arrival.observe(Self.fix(5, at: 0), now: Self.ns(0))
        arrival.received(try #require(Self.calculate(&arrival, 0)), now: Self.ns(0))
        arrival.before = [nil]
        arrival.observe(Self.fix(5, at: 60), now: Self.ns(60))
        #expect(Self.calculate(&arrival, 60) == nil)
        let told = Self.next(&arrival, 61)
        #expect(told == .send(ArrivalEstimate(state: .unavailable, at: Self.epoch + 61_000, stopsBefore: 1)))
        arrival.before = []
        arrival.observe(Self.fix(5, at: 80), now: Self.ns(80))
        let again = Self.calculate(&arrival, 80)
        #expect(again?.state == .ok && again?.stopsBefore == nil)
    }
}
