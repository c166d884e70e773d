// One run: time, randomness, the links between gateways and the server, and everything that was published or read. The seed
// determines all of it.

import Resilience

final class World {
    let seed: UInt64
    let flaw: Flaw?
    var random: SplitMix
    var agenda = Agenda()
    private(set) var now: UInt64 = 0
    var isCalm = false
    var hasEnded = false
    private(set) var server: ServerModel!
    private(set) var gateways: [GatewayModel] = []
    private(set) var links: [Link] = []
    private(set) var followers: [Follower] = []
    private(set) var messages: ContiguousArray<Message> = []
    /// Packets waiting for a frozen server, in order.
    private var frozen: [Event] = []
    private(set) var views: ContiguousArray<View> = []
    private(set) var oracle: Oracle!
    let plan: Plan
    let log: Trace?

    init(seed: UInt64, flaw: Flaw? = nil, isTraced: Bool = false) {
        self.seed = seed
        self.flaw = flaw
        self.random = SplitMix(seed: seed)
        self.plan = Plan(&self.random, emphasis: flaw?.emphasis)
        self.log = isTraced ? Trace() : nil
        self.oracle = Oracle(world: self)
        self.server = ServerModel(world: self, links: 3 * self.plan.gateways, jobs: self.plan.jobs)
        for gateway in 0..<self.plan.gateways {
            let links = (0..<3).map { Link(3 * gateway + $0, of: gateway, seed: self.random.next()) }
            self.links += links
            self.gateways.append(GatewayModel(gateway, links, world: self))
        }
        for (index, stay) in self.plan.stays.enumerated() {
            self.followers.append(Follower(index, of: stay.job, at: stay.gateway))
        }
    }

    /// Runs to the end, or to the first violation.
    func run() -> Outcome {
        for job in 0..<self.plan.jobs { self.server.create(job) }
        for gateway in self.gateways { gateway.start() }
        self.plan.arrange(in: self)
        var (events, hash) = (0, UInt64(14_695_981_039_346_656_037))
        while !self.hasEnded, self.oracle.violation == nil, let entry = self.agenda.next() {
            self.now = entry.time
            self.perform(entry.event)
            events += 1
            hash = (hash ^ entry.time ^ UInt64(self.messages.count)) &* 1_099_511_628_211
        }
        if !self.hasEnded { self.oracle.fail("the run stopped before its end") }
        return Outcome(
            seed: self.seed, violation: self.oracle.violation, events: events,
            hash: (hash ^ self.oracle.hash) &* 1_099_511_628_211, resets: self.oracle.resets)
    }

    private func perform(_ event: Event) {
        if let gateway = self.gateway(of: event), gateway.isStopped { return gateway.missed.append(event) }
        switch event {
        case .tick(let gateway): self.gateways[gateway].tick()
        case .arrives(let link, let generation, let packet):
            guard self.links[link].generation == generation, self.links[link].isUp else { return }
            self.gateway(of: link).arrived(packet, on: self.links[link])
        case .reaches(let link, let generation, let packet):
            guard !self.waitsForServer(event), self.server.sessions[link] == generation else { return }
            self.server.handle(packet, on: self.links[link])
        case .attempt(let link, let generation): self.attempted(self.links[link], generation, event)
        case .didConnect(let link, let generation):
            guard self.links[link].generation == generation else { return }
            self.gateway(of: link).didConnect(self.links[link])
        case .didDisconnect(let link, let generation):
            guard self.links[link].generation == generation else { return }
            self.gateway(of: link).didDisconnect(self.links[link])
        case .hungUp(let link, let generation):
            if self.server.sessions[link] == generation { self.server.closed(self.links[link]) }
        case .flush(let link): self.gateway(of: link).flush(self.links[link])
        case .requestAgain(let link, let channels): self.gateway(of: link).requestAgain(self.links[link], channels)
        case .publishPosition(let job): self.plan.publishPosition(job, in: self)
        case .publishStatus(let job): self.plan.publishStatus(job, in: self)
        case .come(let follower): self.gateway(of: self.followers[follower]).come(self.followers[follower])
        case .go(let follower): self.plan.go(self.followers[follower], in: self)
        case .fault(let fault): self.plan.faults[fault].begin(in: self, number: fault)
        case .repaired(let fault): self.plan.faults[fault].end(in: self)
        case .calm: self.isCalm = true
        case .checkpoint: self.oracle.checkpoint()
        case .end:
            self.oracle.finish()
            self.hasEnded = true
        }
    }

