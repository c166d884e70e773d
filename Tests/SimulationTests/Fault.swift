// Faults of connections, paths and the server. Each starts, and ends by itself before the calm phase.

import Resilience

struct Fault {
    enum Kind {
        /// Connections end, and the gateway learns of it before or after it receives what was in flight.
        case cut, cutAtOnce
        /// Connections are lost, and neither side learns of it.
        case vanish
        /// A path stalls: nothing is lost, everything is late.
        case stall
        /// A reader is slow until the server disconnects it.
        case slowReader
        case slowPath
        /// SIGSTOP: nothing is answered, then everything.
        case freeze
        /// The same for a gateway.
        case stop
        /// The replica is promoted.
        case failover
        /// The server restarts with its data on disk, but without positions.
        case restart
        /// Messages of one connection are lost without a trace.
        case silentLoss
        case loading
        case slowReads
        /// A job is deleted and created again, without a message about it.
        case recreation
        /// The slot of a job moves, which ends subscriptions.
        case slotMove
    }

    /// By frequency.
    static let kinds: [Kind] = [
        .cut, .cut, .cutAtOnce, .vanish, .stall, .stall, .slowReader, .slowPath, .freeze, .freeze, .stop, .stop,
        .failover, .failover,
        .failover, .restart, .silentLoss, .silentLoss, .loading, .slowReads,
        .recreation, .slotMove,
    ]

    let kind: Kind
    let at: UInt64
    let duration: UInt64
    /// For links, one bit each; for others, the data they need.
    let choice: UInt64

    init(kind: Kind, at: UInt64, duration: UInt64, choice: UInt64) {
        (self.kind, self.at, self.duration, self.choice) = (kind, at, duration, choice)
    }

    /// - Parameter before: the start of a fault that this one follows immediately.
    init(_ random: inout SplitMix, after before: UInt64?, within active: UInt64, links: Int, kinds: [Kind]) {
        self.kind = kinds[Int(random.upTo(UInt64(kinds.count - 1)))]
        self.at =
            before.map { $0 + random.upTo(.milliseconds(400)) }
            ?? .milliseconds(300) + random.upTo(active - .milliseconds(300))
        self.duration = random.upTo(random.upTo(1) == 0 ? .milliseconds(800) : .seconds(5))
        let links = (UInt64(1) << UInt64(links)) - 1
        let choice = random.next()
        self.choice = random.upTo(2) == 0 ? links : choice
    }

    /// Whether followers may be behind because of it now. Not for slow reads: a follower that waits for one is not behind.
    func isUnderWay(at now: UInt64) -> Bool {
        self.kind != .slowReads && now >= self.at && now <= self.at + self.duration
    }

    private func links(of world: World) -> [Link] {
        let chosen = world.links.filter { self.choice & (1 << UInt64($0.index)) != 0 }
        return chosen.isEmpty ? [world.links[Int(self.choice >> 8) % world.links.count]] : chosen
    }

    private func link(of world: World) -> Link { world.links[Int(self.choice >> 16) % world.links.count] }

    private func gateway(of world: World) -> GatewayModel {
        world.gateways[Int(self.choice >> 16) % world.gateways.count]
    }

    func begin(in world: World, number: Int) {
        let (server, until) = (world.server!, self.at + self.duration)
        world.trace { "\(self.kind), until \(until / 1_000_000) ms" }
        switch self.kind {
        case .cut: for link in self.links(of: world) { world.cut(link, isHeard: true, inOrder: true) }
        case .cutAtOnce: for link in self.links(of: world) { world.cut(link, isHeard: true, inOrder: false) }
        case .vanish: for link in self.links(of: world) { world.cut(link, isHeard: false, inOrder: false) }
        case .stall: for link in self.links(of: world) { link.stalledUntil = max(link.stalledUntil, until) }
        case .slowReader: self.link(of: world).stalledUntil = max(self.link(of: world).stalledUntil, until)
        case .slowPath:
            let link = self.link(of: world)
            (link.slowUntil, link.slowness) = (max(link.slowUntil, until), .milliseconds(400))
        case .freeze: server.frozenUntil = max(server.frozenUntil, until)
        case .stop: self.gateway(of: world).stops += 1
        case .failover, .restart:
            server.isDown += 1
            for link in world.links { world.cut(link, isHeard: true, inOrder: self.choice & 1 == 0) }
        case .silentLoss:
            for link in world.links where link.isSubscriber && self.choice & (1 << UInt64(link.index)) != 0 {
                link.losses += 1 + Int(self.choice >> 32 % 2)
            }
        case .loading: server.loadingUntil = max(server.loadingUntil, until)
        case .slowReads: server.slowReads = (until, .milliseconds(1_500))
        case .recreation:
            guard server.isDown == 0 else { return }
            server.create(Int(self.choice % UInt64(world.plan.jobs)))
            world.oracle.lostSilently()
        case .slotMove: server.end(Int(self.choice % UInt64(2 * world.plan.jobs)))
        }
    }

    func end(in world: World) {
        switch self.kind {
        case .slowReader: world.cut(self.link(of: world), isHeard: true, inOrder: self.choice & 1 == 0)
        case .failover, .restart:
            world.server.isDown -= 1
            // Up to 800 ms of lag, and a clock up to 2 s off in either direction.
            world.server.takeOver(
                lag: self.duration + (self.choice >> 16) % .milliseconds(800),
                clockOffset: Int64((self.choice >> 20) % .seconds(4)) - Int64(UInt64.seconds(2)),
                keepsPositions: self.kind == .failover)
        case .freeze: world.thaw()
        case .stop:
            let gateway = self.gateway(of: world)
            gateway.stops -= 1
            if !gateway.isStopped { world.goOn(gateway) }
        case .silentLoss: for link in world.links { link.losses = 0 }
        default: break
        }
    }
}
