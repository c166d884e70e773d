import EnrouteWire
import Testing

@testable import Tracking

@Suite struct ViewStateRuleTests {
    private static let now = UInt64.seconds(1000)

    private static func state(end: EndReason? = nil, travelling: Bool = true, age: Double? = 1) -> ViewState {
        ViewFacts(end: end, isTravelling: travelling, shownAt: age.map { self.now - .seconds($0) }).state(now: self.now)
    }

    @Test func `US-072 AC-001: with travel mode on and a location the state is live`() {
        #expect(Self.state() == .live && Self.state().showsMarker)
    }

    @Test func `US-072 AC-004: on the way without travel mode the state is waiting`() {
        let state = Self.state(travelling: false, age: nil)
        #expect(state == .waiting && !state.showsMarker)
        #expect(TrackingTexts.english[state.text].spoken.hasPrefix("Live location will be available once"))
        #expect(Self.state(age: nil) == .waiting)
    }

    @Test func `US-072 AC-005: after more than 30 s the state is stale, and the marker stays`() {
        #expect(Self.state(age: 30) == .live)
        #expect(Self.state(age: 30.001) == .stale && ViewState.stale.showsMarker)
    }

    @Test func `US-072 AC-003: switching travel mode off is a pause, not an arrival, and removes the marker`() {
        let paused = Self.state(end: .deactivated, travelling: false)
        #expect(paused == .paused && !paused.showsMarker && paused.text != ViewState.arrived.text)
        #expect(Self.state(end: .arrived, travelling: false) == .arrived)
    }

    @Test func `a pause ends when travel mode is switched on again`() {
        #expect(Self.state(end: .deactivated, travelling: true) == .live)
        #expect(Self.state(end: .deactivated, travelling: true, age: nil) == .waiting)
    }

    @Test(arguments: [EndReason.timeLimit, .completed, .cancelled, .revoked, .reassigned])
    func `every other end keeps its reason, whatever else is true`(reason: EndReason) {
        for travelling in [true, false] {
            #expect(Self.state(end: reason, travelling: travelling) == .ended(reason))
        }
        #expect(!ViewState.ended(reason).showsMarker)
    }

    @Test func `the time at which the state becomes stale is known in advance`() throws {
        let facts = ViewFacts(isTravelling: true, shownAt: Self.now)
        let change = try #require(facts.changes(after: Self.now))
        #expect(facts.state(now: change - 1) == .live && facts.state(now: change) == .stale)
        #expect(facts.changes(after: change) == nil)
        #expect(ViewFacts(isTravelling: true, shownAt: nil).changes(after: Self.now) == nil)
    }

    // MARK: why unavailable

    /// Travel mode is on, the rider is connected, and the first reading was accepted at 0 s.
    private static var silent: Unavailability {
        var unavailability = Unavailability()
        unavailability.connection(isOpen: true)
        unavailability.started(now: 0)
        unavailability.accepted(now: 0)
        return unavailability
    }

    private static let later = UInt64.seconds(60)

    @Test func `there is no reason while readings arrive, nor with travel mode off`() {
        #expect(Self.silent.reason(now: .seconds(30)) == nil)
        var off = Self.silent
        off.stopped()
        #expect(off.reason(now: Self.later) == nil)
    }

    @Test(arguments: UnavailableReason.allCases)
    func `the reason of the rider's client applies until a reading is accepted`(reason: UnavailableReason) {
        var unavailability = Self.silent
        unavailability.report(reason, now: .seconds(10))
        #expect(unavailability.reason(now: Self.later) == reason)
        unavailability.accepted(now: Self.later)
        #expect(unavailability.reason(now: Self.later + 1) == nil)
        #expect(unavailability.reason(now: .seconds(120)) == (reason == .navigationHandoff ? reason : .unknown))
        #expect(!TrackingTexts.german[TrackingTextKey(reason)].spoken.isEmpty)
    }

    @Test func `the reason navigation_handoff ends after ten minutes`() {
        var unavailability = Self.silent
        unavailability.report(.navigationHandoff, now: 0)
        #expect(unavailability.reason(now: Unavailability.handoff) == .navigationHandoff)
        #expect(unavailability.reason(now: Unavailability.handoff + 1) == .unknown)
    }

    @Test func `a location from another gateway ends the silence but not the reported reason`() {
        var unavailability = Self.silent
        unavailability.report(.hidden, now: .seconds(10))
        unavailability.resumed(shownAt: .seconds(40))
        #expect(unavailability.reason(now: Self.later) == nil)
        unavailability.resumed(shownAt: .seconds(20))
        #expect(unavailability.reason(now: Self.later) == nil)
        #expect(unavailability.reason(now: .seconds(71)) == .hidden)
    }

    @Test func `without a reported reason, a lost connection means network or low battery`() {
        var unavailability = Self.silent
        unavailability.connection(isOpen: false)
        #expect(unavailability.reason(now: Self.later) == .network)
        unavailability.battery(percent: 4)
        #expect(unavailability.reason(now: Self.later) == .lowBattery)
        unavailability.battery(percent: 60)
        #expect(unavailability.reason(now: Self.later) == .network)
    }

    @Test func `a silence starts when the location is stale, for every configured time`() {
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

    @Test func `a receiver has 20 s for its first accepted reading`() {
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
