// The plan of a run, derived from its seed: sizes, followers that join and leave, what is published, and the time of each
// fault.

import Resilience

struct Plan: CustomStringConvertible {
    /// Some seeds force combinations that are rare by chance.
    enum Emphasis {
        case none
        /// Clients leave and return before anything is acknowledged, on slow links.
        case impatience
        /// Snapshots are slow, and channels are lost meanwhile.
        case slowness
        /// Repeated failovers, and clients that send what they saw of the previous master.
        case succession

        var kinds: [Fault.Kind] {
            switch self {
            case .none, .impatience: Fault.kinds
            case .slowness: [.cut, .cutAtOnce, .slotMove, .vanish]
            case .succession: [.failover]
            }
        }
    }

    let emphasis: Emphasis
    let gateways: Int
    let jobs: Int
    /// Followers: where, of which job, and whether they come and go within milliseconds.
    let stays: [(gateway: Int, job: Int, isImpatient: Bool)]
    let faults: [Fault]
    /// The two channels of a job are always on two connections; this decides whether those of one kind are spread too.
    let isSpread: Bool
    let maxInFlight: Int
    /// Repairs after a loss start within this time.
    let spread: UInt64
    /// The usual maximum delay of a packet, per link: one may be much slower than its neighbors.
    let latencies: [UInt64]
    let calmAt: UInt64
    /// One in this many subscriptions (plus one) ends immediately because its slot moves.
    var slotMoves: UInt64 { self.emphasis == .impatience ? 2 : 63 }

    /// Clients must have the latest state when nothing was wrong for this long and connections are back.
    static let recovery = UInt64.seconds(2)
    /// Time limit for detecting a silent loss.
    static let reconciliation = UInt64.seconds(10)
    /// Length of the calm phase at the end: enough for a check of every job.
    static let calm = UInt64.seconds(15)
    /// How long publishers continue in the calm phase.
    static let publishing = UInt64.seconds(1)

    init(_ random: inout SplitMix, emphasis chosen: Emphasis? = nil) {
        let usual: [Emphasis] = [.none, .none, .impatience, .slowness, .succession]
        let emphasis = chosen ?? usual[Int(random.upTo(4))]
        let gateways = 1 + Int(random.upTo(1))
        let jobs = 2 + Int(random.upTo(random.upTo(3) == 0 ? 4 : 1))
        var stays: [(gateway: Int, job: Int, isImpatient: Bool)] = []
        for job in 0..<jobs {
            for gateway in 0..<gateways {
                let isImpatient = emphasis == .impatience || random.upTo(3) == 0
                for _ in 0..<(isImpatient ? 1 : random.upTo(2)) { stays.append((gateway, job, isImpatient)) }
            }
        }
        self.stays = stays.isEmpty ? [(0, 0, false)] : stays
        let active = UInt64.seconds(3) + random.upTo(.seconds(5))
        var faults: [Fault] = []
        for _ in 0..<random.upTo(5) {
            // Half of them overlap with another.
            let soon = random.upTo(1) == 0 ? faults.last?.at : nil
            faults.append(
                Fault(&random, after: soon, within: active, links: 3 * gateways, kinds: emphasis.kinds))
        }
        if emphasis == .slowness {
            faults.append(Fault(kind: .slowReads, at: .milliseconds(300), duration: active, choice: 0))
        }
        self.faults = faults
        self.calmAt = max(active, faults.map { $0.at + $0.duration }.max() ?? 0) + 1
        self.gateways = gateways
        self.jobs = jobs
        self.isSpread = random.upTo(1) == 0
        self.maxInFlight = 1 + Int(random.upTo(3))
        self.spread = random.upTo(1) == 0 ? 0 : .milliseconds(300)
        self.latencies = (0..<3 * gateways).map { link in
            switch (emphasis, link % 3) {
            case (.impatience, 0): .milliseconds(4) << random.upTo(4)
            case (.impatience, 1): .milliseconds(64) << random.upTo(2)
            case (.impatience, _): .milliseconds(1) << random.upTo(2)
            case (_, 2): .milliseconds(1) << random.upTo(5)
            default: .milliseconds(1) << random.upTo(7)
            }
        }
        self.emphasis = emphasis
    }

