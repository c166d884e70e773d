// The channels of one connection. Once a subscription is acknowledged, no message is missed. When the connection ends,
// every channel is requested again, and the owner is notified once each is restored, because messages may be missing.
// Unsubscriptions are counted, so that a late acknowledgement is not mistaken for that of a newer subscription.

/// What an acknowledgement of a subscription means.
public enum AcknowledgedSubscription: Hashable, Sendable {
    /// Requested for the first time.
    case granted
    /// Lost and restored: read the state again that its messages describe.
    case restored
    /// Belongs to a subscription that has ended meanwhile.
    case outdated
}

@usableFromInline enum SubscriptionState: Hashable, Sendable {
    /// To be sent, or sent but not acknowledged. A repair restores a lost subscription.
    case requested(isRepair: Bool)
    case acknowledged
}

/// Tracks what is subscribed, what has been requested, and which commands to send. Inlinable: see
/// Fanout/decisions/public-generics.md.
public struct SubscriptionStateMachine<Channel: Hashable & Sendable>: Sendable {
    /// A command to send, with the names of one batch.
    public enum Command: Hashable, Sendable {
        case subscribe([Channel])
        case unsubscribe([Channel])
    }

    @usableFromInline var channels: [Channel: SubscriptionState] = [:]
    @usableFromInline var toSubscribe: [Channel] = []
    @usableFromInline var toUnsubscribe: [Channel] = []
    /// Unsubscriptions that are not acknowledged yet.
    @usableFromInline var leaving: [Channel: Int] = [:]
    @usableFromInline var isConnected = false
    @usableFromInline var unrestoredCount = 0
    /// Names per command. One command with 100,000 names was 15 times slower than batches.
    @usableFromInline let batch: Int

    @inlinable
    public init(batch: Int = 100) { self.batch = batch }

    @inlinable
    public var count: Int { self.channels.count }
    /// Unacknowledged channels that were lost. While there are any, followers may be missing messages.
    @inlinable
    public var unrestored: Int { self.unrestoredCount }
    @inlinable
    public var hasCommands: Bool {
        self.isConnected && !(self.toSubscribe.isEmpty && self.toUnsubscribe.isEmpty)
    }

    @inlinable
    public func contains(_ channel: Channel) -> Bool { self.channels[channel] != nil }

    // MARK: Requests

    /// - Parameter isRepair: the channel was subscribed before, on another connection.
    /// - Returns: whether the subscription is already acknowledged. If so, no repair is signalled, and the caller must
    ///   request it.
    @inlinable
    public mutating func subscribe(_ channel: Channel, isRepair: Bool = false) -> Bool {
        switch self.channels[channel] {
        case .acknowledged: return true
        case .requested(let wasRepair):
            if isRepair && !wasRepair {
                self.channels[channel] = .requested(isRepair: true)
                self.unrestoredCount += 1
            }
            return false
        case nil:
            self.channels[channel] = .requested(isRepair: isRepair)
            if isRepair { self.unrestoredCount += 1 }
            if self.isConnected { self.toSubscribe.append(channel) }
            return false
        }
    }

    /// - Returns: whether it was requested or subscribed.
    @inlinable
    public mutating func unsubscribe(_ channel: Channel) -> Bool {
        guard self.remove(channel) else { return false }
        guard self.isConnected else { return true }
        self.toUnsubscribe.append(channel)
        self.leaving[channel, default: 0] += 1
        return true
    }

    /// Returns the commands to send now. Unsubscriptions come first, so a channel that was unsubscribed and requested again
    /// ends up subscribed.
    @inlinable
    public mutating func commands() -> [Command] {
        guard self.isConnected else { return [] }
        let ended = self.toUnsubscribe
        let begun = self.toSubscribe.filter { self.channels[$0] != nil }
        (self.toUnsubscribe, self.toSubscribe) = ([], [])
        return ended.batches(of: self.batch).map { .unsubscribe($0) }
            + begun.batches(of: self.batch).map { .subscribe($0) }
    }

    // MARK: Events

    /// The connection is established. It has no subscriptions yet.
    @inlinable
    public mutating func didConnect() {
        self.isConnected = true
        (self.toUnsubscribe, self.leaving) = ([], [:])
        self.toSubscribe = Array(self.channels.keys)
    }

    /// Handles the end of the connection.
    ///
    /// - Returns: the channels that were requested for the first time. They are given up.
    @inlinable
    public mutating func didDisconnect() -> [Channel] {
        self.isConnected = false
        (self.toSubscribe, self.toUnsubscribe, self.leaving) = ([], [], [:])
        var givenUp: [Channel] = []
        for (channel, state) in self.channels {
            if case .requested(isRepair: false) = state { givenUp.append(channel) }
        }
        for channel in givenUp { self.channels[channel] = nil }
        for channel in self.channels.keys { self.channels[channel] = .requested(isRepair: true) }
        self.unrestoredCount = self.channels.count
        return givenUp
    }

    @inlinable
    public mutating func acknowledged(_ channel: Channel) -> AcknowledgedSubscription {
        guard self.leaving[channel] == nil, case .requested(let isRepair)? = self.channels[channel] else {
            return .outdated
        }
        self.channels[channel] = .acknowledged
        if isRepair { self.unrestoredCount -= 1 }
        return isRepair ? .restored : .granted
    }

    /// Handles an unsubscription that was acknowledged or refused, or that the server started itself because a slot moved.
    ///
    /// - Returns: whether the server started it; then the channel is no longer tracked.
    @inlinable
    public mutating func unsubscribed(_ channel: Channel) -> Bool {
        if let count = self.leaving[channel] {
            self.leaving[channel] = count > 1 ? count - 1 : nil
            return false
        }
        return self.remove(channel)
    }

    /// Handles a batch that the server refused. Channels that were unsubscribed and requested again meanwhile are not
    /// affected, because their own acknowledgement follows.
    ///
    /// - Returns: the channels that are given up, and lost channels to request again (`requestAgain`) after a delay.
    @inlinable
    public mutating func refused(_ channels: [Channel]) -> (givenUp: [Channel], again: [Channel]) {
        var (givenUp, again) = ([Channel](), [Channel]())
        for channel in channels {
            guard self.leaving[channel] == nil, case .requested(let isRepair)? = self.channels[channel] else {
                continue
            }
            if isRepair {
                again.append(channel)
            } else {
                givenUp.append(channel)
                _ = self.remove(channel)
            }
        }
        return (givenUp, again)
    }

    /// Handles the server's report that channels belong to another node. Channels that were unsubscribed since are not
    /// affected.
    ///
    /// - Returns: the channels that were requested here and are no longer tracked.
    @inlinable
    public mutating func redirected(_ channels: [Channel]) -> [Channel] {
        channels.filter { channel in
            guard self.leaving[channel] == nil, case .requested? = self.channels[channel] else { return false }
            return self.remove(channel)
        }
    }

    @inlinable
    public mutating func requestAgain(_ channels: [Channel]) {
        guard self.isConnected else { return }
        self.toSubscribe += channels.filter { channel in
            if case .requested? = self.channels[channel] { true } else { false }
        }
    }

    @inlinable
    mutating func remove(_ channel: Channel) -> Bool {
        guard let state = self.channels.removeValue(forKey: channel) else { return false }
        guard case .requested(let isRepair) = state else { return true }
        if isRepair { self.unrestoredCount -= 1 }
        return true
    }
}

extension Array {
    @inlinable
    public func batches(of size: Int) -> [[Element]] {
        stride(from: 0, to: self.count, by: size).map { Array(self[$0..<Swift.min($0 + size, self.count)]) }
    }
}
