// A model of Realtime/Relay around the real state machines. For new followers, it subscribes, reads and shows the
// result; messages are offered to every follower; missing ones cause a resync. The deliberate flaws are here.

import Fanout
import Resilience

extension GatewayModel {
    private var flaw: Flaw? { self.world.flaw }
    private var oracle: Oracle { self.world.oracle }

    // MARK: Followers

    func come(_ follower: Follower) {
        guard follower.stage == .away, follower.isWanted else { return }
        follower.attempt += 1
        follower.stage = .authorising
        follower.wasShown = false
        follower.following = FollowerSyncState()
        follower.resumes = follower.status >= 0 && self.world.random.upTo(3) > 0
        self.world.trace(follower.job) { "f\(follower.index) \(follower.resumes ? "rejoins" : "joins")" }
        let request = Request.authorise(follower: follower.index, attempt: follower.attempt)
        if self.flaw == .readsBeforeSubscribing { return self.ask(request, self.snapshot(for: follower)) }
        self.ask(request, .view(job: follower.job, epoch: 0, since: 0))
    }

    private func authorised(_ follower: Follower) {
        follower.stage = .subscribing
        self.table[follower.job].append(follower)
        if self.flaw == .followsEarly { self.scheduler.follow(follower.job, now: self.world.now) }
        var isRefused = false
        for channel in follower.channels.numbers {
            let link = self.link(of: channel)
            if !link.isUp, !link.subscribing.contains(channel) { isRefused = true }
            guard !isRefused, !link.subscribing.subscribe(channel) else { continue }
            follower.awaiting |= 1 << channel
            self.flushSoon(link)
        }
        if isRefused { return self.refuse(follower) }
        if follower.awaiting == 0 || self.flaw == .awaitsNoAcknowledgement { self.acknowledged(follower) }
    }

    private func granted(_ channel: Int) {
        for follower in self.table[channel / 2] where follower.awaiting & (1 << channel) != 0 {
            follower.awaiting &= ~(1 << channel)
            if follower.awaiting == 0, follower.stage == .subscribing { self.acknowledged(follower) }
        }
    }

    /// Both channels are acknowledged. From now on nothing is missed, so the state that is read now is the beginning.
    private func acknowledged(_ follower: Follower) {
        follower.stage = .reading
        self.scheduler.follow(follower.job, now: self.world.now)
        if let early = follower.early { return self.present(early, to: follower) }
        let request = Request.snapshot(follower: follower.index, attempt: follower.attempt)
        self.ask(request, self.snapshot(for: follower))
    }

    private func snapshot(for follower: Follower) -> Packet {
        guard follower.resumes else { return .view(job: follower.job, epoch: 0, since: 0) }
        let seen = self.world.messages[follower.status]
        return .view(job: follower.job, epoch: seen.epoch, since: Int(seen.id))
    }

    private func present(_ view: Int, to follower: Follower) {
        follower.stage = .shown
        follower.early = nil
        // A repair was faster, or will be the first state that the follower is shown.
        guard !follower.following.isLive else { return }
        guard !follower.following.needsResync || self.flaw == .believesOldSnapshot else { return }
        let view = self.world.views[view]
        self.oracle.shows(view, to: follower, isReset: view.isReset || !follower.resumes)
        if !self.synchronise(follower, view) { self.demand(follower.job) }
    }

    /// - Returns: whether nothing is missing between the view and the messages that waited for it.
    private func synchronise(_ follower: Follower, _ view: View) -> Bool {
        let position = view.position < 0 ? nil : self.world.messages[view.position].id
        let waited = follower.following.snapshot(
            position: position, epoch: epochNames[view.epoch], status: Int(view.headID))
        for frame in waited?.frames ?? [] { self.show(frame, to: follower) }
        return waited != nil
    }

    func leave(_ follower: Follower) {
        guard follower.stage != .away else { return }
        follower.stage = .away
        follower.awaiting = 0
        follower.early = nil
        guard let place = self.table[follower.job].firstIndex(where: { $0 === follower }) else { return }
        self.table[follower.job].remove(at: place)
        guard self.table[follower.job].isEmpty else { return }
        for channel in follower.channels.numbers {
            let link = self.link(of: channel)
            if link.subscribing.unsubscribe(channel) { self.flushSoon(link) }
        }
        self.scheduler.unfollow(follower.job)
    }

    /// The client learns that following is currently impossible, and retries.
    private func refuse(_ follower: Follower) {
        self.leave(follower)
        self.world.trace(follower.job) { "f\(follower.index) is refused" }
        let again = UInt64.milliseconds(100) + self.world.random.upTo(.milliseconds(900))
        self.world.agenda.add(.come(follower: follower.index), at: self.world.now + again)
    }

    /// Every follower that waits for one of these channels.
    func refuse(_ channels: Channels) {
        for job in self.table.indices where channels & (3 << Channels(2 * job)) != 0 {
            for follower in self.table[job] where follower.awaiting & channels != 0 { self.refuse(follower) }
        }
    }

    // MARK: Packets