    var description: String {
        "\(self.gateways) gateways, \(self.jobs) jobs, \(self.stays.count) followers, "
            + "at most \(self.maxInFlight) reads; calm from \(self.calmAt / 1_000_000) ms; "
            + self.faults.map { "\($0.kind) at \($0.at / 1_000_000) for \($0.duration / 1_000_000) ms" }
            .joined(separator: ", ")
    }

    // MARK: Start

    func arrange(in world: World) {
        for job in 0..<self.jobs {
            world.agenda.add(.publishPosition(job: job), at: world.random.upTo(.milliseconds(500)))
            world.agenda.add(.publishStatus(job: job), at: world.random.upTo(.seconds(2)))
        }
        for follower in world.followers {
            follower.isWanted = true
            let at = self.arrival(&world.random)
            world.agenda.add(.come(follower: follower.index), at: at)
            guard self.stays[follower.index].isImpatient || world.random.upTo(1) == 0 else { continue }
            world.agenda.add(.go(follower: follower.index), at: at + self.stay(of: follower, world))
        }
        for (number, fault) in self.faults.enumerated() {
            world.agenda.add(.fault(number), at: fault.at)
            world.agenda.add(.repaired(number), at: fault.at + fault.duration)
        }
        world.agenda.add(.calm, at: self.calmAt)
        world.agenda.add(.end, at: self.calmAt + Self.calm)
    }

    /// At the start, at any time, or during a fault.
    private func arrival(_ random: inout SplitMix) -> UInt64 {
        switch random.upTo(3) {
        case 0 where !self.faults.isEmpty:
            let fault = self.faults[Int(random.upTo(UInt64(self.faults.count - 1)))]
            return fault.at + random.upTo(fault.duration + .milliseconds(100)) - .milliseconds(50)
        case 1: return random.upTo(.seconds(3))
        default: return random.upTo(.milliseconds(200))
        }
    }

    // MARK: Publishers, each at its own gateway, and refused while that has no connection

    func publishPosition(_ job: Int, in world: World) {
        guard world.now < self.calmAt + Self.publishing else { return }
        let gateway = world.gateways[job % self.gateways]
        if gateway.commands.isUp, !gateway.isStopped { gateway.ask(.write, .position(job: job)) }
        let usual = UInt64.milliseconds(200) + world.random.upTo(.milliseconds(300))
        world.agenda.add(.publishPosition(job: job), at: world.now + self.pause(&world.random, instead: usual))
    }

    func publishStatus(_ job: Int, in world: World) {
        guard world.now < self.calmAt + Self.publishing else { return }
        let gateway = world.gateways[job % self.gateways]
        if gateway.commands.isUp, !gateway.isStopped { gateway.ask(.write, .status(job: job)) }
        let usual = world.random.upTo(world.random.upTo(2) > 0 ? .milliseconds(150) : .seconds(2))
        world.agenda.add(.publishStatus(job: job), at: world.now + self.pause(&world.random, instead: usual))
    }

    /// Now and then there is a long pause, so that a later message does not make up for one that was missed before.
    private func pause(_ random: inout SplitMix, instead usual: UInt64) -> UInt64 {
        random.upTo(3) == 0 ? .seconds(2) + random.upTo(.seconds(4)) : usual
    }

    // MARK: Followers

    func go(_ follower: Follower, in world: World) {
        guard !world.isCalm else { return }
        follower.isWanted = false
        world.trace(follower.job) { "f\(follower.index) leaves" }
        world.gateway(of: follower).leave(follower)
        guard world.random.upTo(7) > 0 else { return }
        follower.isWanted = true
        let isImpatient = self.stays[follower.index].isImpatient
        let back = world.now + world.random.upTo(isImpatient ? .milliseconds(5) : .seconds(2))
        world.agenda.add(.come(follower: follower.index), at: back)
        guard world.random.upTo(isImpatient ? 15 : 2) > 0 else { return }
        world.agenda.add(.go(follower: follower.index), at: back + self.stay(of: follower, world))
    }

    /// An impatient follower leaves before everything is acknowledged, or stays just long enough to miss something.
    private func stay(of follower: Follower, _ world: World) -> UInt64 {
        let isShort = self.stays[follower.index].isImpatient && world.random.upTo(3) > 0
        return isShort ? world.random.upTo(.milliseconds(100)) : .seconds(1) + world.random.upTo(.seconds(4))
    }
}
