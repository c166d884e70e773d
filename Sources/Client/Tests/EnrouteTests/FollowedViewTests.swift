// Tests of views: each rule, and random histories in which the rules hold after every message.

import Foundation
import Testing

@testable import Enroute

/// Views: each rule, and random histories in which the rules hold after every message, as in
/// Tests/JavaScript/enroute-view.test.mjs.
@Suite struct FollowedViewTests {
    static let job: JobID = "visit-1"
    static let now = Moment(now: 50_000, wall: 9_000_000)

    static func location(_ id: Int, _ seconds: Double, north: Double = 0, acc: Double = 5, text: String? = nil)
        -> ServerMessage
    {
        .location(Self.job, Self.position(id, seconds, north: north, acc: acc, text: text))
    }

    static func position(_ id: Int, _ seconds: Double, north: Double = 0, acc: Double = 5, text: String? = nil)
        -> WireLocation
    {
        let at: Double = 1_795_248_617_000 + seconds * 1000
        let lat: Double = 41.9 + north / 111_195
        return WireLocation(
            id: text ?? String(1_795_248_617_626_000 + id), at: at, received: at + 100, lat: lat, lon: 12.5, acc: acc,
            spd: nil, hdg: nil, snapped: nil)
    }

    static func snapshot(
        tracking: String = "live", epoch: String = "e1", id: String = "1795248617000-0", position: WireLocation?,
        eta: WireArrival? = nil
    ) -> WireSnapshot {
        WireSnapshot(
            kind: .service, status: .onTheWay, statusAt: 1,
            steps: [
                ("assigned", "complete"), ("on_the_way", "active"), ("work_in_progress", "upcoming"),
                ("completed", "upcoming"),
            ]
            .map { WireSnapshot.Step(status: JobStatus(rawValue: $0.0), state: $0.1) }, epoch: epoch, id: id,
            destination: .init(lat: 41.9, lon: 12.6), geocoding: nil, vendor: nil, vendorAddress: nil, riderCard: nil,
            display: nil, metadata: nil, customerNote: nil, recipient: nil,
            tracking: tracking, reason: nil,
            text: tracking, unavailable: nil, travelDeadline: nil, position: position, positionAgeMs: 800, eta: eta,
            missed: [])
    }

    static func subscribed(_ position: WireLocation? = FollowedViewTests.position(1, 0), tracking: String = "live")
        -> ServerMessage
    {
        .subscribed(Self.job, Self.snapshot(tracking: tracking, position: position))
    }

    static func status(_ id: Int, _ status: JobStatus, epoch: String = "e1") -> ServerMessage {
        .status(
            Self.job,
            WireStatus(epoch: epoch, prev: "", id: "\(1_795_248_617_000 + id)-0", status: status, at: Double(id)))
    }

    static func after(_ messages: ServerMessage...) -> FollowedView {
        var view = FollowedView(job: Self.job)
        for message in messages { _ = view.apply(message, at: Self.now) }
        return view
    }

    private func change(_ view: FollowedView, _ message: ServerMessage, fastest: Double = 60) -> (
        FollowedView.Change?, JobView?
    ) {
        var view = view
        let change = view.apply(message, at: Self.now, fastest: fastest)
        return (change, view.view)
    }

