// A model of Redis: job records and their status logs, last positions, ids as the scripts assign them, and channels per
// connection. The replica is the same state some time ago: a failover forgets everything newer than the lag.

import Resilience

/// A message that was published, or stored when a job was created. Its index is its identity, whatever id it has.
struct Message {
    enum Kind { case position, status, creation }

    let kind: Kind
    let job: Int
    let id: UInt64
    /// Of a status: the id before it, and the message that had that id when it was written.
    let previous: UInt64?
    let predecessor: Int
    let epoch: Int
    let frame: [UInt8]
}

/// A job as it was read.
struct View {
    var job = 0
    var epoch = 0
    /// The message at the head of the log, and its id.
    var head = 0
    var headID: UInt64 = 0
    /// The message of the last position; -1 when there is none.
    var position = -1
    /// Whether the reader's last status is missing from the log.
    var isReset = false
    var missed: [Int] = []
}

final class ServerModel {
    private struct StoredMessage {
        let message: Int
        let id: UInt64
        let epoch: Int
        let at: UInt64
    }

    private unowned(unsafe) let world: World
    private var logs: [[StoredMessage]] = []
    private var positions: [[StoredMessage]] = []
    private var epochs = 0
    /// Difference between its clock and virtual time, ns.
    private var clockOffset: Int64 = 0
    /// Number of current outages.
    var isDown = 0
    /// Until then nothing is answered; afterwards everything.
    var frozenUntil: UInt64 = 0
    /// Until then data commands and subscriptions are refused.
    var loadingUntil: UInt64 = 0
    /// Until then reads take up to this much longer.
    var slowReads: (until: UInt64, most: UInt64) = (0, 0)
    /// The server's view of each link's connection: its generation, 0 for none, and its subscriptions.
    var sessions: [Int]
    private(set) var subscribed: [Channels]

    init(world: World, links: Int, jobs: Int) {
        self.world = world
        self.sessions = Array(repeating: 0, count: links)
        self.subscribed = Array(repeating: 0, count: links)
        self.logs = Array(repeating: [], count: jobs)
        self.positions = Array(repeating: [], count: jobs)
    }

    // MARK: Scripts

    /// Creates a job, or creates it again with another epoch and a new log.
    func create(_ job: Int) {
        self.epochs += 1
        let id = self.world.flaw == .countsPlainly ? 1 : self.statusTime
        let message = self.world.add(.creation, job: job, id: id, previous: nil, predecessor: -1, epoch: self.epochs)
        self.logs[job].append(StoredMessage(message: message, id: id, epoch: self.epochs, at: self.world.now))
    }

    /// publish_location: id = max(previous + 1, TIME).
    func publishPosition(_ job: Int) {
        let previous = self.positions[job].last?.id ?? 0
        let id = self.world.flaw == .countsPlainly ? previous + 1 : max(previous + 1, self.clock / 1_000)
        let message = self.world.add(.position, job: job, id: id, previous: nil, predecessor: -1, epoch: 0)
        self.positions[job].append(StoredMessage(message: message, id: id, epoch: 0, at: self.world.now))
        self.publish(message, on: 2 * job)
    }

    /// publish_status: an id from the time and the content, greater than the last one of this log.
    func publishStatus(_ job: Int) -> Int {
        let head = self.logs[job][self.logs[job].count - 1]
        let id = self.statusID(after: head.id)
        let message = self.world.add(
            .status, job: job, id: id, previous: head.id, predecessor: head.message, epoch: head.epoch)
        self.logs[job].append(StoredMessage(message: message, id: id, epoch: head.epoch, at: self.world.now))
        self.publish(message, on: 2 * job + 1)
        return message
    }

    /// The time in ms and a digest of the previous id and the content: a promoted master may reach the same millisecond again
    /// and would otherwise give another status the id of a lost one.
    private func statusID(after previous: UInt64) -> UInt64 {
        switch self.world.flaw {
        case .countsPlainly: return previous + 1
        default:
            var digest = SplitMix(seed: previous ^ UInt64(self.world.messages.count) << 48)
            return max(previous + 1, self.statusTime | digest.next() >> (64 - Self.digestBits))
        }
    }

    private static let digestBits: UInt64 = 22
    private var statusTime: UInt64 { (self.clock / 1_000_000) << Self.digestBits }