    func arrived(_ packet: Packet, on link: Link) {
        link.heard = self.world.now
        switch packet {
        case .message(let message): return self.relay(message)
        case .ended(let channels): return channels.numbers.forEach { self.subscriptionEnded($0, on: link) }
        default: break
        }
        guard let request = link.takeQuestion() else { preconditionFailure("an answer without a question") }
        if case .refused = packet {
            guard case .subscribe(let channels) = request else { return self.failed(request) }
            return self.subscriptionRefused(channels, on: link)
        }
        switch (request, packet) {
        case (.subscribe(let channels), _): channels.numbers.forEach { self.subscribed($0, on: link) }
        case (.unsubscribe(let channels), _): channels.numbers.forEach { self.subscriptionEnded($0, on: link) }
        case (.write, .written(let status)): self.oracle.acknowledged(status)
        case (.reread(let read), .viewed(let view)): self.answered(self.reads[read], self.world.views[view])
        case (.authorise(let index, let attempt), .viewed(let view)):
            let follower = self.world.followers[index]
            guard follower.stage == .authorising, follower.attempt == attempt else { return }
            if self.flaw == .readsBeforeSubscribing { follower.early = view }
            self.authorised(follower)
        case (.snapshot(let index, let attempt), .viewed(let view)):
            let follower = self.world.followers[index]
            if follower.stage == .reading, follower.attempt == attempt { self.present(view, to: follower) }
        case (.ping, .done), (.write, .done): break
        default: preconditionFailure("\(request) was answered with \(packet)")
        }
    }

    func failed(_ request: Request) {
        switch request {
        case .reread(let read):
            self.readsInFlight -= 1
            _ = self.scheduler.answered(self.reads[read], .failed, now: self.world.now)
        case .authorise(let index, let attempt), .snapshot(let index, let attempt):
            let follower = self.world.followers[index]
            if follower.stage != .away, follower.attempt == attempt { self.refuse(follower) }
        case .ping, .subscribe, .unsubscribe, .write: break
        }
    }

    private func subscribed(_ channel: Int, on link: Link) {
        switch link.subscribing.acknowledged(channel) {
        case .granted: self.granted(channel)
        case .restored:
            if self.flaw != .ignoresRegained { self.demand(channel / 2, within: self.world.plan.spread) }
            self.granted(channel)
        case .outdated: if self.flaw == .takesLateAcknowledgement { self.granted(channel) }
        }
    }

    private func relay(_ index: Int) {
        let message = self.world.messages[index]
        var isGap = false
        for follower in self.table[message.job] {
            if message.kind == .position {
                let isShown = follower.following.position(message.id, message.frame)
                if isShown || self.flaw == .showsTwice && follower.following.isLive {
                    self.oracle.shows(position: index, to: follower)
                }
                continue
            }
            let verdict = follower.following.status(
                FollowerSyncState.Status(
                    id: Int(message.id), previous: message.previous.map(Int.init), epoch: epochNames[message.epoch],
                    frame: message.frame))
            if verdict == .gap { isGap = true }
            if verdict == .show || self.flaw == .showsTwice && verdict == .skip && follower.following.isLive {
                self.oracle.shows(status: index, to: follower)
            }
        }
        if isGap { self.demand(message.job) }
    }

    private func show(_ frame: [UInt8], to follower: Follower) {
        let index = Int(frame[0]) | Int(frame[1]) << 8
        if self.world.messages[index].kind == .position {
            self.oracle.shows(position: index, to: follower)
        } else {
            self.oracle.shows(status: index, to: follower)
        }
    }

    // MARK: Resync

    private func demand(_ job: Int, within spread: UInt64 = 0) {
        guard self.scheduler.repair(job, within: spread, now: self.world.now) else { return }
        self.world.trace(job) { "g\(self.index) requests a repair" }
        for follower in self.table[job] { follower.following.invalidate() }
    }

    func reread() {
        for read in self.scheduler.due(now: self.world.now) {
            if read.purpose == .repair {
                for follower in self.table[read.job] { follower.following.invalidate() }
            } else if self.flaw == .neverReconciles {
                _ = self.scheduler.answered(read, .matches, now: self.world.now)
                continue
            }
            self.reads.append(read)
            self.readsInFlight += 1
            self.oracle.reads(self)
            self.world.trace(read.job) { "g\(self.index) reads for a \(read.purpose)" }
            self.ask(.reread(self.reads.count - 1), .view(job: read.job, epoch: 0, since: 0))
        }
    }

    private func answered(_ read: ResyncScheduler<Int>.Read, _ view: View) {
        self.readsInFlight -= 1
        let (job, now, epoch) = (read.job, self.world.now, epochNames[view.epoch])
        let followers = self.table[job]
        guard read.purpose == .check else {
            guard self.scheduler.answered(read, .matches, now: now) else { return }
            var isGap = false
            for follower in followers where !follower.following.isLive {
                guard follower.following.needsResync || self.flaw == .resetsNewcomers else { continue }
                self.oracle.shows(view, to: follower, isReset: true)
                if !self.synchronise(follower, view) { isGap = true }
            }
            if isGap { self.demand(job) }
            return
        }
        let agrees = followers.allSatisfy { $0.following.agrees(epoch: epoch, status: Int(view.headID)) }
        guard self.scheduler.answered(read, agrees ? .matches : .mismatch, now: now), view.position >= 0 else { return }
        let position = self.world.messages[view.position]
        for follower in followers where follower.following.position(position.id, position.frame) {
            self.oracle.shows(position: view.position, to: follower)
        }
    }
}
