// The invariants of every run, checked from outside. The oracle compares what each follower was shown with what the
// server holds, and the clients' notifications with the outages that happened, and checks what remains at the end.

@testable import Resilience

final class Oracle {
    // Unowned here and elsewhere: the world owns these objects, and reference counting costs time.
    private unowned(unsafe) let world: World
    private(set) var violation: (text: String, job: Int?)?
    private(set) var hash: UInt64 = 14_695_981_039_346_656_037
    private(set) var resets = 0
    /// Acknowledged statuses, and those that a failover lost.
    private var acknowledged: [Int] = []
    private var lost: Set<Int> = []
    private var lastSilentLoss: UInt64?
    private var willCheck = false
    /// By link: since when it cannot work. By gateway: since when anything is wrong.
    private var deadSince: [UInt64?]
    private var troubledSince: [UInt64?]
    /// By gateway: when something was last wrong, and when its followers were last checked.
    private var lastTrouble: [UInt64]
    private var lastLook: [UInt64]

    /// The latest time after the start of an outage at which `degraded` must be sent.
    static let latestNotice = UInt64.milliseconds(3_200)
    /// Silence counts from the last received packet: the server may have been reachable for this long after that.
    static let lastWord = UInt64.milliseconds(600)
    static let betweenLooks = UInt64.milliseconds(500)
    /// All connections are back this long after the last fault: a silent loss is noticed after 3.5 s, the next attempt after 1.
    static let reconnecting = UInt64.milliseconds(5_500)

    init(world: World) {
        self.world = world
        self.deadSince = Array(repeating: nil, count: 3 * world.plan.gateways)
        self.troubledSince = Array(repeating: 0, count: world.plan.gateways)
        self.lastTrouble = Array(repeating: 0, count: world.plan.gateways)
        self.lastLook = Array(repeating: 0, count: world.plan.gateways)
    }

    func fail(_ text: String, job: Int? = nil) {
        guard self.violation == nil else { return }
        self.violation = (text, job)
        self.world.trace(job) { text }
    }

    private func note(_ what: Int, _ follower: Follower) {
        self.hash = (self.hash ^ UInt64(what << 8 | follower.index)) &* 1_099_511_628_211
    }

    // MARK: What followers are shown

    func shows(_ view: View, to follower: Follower, isReset: Bool) {
        self.note(view.head, follower)
        self.world.trace(view.job) {
            "f\(follower.index) is shown a \(isReset ? "state" : "continuation"): status m\(view.head), "
                + "position m\(view.position)"
        }
        follower.wasShown = true
        if isReset {
            self.resets += 1
            follower.status = view.head
        } else {
            for status in view.missed { self.shows(status: status, to: follower) }
            if follower.status != view.head {
                self.fail(
                    "f\(follower.index) was told that nothing is lost, but is not at m\(view.head)", job: view.job)
            }
        }
        follower.position = view.position
        follower.positionID = view.position < 0 ? 0 : self.world.messages[view.position].id
    }

    func shows(status: Int, to follower: Follower) {
        self.note(status, follower)
        let message = self.world.messages[status]
        self.world.trace(message.job) { "f\(follower.index) is shown status m\(status)" }
        if message.job != follower.job || message.predecessor != follower.status || !follower.wasShown {
            self.fail(
                "f\(follower.index) is shown status m\(status), which follows m\(message.predecessor), "
                    + "but has m\(follower.status)", job: message.job)
        }
        follower.status = status
    }

    func shows(position: Int, to follower: Follower) {
        self.note(position, follower)
        let message = self.world.messages[position]
        self.world.trace(message.job) { "f\(follower.index) is shown position m\(position)" }
        if message.job != follower.job || message.id <= follower.positionID || !follower.wasShown {
            self.fail("f\(follower.index) is shown position m\(position) after m\(follower.position)", job: message.job)
        }
        (follower.position, follower.positionID) = (position, message.id)
    }

    func acknowledged(_ status: Int) { self.acknowledged.append(status) }
    func lost(_ status: Int) { self.lost.insert(status) }
    func lostSilently() { self.lastSilentLoss = self.world.now }

    func reads(_ gateway: GatewayModel) {
        guard gateway.readsInFlight > self.world.plan.maxInFlight else { return }
        self.fail("\(gateway.readsInFlight) reads are in flight")
    }

    // MARK: What clients are told about the server, and whether it is true

    /// Called at each tick of a gateway.
    func observe(_ gateway: GatewayModel, _ notice: Outage.Notice?, unresponsiveSince: UInt64?) {
        let (now, server) = (self.world.now, self.world.server!)
        var isDead = false
        for link in gateway.links {
            guard
                !self.world.isWhole(link) || now < link.stalledUntil || now < server.frozenUntil
            else {
                self.deadSince[link.index] = nil
                continue
            }
            isDead = true
            let since = max(self.deadSince[link.index] ?? now, link.heard, gateway.wentOn)
            self.deadSince[link.index] = since
            if now >= since + Self.latestNotice, !gateway.outage.isDegraded {
                self.fail("link \(link.index) is down since \(since / 1_000_000) ms without a notification")
            }
        }
        let isTroubled = isDead || !gateway.isSettled
        self.observe(gateway, notice, troubled: isTroubled ? unresponsiveSince ?? now : unresponsiveSince)
        let isFault = !self.world.isCalm && self.world.plan.faults.contains { $0.isUnderWay(at: now) }
        if isTroubled || isFault || unresponsiveSince != nil { self.lastTrouble[gateway.index] = now }
        self.look(gateway)
        if self.world.isCalm { self.observeCalm(isDead) }
    }

