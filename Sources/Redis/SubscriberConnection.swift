// Channels followed over one connection. A subscription counts only when Redis has acknowledged it; after a lost
// connection every channel is subscribed again, in batches, and its owner is told, because something may be missing.
//
// Step 5 of 7 of the hot path. Before: lua/publish_location.lua. Next: Gateway/LoopRelay.swift.

package import Logging
package import NIOCore

/// Subscriptions of one event loop at one Redis. Confined to that loop.
package final class SubscriberConnection {
    private enum State {
        /// Sent or to be sent; who waits for the acknowledgement. `isRepair` when a lost connection is being made good.
        case subscribing([EventLoopPromise<Void>], isRepair: Bool)
        case subscribed
    }

    private let link: RedisLink
    private var channels: [String: State] = [:]
    private var toSubscribe: [String] = []
    private var toUnsubscribe: [String] = []
    /// Ends without an acknowledgement yet: until it comes, what is acknowledged is the subscription before it.
    private var leaving: [String: Int] = [:]
    private var willSend = false

    /// Names in one SUBSCRIBE: one command with 100,000 was 15 times slower than batches.
    static let batch = 100
    /// After Redis refused to subscribe again what was subscribed before.
    static let repairDelay = TimeAmount.milliseconds(500)

    /// A message: channel and payload, valid during the call.
    package var onMessage: ((_ channel: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer) -> Void)?
    /// A channel that was subscribed, lost its connection and is subscribed again: messages may be missing.
    package var onResubscribed: ((_ channel: String) -> Void)?
    /// The connection ended (false) or stands again (true).
    package var onState: ((_ isUp: Bool) -> Void)?

    /// Must be called on `eventLoop`.
    package init(address: RedisAddress, eventLoop: any EventLoop, timing: RedisTiming = RedisTiming(), logger: Logger) {
        self.link = RedisLink(address: address, eventLoop: eventLoop, timing: timing, logger: logger)
        self.link.onUp = { [weak self] handler in self?.stands(handler) }
        self.link.onDown = { [weak self] _ in self?.ended() }
    }

    /// Connects. Fails when the first attempt fails; afterwards the connection comes back by itself.
    package func start() -> EventLoopFuture<Void> { self.link.start() }

    package func stop() { self.link.stop() }

    package var isUp: Bool { self.link.handler != nil }

    /// Subscribes; succeeds when Redis has acknowledged it: from then on no message is missed.
    package func subscribe(_ channel: String) -> EventLoopFuture<Void> {
        self.link.eventLoop.preconditionInEventLoop()
        let promise = self.link.eventLoop.makePromise(of: Void.self)
        switch self.channels[channel] {
        case .subscribed: promise.succeed()
        case .subscribing(let waiting, let isRepair):
            self.channels[channel] = .subscribing(waiting + [promise], isRepair: isRepair)
        case nil:
            guard self.isUp else {
                promise.fail(RedisError.disconnected)
                break
            }
            self.channels[channel] = .subscribing([promise], isRepair: false)
            self.toSubscribe.append(channel)
            self.sendSoon()
        }
        return promise.futureResult
    }

    /// Ends a subscription. Messages under way may still arrive.
    package func unsubscribe(_ channel: String) {
        self.link.eventLoop.preconditionInEventLoop()
        guard let state = self.channels.removeValue(forKey: channel) else { return }
        if case .subscribing(let waiting, _) = state { waiting.forEach { $0.fail(RedisError.disconnected) } }
        self.toUnsubscribe.append(channel)
        self.leaving[channel, default: 0] += 1
        self.sendSoon()
    }

    // MARK: sending, once per tick of the loop

    private func sendSoon() {
        guard !self.willSend else { return }
        self.willSend = true
        let bound = NIOLoopBound(self, eventLoop: self.link.eventLoop)
        self.link.eventLoop.execute { bound.value.send() }
    }

    /// Ends go first: a channel that was left and followed again within one tick must end up followed.
    private func send() {
        self.willSend = false
        let (ended, begun) = (self.toUnsubscribe, self.toSubscribe)
        (self.toUnsubscribe, self.toSubscribe) = ([], [])
        guard let handler = self.link.handler else { return }
        for batch in ended.batches(of: Self.batch) {
            handler.sendSubscription("UNSUBSCRIBE", batch) { [weak self] _ in batch.forEach { self?.left($0) } }
        }
        for batch in begun.filter({ self.channels[$0] != nil }).batches(of: Self.batch) {
            handler.sendSubscription("SUBSCRIBE", batch) { [weak self] error in self?.refused(batch, error) }
        }
    }

    // MARK: what Redis says

    private func stands(_ handler: RedisChannelHandler) {
        handler.onMessage = self.onMessage
        handler.onAcknowledged = { [weak self] channel, isSubscription in
            if isSubscription { self?.acknowledged(channel) } else { self?.left(channel) }
        }
        (self.toUnsubscribe, self.leaving) = ([], [:])
        self.toSubscribe = Array(self.channels.keys)
        self.send()
        self.onState?(true)
    }

    private func acknowledged(_ channel: String) {
        guard self.leaving[channel] == nil, case .subscribing(let waiting, let isRepair)? = self.channels[channel]
        else { return }
        self.channels[channel] = .subscribed
        if isRepair { self.onResubscribed?(channel) }
        waiting.forEach { $0.succeed() }
    }

    private func left(_ channel: String) {
        guard let count = self.leaving[channel] else { return }
        self.leaving[channel] = count > 1 ? count - 1 : nil
    }

    /// Refused by Redis (an ACL, say), or the connection ended: then `ended` follows and keeps what was followed.
    private func refused(_ channels: [String], _ error: RedisError) {
        guard case .refused = error else { return }
        var again: [String] = []
        for channel in channels {
            guard case .subscribing(let waiting, let isRepair)? = self.channels[channel] else { continue }
            waiting.forEach { $0.fail(error) }
            // Somebody relies on what was subscribed before: asked for until it is granted, or left.
            self.channels[channel] = isRepair ? .subscribing([], isRepair: true) : nil
            if isRepair { again.append(channel) }
        }
        guard !again.isEmpty else { return }
        let bound = NIOLoopBound(self, eventLoop: self.link.eventLoop)
        self.link.eventLoop.scheduleTask(in: Self.repairDelay) { [again] in bound.value.repair(again) }
    }

    private func repair(_ channels: [String]) {
        self.toSubscribe += channels.filter { channel in
            if case .subscribing(_, isRepair: true)? = self.channels[channel] { true } else { false }
        }
        self.sendSoon()
    }

    private func ended() {
        for (channel, state) in self.channels {
            switch state {
            case .subscribing(let waiting, let isRepair):
                self.channels[channel] = isRepair ? .subscribing([], isRepair: true) : nil
                waiting.forEach { $0.fail(RedisError.connectionLost) }
            case .subscribed: self.channels[channel] = .subscribing([], isRepair: true)
            }
        }
        self.onState?(false)
    }
}

extension Array {
    func batches(of size: Int) -> [[Element]] {
        stride(from: 0, to: self.count, by: size).map { Array(self[$0..<Swift.min($0 + size, self.count)]) }
    }
}