    @Test func `a snapshot is the whole state, and its position has the age in the snapshot`() throws {
        let view = try #require(Self.after(Self.subscribed()).view)
        #expect(
            view.kind == .service && view.status == .onTheWay && view.tracking == .live && view.cursor.epoch == "e1")
        #expect(view.positionArrivedAt == Date(ms: 9_000_000 - 800))
    }

    @Test func `nothing is shown before a snapshot`() {
        for message in [Self.location(2, 1), Self.status(1, .completed)] {
            #expect(Self.after(message).view == nil)
        }
    }

    @Test func `a newer position replaces an older one, never the other way round`() {
        let view = Self.after(Self.subscribed(), Self.location(5, 1, north: 10))
        #expect(view.view?.position?.id == Self.position(5, 0).id)
        #expect(self.change(view, Self.location(4, 2, north: 20)).0 == nil)
        #expect(self.change(view, Self.location(5, 1, north: 10)).0 == nil)
        let big = Self.after(Self.subscribed(nil), Self.location(0, 1, text: "9007199254740993"))
        #expect(self.change(big, Self.location(0, 1, text: "9007199254740992")).0 == nil)
        #expect(self.change(big, Self.location(0, 1, text: "9007199254740994")).0 == .location)
        #expect(self.change(big, Self.location(0, 1, text: "10007199254740993")).0 == .location)
    }

    @Test func `a position of any accuracy is shown, because the gateway publishes only acceptable ones`() {
        let (change, view) = self.change(Self.after(Self.subscribed()), Self.location(2, 1, north: 5, acc: 200))
        #expect(change == .location && view?.position?.accuracy == 200)
        #expect(Self.after(Self.subscribed(Self.position(1, 0, acc: 200))).view?.position?.accuracy == 200)
    }

    @Test func `a jump of 61 m per s is implausible, one of 59 is not`() {
        let view = Self.after(Self.subscribed(Self.position(1, 0, acc: 0)))
        #expect(self.change(view, Self.location(2, 10, north: 610, acc: 0)).0 == nil)
        #expect(self.change(view, Self.location(2, 10, north: 590, acc: 0)).0 == .location)
        #expect(self.change(view, Self.location(2, 10, north: 1_190, acc: 0), fastest: 120).0 == .location)
    }

    @Test func `an outlier is skipped, and readings that agree with each other replace the position`() {
        let skipped = Self.after(Self.subscribed(), Self.location(2, 1, north: 9_000), Self.location(3, 2, north: 20))
        #expect(skipped.view?.position?.id == Self.position(3, 0).id)
        var doubting = Self.after(Self.subscribed())
        for second in 1...3 {
            _ = doubting.apply(Self.location(second + 1, Double(second), north: 9_000 + Double(second)), at: Self.now)
        }
        #expect(doubting.view?.position?.id == Self.position(1, 0).id)
        #expect(self.change(doubting, Self.location(9, 4, north: 9_004)).0 == .location)
        var wild = Self.after(Self.subscribed())
        for second in 1...6 {
            _ = wild.apply(Self.location(second + 1, Double(second), north: 9_000 * Double(second)), at: Self.now)
        }
        #expect(wild.view?.position?.id == Self.position(1, 0).id)
    }

    @Test func `a position ends the unavailable and stale states`() {
        let silent = Self.after(
            Self.subscribed(), .tracking(Self.job, WireTracking(state: "stale", reason: nil, text: "stale")),
            .unavailable(Self.job, text: "unavailable_network"))
        #expect(silent.view?.tracking == .stale && silent.view?.unavailableKey == "unavailable_network")
        let heard = self.change(silent, Self.location(2, 40, north: 5))
        #expect(heard.1?.tracking == .live && heard.1?.unavailableKey == nil)
        // A reading that is not shown also proves that the phone is connected.
        let unlikely = self.change(silent, Self.location(2, 40, north: 9_000))
        #expect(unlikely.0 == .tracking && unlikely.1?.position == silent.view?.position)
    }

    @Test(arguments: ["paused", "arrived", "ended", "waiting"])
    func `without a rider there is no marker and no arrival time`(state: String) {
        let eta = WireArrival(state: "ok", arrivesAt: 9, at: 1, confidence: nil, stopsBefore: nil, source: nil)
        var view = Self.after(.subscribed(Self.job, Self.snapshot(position: Self.position(1, 0), eta: eta)))
        let change = view.apply(.tracking(Self.job, WireTracking(state: state, reason: nil, text: state)), at: Self.now)
        #expect(change == .tracking && view.view?.position == nil && view.view?.arrival == nil)
        #expect(self.change(view, Self.location(7, 3, north: 3)).0 == (state == "waiting" ? .location : nil))
        #expect(self.change(view, .eta(Self.job, eta)).0 == (state == "waiting" ? .eta : nil))
    }

    @Test func `a status advances the steps, and a known one changes nothing`() {
        let view = Self.after(Self.subscribed(), Self.status(5, .workInProgress))
        #expect(view.view?.steps.map(\.state) == [.complete, .complete, .active, .upcoming])
        for late in [
            Self.status(5, .workInProgress), Self.status(4, .onTheWay), Self.status(9, .completed, epoch: "e2"),
        ] {
            #expect(self.change(view, late).0 == nil)
        }
        let steps = view.view?.steps ?? []
        #expect(FollowedView.steps(steps, at: .completed).allSatisfy { $0.state == .complete })
        #expect(
            FollowedView.steps(steps, at: .cancelled).map(\.state) == [.complete, .complete, .cancelled, .cancelled])
        #expect(FollowedView.steps(steps, at: .allocationFailed) == steps)
    }

    @Test func `a resumed subscription keeps a newer position, and a reset always wins`() {
        let view = Self.after(Self.subscribed(), Self.location(9, 1, north: 10), Self.status(7, .workInProgress))
        #expect(self.change(view, Self.subscribed(Self.position(4, 0))).1?.position?.id == Self.position(9, 0).id)
        #expect(self.change(view, Self.subscribed(nil, tracking: "paused")).1?.position == nil)
        let reset = ServerMessage.reset(Self.job, Self.snapshot(position: Self.position(2, 0)))
        var fresh = view
        #expect(fresh.apply(reset, at: Self.now) == .reset)
        #expect(fresh.view?.position?.id == Self.position(2, 0).id && fresh.view?.status == .onTheWay)
        #expect(self.change(fresh, Self.location(3, 1, north: 3)).0 == .location)
    }

    @Test func `a refused or ended view shows no rider and ignores later messages`() {
        var ended = Self.after(Self.subscribed())
        #expect(ended.apply(.ended(Self.job, .completed), at: Self.now) == .ended)
        #expect(ended.view?.position == nil && ended.view?.ended == .completed)
        #expect(self.change(ended, Self.location(9, 1)).0 == nil)
        #expect(self.change(ended, .ended(Self.job, .completed)).0 == nil)
        var refused = Self.after(Self.subscribed())
        #expect(refused.refuse(EnrouteError(.notFound, "no")) == .refused)
        #expect(refused.view?.position == nil && self.change(refused, Self.location(9, 1)).0 == nil)
    }

    @Test
    func `in random histories a view never goes back, repetition changes nothing and a reset replaces everything`() {
        var random = Seeded(seed: 7)
        for history in 1...1_500 {
            var view = FollowedView(job: Self.job)
            var (id, moment, messages) = (1, Self.now, [ServerMessage]())
            for count in 0..<40 {
                id += Int.random(in: 1...3, using: &random)
                moment.now += Double.random(in: 0..<2_000, using: &random)
                let place = Self.position(
                    id, Double(count), north: Double(count) * 20 + .random(in: 0..<30, using: &random),
                    acc: Int.random(in: 0..<10, using: &random) == 0 ? 300 : 8)
                let state = Self.snapshot(
                    tracking: ["live", "stale", "paused", "waiting"].randomElement(using: &random)!,
                    epoch: ["e1", "e1", "e1", "e2"].randomElement(using: &random)!, id: "\(1_795_248_617_000 + id)-0",
                    position: Bool.random(using: &random) ? place : nil)
                var choices: [ServerMessage] = [
                    .location(Self.job, place), .location(Self.job, place), .location(Self.job, place),
                    Self.status(id, Bool.random(using: &random) ? .onTheWay : .workInProgress),
                    .tracking(
                        Self.job,
                        WireTracking(
                            state: ["live", "stale", "paused", "arrived"].randomElement(using: &random)!, reason: nil,
                            text: "x")),
                    .subscribed(Self.job, state), .reset(Self.job, state),
                    .unavailable(Self.job, text: "unavailable_network"),
                ]
                choices += messages.suffix(2)
                let message = choices.randomElement(using: &random)!
                messages.append(message)
                let before = view
                let change = view.apply(message, at: moment)
                let context = "history \(history), message \(count): \(message)"
                if change == nil, let old = before.view {
                    #expect(
                        view.view?.position == old.position && view.view?.status == old.status
                            && view.view?.tracking == old.tracking, "\(context)")
                }
                if case .reset = message {
                    var alone = FollowedView(job: Self.job)
                    _ = alone.apply(message, at: moment)
                    #expect(alone.view == view.view, "\(context)")
                } else if let old = before.view, let new = view.view, old.cursor.epoch == new.cursor.epoch {
                    if let was = old.position, let now = new.position {
                        #expect(!FollowedView.isAfter(was.id, now.id), "\(context)")
                    }
                    #expect(!(StatusID(new.cursor.id) < StatusID(old.cursor.id)), "\(context)")
                }
                if view.view?.tracking.hasPosition == false { #expect(view.view?.position == nil, "\(context)") }
                let again = view
                #expect(view.apply(message, at: moment) == nil && view == again, "\(context)")
            }
        }
    }

    @Test func `distances are great-circle distances`() {
        let meters = Place(latitude: 52.52, longitude: 13.405).distance(to: Place(latitude: 48.1375, longitude: 11.575))
        #expect(abs(meters - 504_200) < 1_000)
    }
}

/// A generator of the same numbers in every run.
struct Seeded: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { self.state = seed &* 0x9E37_79B9_7F4A_7C15 }

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var z = self.state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
