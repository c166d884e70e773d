// The connections of a gateway, as in the real one: two for channels, one for commands, and a tick that maintains them and the
// resyncs. RelayModel.swift processes what arrives.

import Resilience

final class GatewayModel {
    let index: Int
    let links: [Link]
    unowned(unsafe) let world: World
    /// Followers by job, from subscribing until they leave.
    var table: [[Follower]]
    var scheduler: ResyncScheduler<Int>
    var reads: [ResyncScheduler<Int>.Read] = []
    /// Unanswered reads, counted where they are sent.
    var readsInFlight = 0
    private(set) var outage = Outage()
    /// How many faults currently stop it, and the events that arrived meanwhile.
    var stops = 0
    var missed: [Event] = []
    var wentOn: UInt64 = 0

    static let tick = UInt64.milliseconds(50)
    /// Delay before a refused resubscription is retried.
    static let repairDelay = UInt64.milliseconds(500)

    init(_ index: Int, _ links: [Link], world: World) {
        self.index = index
        self.links = links
        self.world = world
        self.table = Array(repeating: [], count: world.plan.jobs)
        var bounds = ResyncScheduler<Int>.Bounds()
        bounds.maxInFlight = world.plan.maxInFlight
        self.scheduler = ResyncScheduler(bounds: bounds, seed: world.random.next(), now: 0)
    }

    var commands: Link { self.links[2] }
    var isStopped: Bool { self.stops > 0 }

    func link(of channel: Int) -> Link {
        self.links[self.world.plan.isSpread ? (channel / 2 + channel) & 1 : channel & 1]
    }

    var isSettled: Bool {
        self.scheduler.repairsOutstanding == 0 && self.links[0].subscribing.unrestored == 0
            && self.links[1].subscribing.unrestored == 0
    }

    func start() {
        for link in self.links where link.connecting.handle(.start, now: 0) == .connect { self.connect(link) }
        self.world.agenda.add(.tick(gateway: self.index), at: self.world.random.upTo(Self.tick))
    }

    // MARK: Time

    func tick() {
        let now = self.world.now
        var unresponsiveSince: UInt64?
        for link in self.links {
            if link.connecting.tick(now: now) == .connect { self.connect(link) }
            if link.isTrying, now >= link.triedSince + Link.attempt { self.giveUp(link) }
            switch link.connecting.healthCheck(
                lastReceived: link.heard, oldestUnanswered: link.oldestUnanswered, now: now)
            {
            case .none: break
            case .ping: self.send(.ping, .ping, on: link)
            case .giveUp: self.giveUp(link)
            }
            if let since = link.unresponsiveSince(now: now) {
                unresponsiveSince = min(unresponsiveSince ?? since, since)
            }
        }
        self.reread()
        let isSettled = self.isSettled || self.world.flaw == .restoresEarly
        let notice = self.outage.observe(unresponsiveSince: unresponsiveSince, isSettled: isSettled, now: now)
        self.world.oracle.observe(self, notice, unresponsiveSince: unresponsiveSince)
        self.world.agenda.add(.tick(gateway: self.index), at: now + Self.tick)
    }

    // MARK: Connections

    private func connect(_ link: Link) {
        link.generation += 1
        link.isTrying = true
        link.triedSince = self.world.now
        link.lastReach = max(self.world.now, link.stalledUntil) + self.world.delay(link)
        self.world.agenda.add(.attempt(link: link.index, generation: link.generation), at: link.lastReach)
    }

    func didConnect(_ link: Link) {
        guard link.isTrying else { return }
        link.isTrying = false
        guard link.connecting.handle(.didConnect, now: self.world.now) == .none else { return }
        link.heard = self.world.now
        self.world.trace { "link \(link.index) is connected" }
        guard link.isSubscriber else { return }
        link.subscribing.didConnect()
        self.flush(link)
    }

    private func giveUp(_ link: Link) {
        let there = max(self.world.now, link.stalledUntil) + self.world.delay(link)
        self.world.agenda.add(.hungUp(link: link.index, generation: link.generation), at: there)
        self.didDisconnect(link)
    }

    func didDisconnect(_ link: Link) {
        link.generation += 1
        link.isTrying = false
        guard link.connecting.handle(.didDisconnect, now: self.world.now) == .lost else { return }
        link.downSince = link.heard
        self.world.trace { "link \(link.index) fell" }
        while let request = link.takeQuestion() { self.failed(request) }
        guard link.isSubscriber else { return }
        _ = link.subscribing.didDisconnect()
        self.refuse(self.channels(of: link))
    }

    /// Sends a request over a link; fails immediately when it is down.
    func ask(_ request: Request, _ packet: Packet) {
        guard self.commands.isUp else { return self.failed(request) }
        self.send(request, packet, on: self.commands)
    }

    private func send(_ request: Request, _ packet: Packet, on link: Link) {
        link.asks(request, now: self.world.now)
        self.world.sendToServer(link, packet)
    }

    // MARK: Subscriptions

    /// Every channel that it may carry.
    private func channels(of link: Link) -> Channels {
        var channels: Channels = 0
        for channel in 0..<2 * self.table.count where self.link(of: channel) === link { channels |= 1 << channel }
        return channels
    }

    /// Subscriptions are sent together a little later, as at the end of a loop tick.
    func flushSoon(_ link: Link) {
        guard !link.willFlush else { return }
        link.willFlush = true
        self.world.agenda.add(.flush(link: link.index), at: self.world.now + 1)
    }

    func flush(_ link: Link) {
        link.willFlush = false
        guard link.subscribing.hasCommands else { return }
        for command in link.subscribing.commands() {
            switch command {
            case .subscribe(let names):
                for set in Channels.sets(names) {
                    self.world.trace { "link \(link.index) subscribes \(set.numbers)" }
                    self.send(.subscribe(set), .subscribe(set), on: link)
                }
            case .unsubscribe(let names):
                for set in Channels.sets(names) { self.send(.unsubscribe(set), .unsubscribe(set), on: link) }
            }
        }
    }

    func requestAgain(_ link: Link, _ channels: Channels) {
        link.subscribing.requestAgain(channels.numbers)
        self.flush(link)
    }

    func subscriptionRefused(_ channels: Channels, on link: Link) {
        let refused = link.subscribing.refused(channels.numbers)
        self.refuse((refused.givenUp + refused.again).reduce(0) { $0 | 1 << $1 })
        guard !refused.again.isEmpty else { return }
        self.world.agenda.add(
            .requestAgain(link: link.index, channels: refused.again.reduce(0) { $0 | 1 << $1 }),
            at: self.world.now + Self.repairDelay)
    }

    /// The server ended it: it is requested again where the slot is now, which is here, and counts as a repair.
    func subscriptionEnded(_ channel: Int, on link: Link) {
        guard link.subscribing.unsubscribed(channel), !self.table[channel / 2].isEmpty else { return }
        self.world.trace(channel / 2) { "channel \(channel) ended by the server" }
        _ = link.subscribing.subscribe(channel, isRepair: true)
        self.flushSoon(link)
    }
}