    private func observe(_ gateway: GatewayModel, _ notice: Outage.Notice?, troubled: UInt64?) {
        let (now, index) = (self.world.now, gateway.index)
        self.troubledSince[index] = troubled.map { min($0, self.troubledSince[index] ?? $0) }
        guard let notice else { return }
        self.world.trace { "g\(index) notifies its clients: \(notice)" }
        switch notice {
        case .degraded:
            let earliest = (self.troubledSince[index] ?? now) + gateway.outage.patience
            if now + Self.lastWord < earliest {
                self.fail("degraded is sent \((earliest - now) / 1_000_000) ms too early")
            }
        case .restored:
            let waiting = gateway.table.joined().first { $0.wasShown && !$0.following.isLive }
            if let waiting { self.fail("restored is sent while f\(waiting.index) waits", job: waiting.job) }
            if !gateway.isSettled { self.fail("restored is sent while a resync is pending") }
        }
    }

    /// Once connections are back after the last fault, every follower must soon have the latest state.
    private func observeCalm(_ isDead: Bool) {
        guard !self.willCheck else { return }
        let (now, calmAt) = (self.world.now, self.world.plan.calmAt)
        let stand = !isDead && self.world.links.allSatisfy { self.world.isWhole($0) }
        if stand {
            self.willCheck = true
            let publishingEnds = calmAt + Plan.publishing
            self.world.agenda.add(
                .checkpoint,
                at: max(max(now, publishingEnds) + Plan.recovery, (self.lastSilentLoss ?? 0) + Plan.reconciliation))
        } else if now > calmAt + Self.reconnecting {
            self.fail("connections are not re-established")
        }
    }

    /// If nothing has been wrong for a while, everything that the server has held for as long must have been shown.
    private func look(_ gateway: GatewayModel) {
        let (now, index) = (self.world.now, gateway.index)
        guard now >= max(self.lastLook[index] + Self.betweenLooks, self.lastTrouble[index] + Plan.recovery) else {
            return
        }
        if let loss = self.lastSilentLoss, now < loss + Plan.reconciliation { return }
        self.lastLook[index] = now
        for follower in gateway.table.joined() where follower.following.isLive {
            let (job, server) = (follower.job, self.world.server!)
            let (status, position) = (server.status(job, for: Plan.recovery), server.position(job, for: Plan.recovery))
            if follower.status < status { self.fail("f\(follower.index) has not seen status m\(status)", job: job) }
            if follower.position < position {
                self.fail("f\(follower.index) has not seen position m\(position)", job: job)
            }
        }
    }

    // MARK: The end

    /// Followers see the current state.
    func checkpoint() {
        for follower in self.world.followers where follower.wasShown && follower.stage != .away {
            let (job, server) = (follower.job, self.world.server!)
            if follower.status != server.head(job) {
                self.fail("f\(follower.index) sees status m\(follower.status), not m\(server.head(job))", job: job)
            }
            if follower.position != server.lastPosition(job) {
                self.fail(
                    "f\(follower.index) sees position m\(follower.position), not m\(server.lastPosition(job))", job: job
                )
            }
        }
    }

    func finish() {
        self.checkpoint()
        if !self.willCheck { self.fail("connections were not re-established") }
        for follower in self.world.followers where follower.isWanted {
            if follower.stage != .shown || !follower.following.isLive {
                self.fail("f\(follower.index) is still waiting", job: follower.job)
            }
        }
        for status in self.acknowledged where !self.lost.contains(status) {
            let job = self.world.messages[status].job
            if !self.world.server.holds(status, of: job) {
                self.fail("the acknowledged status m\(status) is lost", job: job)
            }
        }
        for gateway in self.world.gateways { self.finish(gateway) }
    }

    /// Nothing remains of followers that left.
    private func finish(_ gateway: GatewayModel) {
        let followed = gateway.table.indices.filter { !gateway.table[$0].isEmpty }
        var held: [Channels] = [0, 0, 0]
        for job in followed {
            for channel in [2 * job, 2 * job + 1] { held[gateway.link(of: channel).index % 3] |= 1 << channel }
        }
        for link in gateway.links {
            if self.world.server.subscribed[link.index] != held[link.index % 3] {
                self.fail("link \(link.index) is subscribed to \(self.world.server.subscribed[link.index].numbers)")
            }
            if link.subscribing.count != held[link.index % 3].nonzeroBitCount || !link.subscribing.areAllAcknowledged {
                self.fail("link \(link.index) still tracks \(link.subscribing.count) channels")
            }
        }
        if gateway.scheduler.count != followed.count || !gateway.isSettled {
            self.fail("\(gateway.scheduler.count) jobs are scheduled, but \(followed.count) are followed")
        }
        if gateway.outage.isDegraded { self.fail("restored was not sent") }
    }
}

extension SubscriptionStateMachine {
    fileprivate var areAllAcknowledged: Bool { self.channels.values.allSatisfy { $0 == .acknowledged } }
}