    /// recover_job, and the last position.
    func view(_ job: Int, epoch: Int, since: UInt64) -> View {
        let log = self.logs[job]
        let head = log[log.count - 1]
        var view = View(job: job, epoch: head.epoch, head: head.message, headID: head.id)
        view.position = self.positions[job].last?.message ?? -1
        guard since > 0, epoch != head.epoch || since != head.id else { return view }
        if epoch == head.epoch, let seen = log.lastIndex(where: { $0.epoch == epoch && $0.id == since }) {
            view.missed = log[(seen + 1)...].map(\.message)
        } else {
            view.isReset = true
        }
        return view
    }

    func head(_ job: Int) -> Int { self.logs[job][self.logs[job].count - 1].message }
    func lastPosition(_ job: Int) -> Int { self.positions[job].last?.message ?? -1 }
    /// The message that it has held for at least this long; -1 for none.
    func status(_ job: Int, for age: UInt64) -> Int {
        self.logs[job].last { $0.at + age <= self.world.now }?.message ?? -1
    }
    func position(_ job: Int, for age: UInt64) -> Int {
        self.positions[job].last { $0.at + age <= self.world.now }?.message ?? -1
    }
    func holds(_ message: Int, of job: Int) -> Bool { self.logs[job].contains { $0.message == message } }

    /// The clock for microseconds and milliseconds; it starts far from zero, so that it can also be set back.
    private var clock: UInt64 { UInt64(Int64(self.world.now) + 1_000_000_000_000 + self.clockOffset) }

    // MARK: Channels

    private func publish(_ message: Int, on channel: Int) {
        for link in self.world.links where link.isSubscriber {
            guard self.subscribed[link.index] & (1 << channel) != 0, self.sessions[link.index] != 0 else { continue }
            if link.losses > 0 {
                link.losses -= 1
                self.world.oracle.lostSilently()
                self.world.trace { "link \(link.index) silently loses m\(message)" }
                continue
            }
            self.world.sendToGateway(link, .message(message))
        }
    }

    /// Handles a packet of a connection that the server knows.
    func handle(_ packet: Packet, on link: Link) {
        let isLoading = self.world.now < self.loadingUntil
        switch packet {
        case .ping: self.world.sendToGateway(link, .done)
        case .subscribe(let channels):
            if !isLoading { self.subscribed[link.index] |= channels }
            self.world.sendToGateway(link, isLoading ? .refused : .done)
            // The slot may move at this moment.
            if !isLoading, !self.world.isCalm, self.world.random.upTo(self.world.plan.slotMoves) == 0 {
                for channel in channels.numbers { self.end(channel) }
            }
        case .unsubscribe(let channels):
            self.subscribed[link.index] &= ~channels
            self.world.sendToGateway(link, .done)
        case _ where isLoading: self.world.sendToGateway(link, .refused)
        case .view(let job, let epoch, let since):
            let view = self.world.keep(self.view(job, epoch: epoch, since: UInt64(since)))
            let isSlow = self.world.now < self.slowReads.until
            self.world.sendToGateway(
                link, .viewed(view), late: isSlow ? self.world.random.upTo(self.slowReads.most) : 0)
        case .position(let job):
            self.publishPosition(job)
            self.world.sendToGateway(link, .done)
        case .status(let job): self.world.sendToGateway(link, .written(self.publishStatus(job)))
        case .done, .refused, .ended, .viewed, .written, .message: preconditionFailure("an answer reached the server")
        }
    }

    func opened(_ link: Link, _ generation: Int) {
        self.sessions[link.index] = generation
        self.subscribed[link.index] = 0
    }

    func closed(_ link: Link) {
        self.sessions[link.index] = 0
        self.subscribed[link.index] = 0
    }

    /// A slot moves away and back: subscribers must request their channels again.
    func end(_ channel: Int) {
        for link in self.world.links where self.subscribed[link.index] & (1 << channel) != 0 {
            self.subscribed[link.index] &= ~(1 << channel)
            self.world.sendToGateway(link, .ended(1 << channel))
        }
    }

    // MARK: Failover

    /// The replica is promoted: everything newer than the lag is lost, and its clock differs.
    func takeOver(lag: UInt64, clockOffset: Int64, keepsPositions: Bool) {
        let since = self.world.now > lag ? self.world.now - lag : 0
        for job in self.logs.indices {
            while let last = self.logs[job].last, last.at > since, self.logs[job].count > 1 {
                self.logs[job].removeLast()
                self.world.oracle.lost(last.message)
                self.world.trace(job) { "m\(last.message) is lost" }
            }
            self.positions[job].removeAll { !keepsPositions || $0.at > since }
        }
        self.clockOffset = clockOffset
    }
}
