// One connection of a gateway and its successors: `ConnectionStateMachine` decides when to connect, `SubscriptionStateMachine`
// what to subscribe to. Its path may be slow or stall; a generation identifies the connection that a packet belongs to.

import Resilience

/// The unanswered requests of a gateway.
enum Request {
    case ping
    case subscribe(Channels)
    case unsubscribe(Channels)
    /// A follower's authorization and snapshot. The attempt distinguishes it from an earlier one of the same follower.
    case authorise(follower: Int, attempt: Int)
    case snapshot(follower: Int, attempt: Int)
    /// Index of one of the gateway's reads.
    case reread(Int)
    case write
}

final class Link {
    let index: Int
    let gateway: Int
    /// Two of a gateway's three links carry channels, the third one commands.
    let isSubscriber: Bool
    var connecting: ConnectionStateMachine
    var subscribing = SubscriptionStateMachine<Int>()
    var generation = 0
    var isTrying = false
    var triedSince: UInt64 = 0
    var heard: UInt64 = 0
    var downSince: UInt64 = 0
    var willFlush = false
    private var questions: [(request: Request, at: UInt64)] = []
    private var answered = 0

    // The path.
    /// Packets never overtake: when the last packet arrives at the gateway, and at the server.
    var lastArrival: UInt64 = 0
    var lastReach: UInt64 = 0
    var stalledUntil: UInt64 = 0
    /// Until then packets take up to `slowness`.
    var slowUntil: UInt64 = 0
    var slowness: UInt64 = 0
    /// The number of next messages to lose silently.
    var losses = 0

    /// A request unanswered for longer makes the link unresponsive.
    static let suspicion = UInt64.milliseconds(500)
    /// An attempt that takes longer has failed.
    static let attempt = UInt64.seconds(3)

    init(_ index: Int, of gateway: Int, seed: UInt64) {
        self.index = index
        self.gateway = gateway
        self.isSubscriber = index % 3 < 2
        self.connecting = ConnectionStateMachine(seed: seed)
    }

    var isUp: Bool { self.connecting.isConnected }

    var oldestUnanswered: UInt64? { self.answered < self.questions.count ? self.questions[self.answered].at : nil }

    func unresponsiveSince(now: UInt64) -> UInt64? {
        guard self.isUp else { return self.downSince }
        guard let asked = self.oldestUnanswered, now > asked + Self.suspicion else { return nil }
        return self.heard
    }

    func asks(_ request: Request, now: UInt64) { self.questions.append((request, now)) }

    /// The request that is answered next.
    func takeQuestion() -> Request? {
        guard self.answered < self.questions.count else { return nil }
        defer {
            self.answered += 1
            if self.answered == self.questions.count { self.questions.removeAll(keepingCapacity: true) }
            if self.questions.isEmpty { self.answered = 0 }
        }
        return self.questions[self.answered].request
    }
}

extension Channels {
    /// Their numbers, in order: a run must not depend on the order of a dictionary.
    var numbers: [Int] {
        var (rest, numbers) = (self, [Int]())
        while rest != 0 {
            numbers.append(rest.trailingZeroBitCount)
            rest &= rest - 1
        }
        return numbers
    }

    /// As few sets as possible, none of which contains a channel twice: each name is acknowledged separately.
    static func sets(_ numbers: [Int]) -> [Channels] {
        var sets: [Channels] = []
        for number in numbers {
            let bit = Channels(1) << number
            if let free = sets.firstIndex(where: { $0 & bit == 0 }) { sets[free] |= bit } else { sets.append(bit) }
        }
        return sets
    }
}
