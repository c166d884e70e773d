// The channels of one connection. A subscription counts only when it was acknowledged: from then on nothing is missed.
// When the connection ends every channel is asked for again, and its owner is told once it is back, because something
// may be missing. Ends are counted, so that a late acknowledgement is not taken for that of a newer subscription.

/// What is subscribed, what was asked for, and what has to be said to the server.
package struct Subscribing<Channel: Hashable & Sendable>: Sendable {
    private enum State {
        /// To be sent, or sent and not acknowledged. A repair makes a lost subscription good.
        case asked(isRepair: Bool)
        case acknowledged
    }

    /// A command to send: the names of one batch.
    package enum Command: Hashable, Sendable {
        case subscribe([Channel])
        case unsubscribe([Channel])
    }

    package enum Acknowledged: Hashable, Sendable {
        /// Asked for for the first time.
        case granted
        /// It was lost and is back: read again what it tells of.
        case regained
        /// It belongs to a subscription that was ended since.
        case outdated
    }

    private var channels: [Channel: State] = [:]
    private var toSubscribe: [Channel] = []
    private var toUnsubscribe: [Channel] = []
    /// Ends without an acknowledgement yet.
    private var leaving: [Channel: Int] = [:]
    private var isStanding = false
    /// Names in one command: one with 100,000 was 15 times slower than batches.
    private let batch: Int

    package init(batch: Int = 100) { self.batch = batch }

    package var count: Int { self.channels.count }
    /// Channels without an acknowledgement.
    package private(set) var unacknowledged = 0
    /// Those of them that were lost: while there are any, followers may be missing something.
    package private(set) var unregained = 0
    package var hasCommands: Bool { self.isStanding && !(self.toSubscribe.isEmpty && self.toUnsubscribe.isEmpty) }

    package func contains(_ channel: Channel) -> Bool { self.channels[channel] != nil }

    // MARK: what is wanted

    /// - Parameter isRepair: it was subscribed before, elsewhere.
    /// - Returns: whether it is acknowledged already; then nothing is regained, and a repair is up to the caller.
    package mutating func subscribe(_ channel: Channel, isRepair: Bool = false) -> Bool {
        switch self.channels[channel] {
        case .acknowledged: return true
        case .asked(let wasRepair):
            if isRepair && !wasRepair {
                self.channels[channel] = .asked(isRepair: true)
                self.unregained += 1
            }
            return false
        case nil:
            self.channels[channel] = .asked(isRepair: isRepair)
            self.unacknowledged += 1
            if isRepair { self.unregained += 1 }
            if self.isStanding { self.toSubscribe.append(channel) }
            return false
        }
    }

    /// - Returns: whether it was held.
    package mutating func unsubscribe(_ channel: Channel) -> Bool {
        guard self.remove(channel) else { return false }
        guard self.isStanding else { return true }
        self.toUnsubscribe.append(channel)
        self.leaving[channel, default: 0] += 1
        return true
    }

    /// What has to be sent now. Ends go first: a channel that was left and followed again ends up followed.
    package mutating func commands() -> [Command] {
        guard self.isStanding else { return [] }
        let ended = self.toUnsubscribe
        let begun = self.toSubscribe.filter { self.channels[$0] != nil }
        (self.toUnsubscribe, self.toSubscribe) = ([], [])
        return ended.batches(of: self.batch).map { .unsubscribe($0) }
            + begun.batches(of: self.batch).map { .subscribe($0) }
    }

    // MARK: what happens

    /// The connection stands, and knows nothing of what was before.
    package mutating func stood() {
        self.isStanding = true
        (self.toUnsubscribe, self.leaving) = ([], [:])
        self.toSubscribe = Array(self.channels.keys)
    }

    /// - Returns: the channels that were asked for for the first time: they are given up.
    package mutating func fell() -> [Channel] {
        self.isStanding = false
        (self.toSubscribe, self.toUnsubscribe, self.leaving) = ([], [], [:])
        var givenUp: [Channel] = []
        for (channel, state) in self.channels {
            if case .asked(isRepair: false) = state { givenUp.append(channel) }
        }
        for channel in givenUp { self.channels[channel] = nil }
        for channel in self.channels.keys { self.channels[channel] = .asked(isRepair: true) }
        self.unacknowledged = self.channels.count
        self.unregained = self.channels.count
        return givenUp
    }

    package mutating func acknowledged(_ channel: Channel) -> Acknowledged {
        guard self.leaving[channel] == nil, case .asked(let isRepair)? = self.channels[channel] else {
            return .outdated
        }
        self.channels[channel] = .acknowledged
        self.unacknowledged -= 1
        if isRepair { self.unregained -= 1 }
        return isRepair ? .regained : .granted
    }

    /// An end is acknowledged or refused, or the server ended a subscription by itself, as it does when a slot moves.
    ///
    /// - Returns: whether it was the server's own doing; then the channel is not held any more.
    package mutating func left(_ channel: Channel) -> Bool {
        if let count = self.leaving[channel] {
            self.leaving[channel] = count > 1 ? count - 1 : nil
            return false
        }
        return self.remove(channel)
    }

    /// The server refused a batch. What was ended and begun again since is not concerned: its answer comes later.
    ///
    /// - Returns: what is given up, and what was relied upon and has to be asked for again (`askAgain`), after a while.
    package mutating func refused(_ channels: [Channel]) -> (givenUp: [Channel], again: [Channel]) {
        var (givenUp, again) = ([Channel](), [Channel]())
        for channel in channels {
            guard self.leaving[channel] == nil, case .asked(let isRepair)? = self.channels[channel] else { continue }
            if isRepair {
                again.append(channel)
            } else {
                givenUp.append(channel)
                _ = self.remove(channel)
            }
        }
        return (givenUp, again)
    }

    /// The server says that they belong elsewhere. What was ended since is not concerned.
    ///
    /// - Returns: what was asked for here and is not held any more.
    package mutating func sentAway(_ channels: [Channel]) -> [Channel] {
        channels.filter { channel in
            guard self.leaving[channel] == nil, case .asked? = self.channels[channel] else { return false }
            return self.remove(channel)
        }
    }

    package mutating func askAgain(_ channels: [Channel]) {
        guard self.isStanding else { return }
        self.toSubscribe += channels.filter { channel in
            if case .asked? = self.channels[channel] { true } else { false }
        }
    }

    private mutating func remove(_ channel: Channel) -> Bool {
        guard let state = self.channels.removeValue(forKey: channel) else { return false }
        guard case .asked(let isRepair) = state else { return true }
        self.unacknowledged -= 1
        if isRepair { self.unregained -= 1 }
        return true
    }
}

extension Array {
    package func batches(of size: Int) -> [[Element]] {
        stride(from: 0, to: self.count, by: size).map { Array(self[$0..<Swift.min($0 + size, self.count)]) }
    }
}
