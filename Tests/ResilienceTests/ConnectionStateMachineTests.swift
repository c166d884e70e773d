// The life cycle of a connection without I/O: events in, effects out, and a clock that is a number.

import Resilience
import Testing

@Suite struct ConnectingTests {
    /// Starts, and handles these events one after the other at `now`.
    private static func started(_ events: [ConnectionStateMachine.Event] = [], seed: UInt64 = 1, now: UInt64 = 0)
        -> ConnectionStateMachine
    {
        var core = ConnectionStateMachine(seed: seed)
        _ = core.handle(.start, now: now)
        for event in events { _ = core.handle(event, now: now) }
        return core
    }

    /// The back-off after disconnecting at `now`, to the millisecond.
    private static func wait(_ core: inout ConnectionStateMachine, from now: UInt64) -> UInt64? {
        (0...2_000).first { core.tick(now: now + .milliseconds($0)) == .connect }.map { .milliseconds($0) }
    }

    @Test func `starting connects exactly once`() {
        var core = ConnectionStateMachine(seed: 1)
        #expect(core.handle(.start, now: 0) == .connect)
        #expect(core.handle(.start, now: 0) == .none)
        #expect(!core.isConnected)
        #expect(core.handle(.didConnect, now: 0) == .none)
        #expect(core.isConnected)
        #expect(core.handle(.start, now: 0) == .none)
    }

    @Test func `only an established connection is reported as lost`() {
        var tried = Self.started()
        #expect(tried.handle(.didDisconnect, now: 0) == .none)
        var stood = Self.started([.didConnect])
        #expect(stood.handle(.didDisconnect, now: 0) == .lost)
        #expect(!stood.isConnected)
        #expect(stood.handle(.didDisconnect, now: 0) == .none)
    }

    @Test func `no attempt is made before the back-off is over, and exactly one after it`() throws {
        var core = Self.started([.didDisconnect], seed: 3)
        let wait = try #require(Self.wait(&core, from: 0))
        #expect(wait > 0)
        #expect(core.tick(now: .seconds(5)) == .none)
    }

    @Test func `each back-off is random below a ceiling that doubles up to the maximum`() throws {
        for attempt in 0..<10 {
            let ceiling = min(UInt64.seconds(1), .milliseconds(50) << UInt64(attempt))
            var waits: [UInt64] = []
            for seed in 0..<200 as Range<UInt64> {
                var core = Self.started(seed: seed)
                for _ in 0..<attempt {
                    _ = core.handle(.didDisconnect, now: 0)
                    _ = core.tick(now: .seconds(1))
                }
                _ = core.handle(.didDisconnect, now: 0)
                waits.append(try #require(Self.wait(&core, from: 0)))
            }
            #expect(waits.allSatisfy { $0 <= ceiling })
            #expect(waits.contains { $0 < ceiling / 4 } && waits.contains { $0 > ceiling / 4 * 3 }, "\(attempt)")
        }
    }

    @Test(arguments: [0, .seconds(1) - 1, .seconds(1)] as [UInt64])
    func `the back-off starts over only after a connection that lasted for the maximum back-off`(stood: UInt64) throws {
        var longest: UInt64 = 0
        for seed in 0..<100 as Range<UInt64> {
            var core = Self.started(seed: seed)
            for _ in 0..<8 {
                _ = core.handle(.didDisconnect, now: 0)
                _ = core.tick(now: .seconds(1))
            }
            _ = core.handle(.didConnect, now: 0)
            _ = core.handle(.didDisconnect, now: stood)
            longest = max(longest, try #require(Self.wait(&core, from: stood)))
        }
        #expect(longest > .milliseconds(500) || stood == .seconds(1))
        #expect(longest <= .milliseconds(50) || stood < .seconds(1))
    }

    @Test func `after a failed first attempt that is abandoned, nothing follows until it starts again`() {
        var core = ConnectionStateMachine(seed: 1)
        #expect(core.isInactive)
        #expect(core.handle(.start, now: 0) == .connect)
        #expect(core.handle(.abandon, now: 0) == .none && !core.isInactive, "the attempt is under way")
        #expect(core.handle(.didDisconnect, now: 0) == .none)
        #expect(core.handle(.abandon, now: 0) == .none)
        #expect(core.isInactive && !core.isStopped)
        #expect(core.tick(now: .seconds(60)) == .none)
        #expect(core.handle(.start, now: .seconds(60)) == .connect)
        #expect(core.handle(.didConnect, now: .seconds(60)) == .none)
        #expect(core.handle(.abandon, now: .seconds(60)) == .none && core.isConnected)
    }

    @Test func `stopping closes the connection or attempt, and nothing follows`() {
        var (standing, trying, waiting, idle) = (
            Self.started([.didConnect]), Self.started(), Self.started([.didDisconnect]), ConnectionStateMachine(seed: 1)
        )
        #expect(standing.handle(.stop, now: 0) == .close)
        #expect(trying.handle(.stop, now: 0) == .close)
        #expect(waiting.handle(.stop, now: 0) == .none)
        #expect(idle.handle(.stop, now: 0) == .none)
        #expect(idle.handle(.abandon, now: 0) == .none)
        #expect(idle.handle(.start, now: 0) == .none)
        #expect(idle.handle(.stop, now: 0) == .none)
        #expect(standing.handle(.didDisconnect, now: 0) == .none)
        #expect(waiting.tick(now: .seconds(60)) == .none)
        #expect(trying.handle(.didConnect, now: 0) == .close)
        #expect(!trying.isConnected)
    }

    @Test func `an attempt that succeeds after it was given up is closed`() {
        var waiting = Self.started([.didDisconnect])
        #expect(waiting.handle(.didConnect, now: 0) == .close)
        #expect(!waiting.isConnected)
        var idle = ConnectionStateMachine(seed: 1)
        #expect(idle.handle(.didConnect, now: 0) == .close)
        #expect(idle.handle(.didDisconnect, now: 0) == .none)
    }

    @Test func `a silent peer is checked, and given up without an answer`() {
        let core = Self.started([.didConnect])
        #expect(core.healthCheck(lastReceived: 0, oldestUnanswered: nil, now: .milliseconds(500) - 1) == .none)
        #expect(core.healthCheck(lastReceived: 0, oldestUnanswered: nil, now: .milliseconds(500)) == .ping)
        #expect(
            core.healthCheck(lastReceived: 0, oldestUnanswered: .milliseconds(500), now: .milliseconds(3_500) - 1)
                == .none)
        #expect(
            core.healthCheck(lastReceived: 0, oldestUnanswered: .milliseconds(500), now: .milliseconds(3_500))
                == .giveUp)
    }

    @Test func `a busy connection whose oldest command is unanswered is given up too`() {
        let core = Self.started([.didConnect])
        #expect(core.healthCheck(lastReceived: .seconds(9), oldestUnanswered: .seconds(6), now: .seconds(9)) == .giveUp)
    }

    @Test func `a connection that is down is not checked`() {
        #expect(Self.started().healthCheck(lastReceived: 0, oldestUnanswered: 0, now: .seconds(60)) == .none)
        #expect(
            Self.started([.didConnect, .didDisconnect]).healthCheck(
                lastReceived: 0, oldestUnanswered: nil, now: .seconds(60)) == .none)
    }
}