    private func gateway(of link: Int) -> GatewayModel { self.gateways[self.links[link].gateway] }
    func gateway(of follower: Follower) -> GatewayModel { self.gateways[follower.gateway] }

    private func gateway(of event: Event) -> GatewayModel? {
        switch event {
        case .tick(let gateway): self.gateways[gateway]
        case .arrives(let link, _, _), .didConnect(let link, _), .didDisconnect(let link, _), .flush(let link),
            .requestAgain(let link, _):
            self.gateway(of: link)
        case .come(let follower), .go(let follower): self.gateway(of: self.followers[follower])
        default: nil
        }
    }

    /// A gateway that was stopped processes the messages that arrived meanwhile.
    func goOn(_ gateway: GatewayModel) {
        let events = gateway.missed
        gateway.missed = []
        gateway.wentOn = self.now
        for event in events { self.perform(event) }
    }

    // MARK: Storage

    func add(
        _ kind: Message.Kind, job: Int, id: UInt64, previous: UInt64?, predecessor: Int, epoch: Int
    ) -> Int {
        let index = self.messages.count
        let frame = [UInt8(truncatingIfNeeded: index), UInt8(truncatingIfNeeded: index >> 8)]
        self.messages.append(
            Message(
                kind: kind, job: job, id: id, previous: previous, predecessor: predecessor, epoch: epoch, frame: frame))
        self.trace(job) { "m\(index) is a \(kind), id \(id)" + (previous.map { " after \($0)" } ?? "") }
        return index
    }

    func keep(_ view: View) -> Int {
        self.views.append(view)
        return self.views.count - 1
    }

    // MARK: Links

    /// Packets in one direction of a connection never overtake.
    func sendToGateway(_ link: Link, _ packet: Packet, late: UInt64 = 0) {
        link.lastArrival = max(link.lastArrival + 1, max(self.now, link.stalledUntil) + self.delay(link) + late)
        let generation = self.server.sessions[link.index]
        self.agenda.add(.arrives(link: link.index, generation: generation, packet), at: link.lastArrival)
    }

    func sendToServer(_ link: Link, _ packet: Packet) {
        link.lastReach = max(link.lastReach + 1, max(self.now, link.stalledUntil) + self.delay(link))
        self.agenda.add(.reaches(link: link.index, generation: link.generation, packet), at: link.lastReach)
    }

    /// Whether both ends know the same connection.
    func isWhole(_ link: Link) -> Bool { link.isUp && self.server.sessions[link.index] == link.generation }

    func delay(_ link: Link) -> UInt64 {
        let most = self.now < link.slowUntil ? link.slowness : self.plan.latencies[link.index]
        let usual = .milliseconds(1) / 4 + self.random.upTo(most)
        guard !self.isCalm, self.random.upTo(255) == 0 else { return usual }
        return usual + self.random.upTo(.milliseconds(400))
    }

    /// A frozen server processes incoming packets when it continues.
    private func waitsForServer(_ event: Event) -> Bool {
        guard self.now < self.server.frozenUntil else { return false }
        self.frozen.append(event)
        return true
    }

    func thaw() {
        guard self.now >= self.server.frozenUntil else { return }
        let events = self.frozen
        self.frozen = []
        for event in events { self.perform(event) }
    }

    private func attempted(_ link: Link, _ generation: Int, _ event: Event) {
        guard !self.waitsForServer(event), link.generation == generation else { return }
        link.lastArrival = max(self.now, link.stalledUntil) + self.delay(link)
        guard self.server.isDown == 0 else {
            return self.agenda.add(.didDisconnect(link: link.index, generation: generation), at: link.lastArrival)
        }
        self.server.opened(link, generation)
        self.agenda.add(.didConnect(link: link.index, generation: generation), at: link.lastArrival)
    }

    /// The server's end of a connection is closed. Packets in flight still arrive if the end is reported in order.
    func cut(_ link: Link, isHeard: Bool, inOrder: Bool) {
        guard self.server.sessions[link.index] != 0 else { return }
        let generation = self.server.sessions[link.index]
        self.server.closed(link)
        guard isHeard else { return }
        let soon = self.now + self.delay(link)
        self.agenda.add(
            .didDisconnect(link: link.index, generation: generation),
            at: inOrder ? max(soon, link.lastArrival + 1) : soon)
    }

    // MARK: Trace

    @inline(__always)
    func trace(_ job: Int? = nil, _ line: () -> String) {
        if let log = self.log { log.add(self.now, job, line()) }
    }
}
