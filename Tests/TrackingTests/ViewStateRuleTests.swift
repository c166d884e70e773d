import EnrouteWire
import Testing

@testable import Tracking

@Suite struct ViewStateRuleTests {
    private static let now = UInt64.seconds(1000)

    private static func state(end: EndReason? = nil, travelling: Bool = true, age: Double? = 1) -> ViewState {
        ViewFacts(end: end, isTravelling: travelling, shownAt: age.map { self.now - .seconds($0) }).state(now: self.now)
    }

    @Test func `US-072 AC-001: with travel mode on and a position there is something to see`() {
        #expect(Self.state() == .live && Self.state().showsMarker)
    }

    @Test func `US-072 AC-004: on the way without travel mode waits, and says that the location will follow`() {
        let state = Self.state(travelling: false, age: nil)
        #expect(state == .waiting && !state.showsMarker)
        #expect(TrackingTexts.english[state.text].spoken.hasPrefix("Live location will be available once"))
        #expect(Self.state(age: nil) == .waiting)
    }

    @Test func `US-072 AC-005: stale is more than 30 s, and the marker stays`() {
        #expect(Self.state(age: 30) == .live)
        #expect(Self.state(age: 30.001) == .stale && ViewState.stale.showsMarker)
    }

    @Test func `US-072 AC-003: switched off by hand is a pause, not an arrival, and shows no marker`() {
        let paused = Self.state(end: .deactivated, travelling: false)
        #expect(paused == .paused && !paused.showsMarker && paused.text != ViewState.arrived.text)
        #expect(Self.state(end: .arrived, travelling: false) == .arrived)
    }

    @Test func `a pause is over once travel mode is on again`() {
        #expect(Self.state(end: .deactivated, travelling: true) == .live)
        #expect(Self.state(end: .deactivated, travelling: true, age: nil) == .waiting)
    }

    @Test(arguments: [EndReason.timeLimit, .completed, .cancelled, .revoked, .reassigned])
    func `what ended otherwise says why, whatever else is so`(reason: EndReason) {
        for travelling in [true, false] {
            #expect(Self.state(end: reason, travelling: travelling) == .ended(reason))
        }
        #expect(!ViewState.ended(reason).showsMarker)
    }

    @Test func `the moment of turning stale is known beforehand`() throws {
        let facts = ViewFacts(isTravelling: true, shownAt: Self.now)
        let change = try #require(facts.changes(after: Self.now))
        #expect(facts.state(now: change - 1) == .live && facts.state(now: change) == .stale)
        #expect(facts.changes(after: change) == nil)
        #expect(ViewFacts(isTravelling: true, shownAt: nil).changes(after: Self.now) == nil)
    }

    // MARK: why unavailable

    /// Travelling, connected, a first reading accepted at 0 s.
    private static var silent: Unavailability {
        var unavailability = Unavailability()
        unavailability.connection(isOpen: true)
        unavailability.started(now: 0)
        unavailability.accepted(now: 0)
        return unavailability
    }

    private static let later = UInt64.seconds(60)

    @Test func `there is nothing to explain while readings come, nor with travel mode off`() {
        #expect(Self.silent.reason(now: .seconds(30)) == nil)
        var off = Self.silent
        off.stopped()
        #expect(off.reason(now: Self.later) == nil)
    }

    @Test(arguments: UnavailableReason.allCases)
    func `what the rider's client says is what is told, until a reading comes`(reason: UnavailableReason) {
        var unavailability = Self.silent
        unavailability.report(reason, now: .seconds(10))
        #expect(unavailability.reason(now: Self.later) == reason)
        unavailability.accepted(now: Self.later)
        #expect(unavailability.reason(now: Self.later + 1) == nil)
        #expect(unavailability.reason(now: .seconds(120)) == (reason == .navigationHandoff ? reason : .unknown))
        #expect(!TrackingTexts.german[TrackingTextKey(reason)].spoken.isEmpty)
    }

    @Test func `a rider that went to a navigation app is not there for ever`() {
        var unavailability = Self.silent
        unavailability.report(.navigationHandoff, now: 0)
        #expect(unavailability.reason(now: Unavailability.handoff) == .navigationHandoff)
        #expect(unavailability.reason(now: Unavailability.handoff + 1) == .unknown)
    }

    @Test func `what somebody else shows ends a silence for as long as it is fresh, and nothing that was said`() {
        var unavailability = Self.silent
        unavailability.report(.hidden, now: .seconds(10))
        unavailability.resumed(shownAt: .seconds(40))
        #expect(unavailability.reason(now: Self.later) == nil)
        unavailability.resumed(shownAt: .seconds(20))
        #expect(unavailability.reason(now: Self.later) == nil)
        #expect(unavailability.reason(now: .seconds(71)) == .hidden)
    }

    @Test func `without a word, a lost connection is the network, or an empty battery`() {
        var unavailability = Self.silent
        unavailability.connection(isOpen: false)
        #expect(unavailability.reason(now: Self.later) == .network)
        unavailability.battery(percent: 4)
        #expect(unavailability.reason(now: Self.later) == .lowBattery)
        unavailability.battery(percent: 60)
        #expect(unavailability.reason(now: Self.later) == .network)
    }

    @Test func `a silence begins when a position is called old, however long that is configured to take`() {
        for seconds in [1.0, 3600] {
            var unavailability = Unavailability(freshFor: .seconds(seconds))
            unavailability.connection(isOpen: true)
            unavailability.started(now: 0)
            unavailability.accepted(now: 0)
            #expect(unavailability.reason(now: .seconds(seconds)) == nil)
            #expect(unavailability.reason(now: .seconds(seconds) + 1) == .unknown)
            unavailability.refused(now: .seconds(seconds))
            #expect(unavailability.reason(now: .seconds(2 * seconds)) == .noFix)
            #expect(unavailability.reason(now: .seconds(2 * seconds) + 1) == .unknown)
        }
    }

    @Test func `a receiver has 20 s for its first reading, and readings of no use are none`() {
        var unavailability = Unavailability()
        unavailability.connection(isOpen: true)
        unavailability.started(now: 0)
        #expect(unavailability.reason(now: Unavailability.firstFix) == nil)
        #expect(unavailability.reason(now: Unavailability.firstFix + 1) == .noFix)
        var refused = Self.silent
        refused.refused(now: .seconds(50))
        #expect(refused.reason(now: Self.later) == .noFix)
        #expect(Self.silent.reason(now: Self.later) == .unknown)
    }
}
