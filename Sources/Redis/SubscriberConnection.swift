// The channels of one connection. `SubscriptionStateMachine` decides what to request, and tracks which channels are
// acknowledged, lost and restored. This class sends the commands and passes messages to the closure.

internal import Logging
internal import NIOCore
internal import Resilience

/// One subscriber connection to one channel location. Confined to its event loop.
final class SubscriberConnection {
    let location: ChannelLocation
    private let link: RedisLink
    private var core: SubscriptionStateMachine<String>
    private var willSend = false

    /// Names per SSUBSCRIBE: one command with 100,000 names was 15 times slower than batches. In a cluster the limit is
    /// one, because all channels of a command must be in the same slot.
    static let batch = 100
    /// Delay before a refused resubscription is retried.
    static let repairDelay = TimeAmount.milliseconds(500)

    /// A message: channel and payload, valid during the call. Set it before connecting.
    var onMessage: ((_ channel: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer) -> Void)?
    /// Redis acknowledged a channel; `isRestored` when messages may be missing.
    var onAcknowledged: ((_ channel: String, _ isRestored: Bool) -> Void)?
    /// New channels were refused, or the connection ended before they were acknowledged.
    var onGivenUp: (([String], RedisError) -> Void)?
    /// Redis refused a subscription, and not because its slot is on another node.
    var onRefused: ((RedisError) -> Void)?
    /// The connection is established (true) or ended (false).
    var onState: ((Bool) -> Void)?
    /// The server ended a subscription on its own, or reports that it belongs to another node.
    var onEvicted: ((String, RedisError?) -> Void)?

    init(
        location: ChannelLocation, eventLoop: any EventLoop, timing: RedisTiming, logger: Logger,
        witness: (any RedisObserver)? = nil, locate: @escaping RedisLink.Locate
    ) {
        self.location = location
        self.core = SubscriptionStateMachine(batch: location == .singleMaster ? Self.batch : 1)
        self.link = RedisLink(eventLoop: eventLoop, timing: timing, logger: logger, witness: witness, locate: locate)
        self.link.onUp = { [weak self] handler in self?.didConnect(handler) }
        self.link.onDown = { [weak self] reason in self?.didDisconnect(reason) }
    }

    func start() -> EventLoopFuture<Void> { self.link.start() }
    func connectWithRetries() { self.link.connectWithRetries() }
    /// Succeeds when connected; fails when the attempt under way, or the next one, fails.
    func whenConnected() -> EventLoopFuture<Void> { self.link.whenConnected() }
    func stop() { self.link.stop() }
    /// Reconnects, because the master has changed. A connection that already leads to `master` stays.
    func leave(for master: RedisAddress.Node?) { self.link.leave(for: master) }

    var count: Int { self.core.count }
    var isConnected: Bool { self.link.handler != nil }
    /// Whether every lost channel is restored.
    var isSettled: Bool { self.isConnected && self.core.unrestored == 0 }
    var unresponsiveSince: NIODeadline? { self.link.unresponsiveSince }

    // MARK: Requests

    /// - Parameter isRepair: the channel was subscribed before, on another connection.
    /// - Returns: whether it is already acknowledged.
    func subscribe(_ channel: String, isRepair: Bool) -> Bool {
        let isThere = self.core.subscribe(channel, isRepair: isRepair)
        self.sendSoon()
        return isThere
    }

    func unsubscribe(_ channel: String) {
        if self.core.unsubscribe(channel) { self.sendSoon() }
    }

    // MARK: Sending commands, once per loop tick

    private func sendSoon() {
        guard !self.willSend, self.core.hasCommands else { return }
        self.willSend = true
        let bound = NIOLoopBound(self, eventLoop: self.link.eventLoop)
        self.link.eventLoop.execute { bound.value.send() }
    }

    private func send() {
        self.willSend = false
        guard let handler = self.link.handler else { return }
        for command in self.core.commands() {
            switch command {
            case .subscribe(let channels):
                handler.sendSubscription(.ssubscribe, channels) { [weak self] in self?.refused(channels, $0) }
            case .unsubscribe(let channels):
                handler.sendSubscription(.sunsubscribe, channels) { [weak self] error in
                    guard case .refused = error else { return }
                    channels.forEach { _ = self?.core.unsubscribed($0) }
                }
            }
        }
    }

    // MARK: Replies

    private func didConnect(_ handler: RedisChannelHandler) {
        handler.onMessage = self.onMessage
        handler.onAcknowledged = { [weak self] channel, isSubscription in
            guard let self else { return }
            if !isSubscription {
                if self.core.unsubscribed(channel) { self.onEvicted?(channel, nil) }
                return
            }
            switch self.core.acknowledged(channel) {
            case .granted: self.onAcknowledged?(channel, false)
            case .restored: self.onAcknowledged?(channel, true)
            case .outdated: break
            }
        }
        self.core.didConnect()
        self.send()
        self.onState?(true)
    }

    private func didDisconnect(_ reason: RedisError) {
        let givenUp = self.core.didDisconnect()
        if !givenUp.isEmpty { self.onGivenUp?(givenUp, reason) }
        self.onState?(false)
    }

    /// Redis refused a command because of an ACL rule, because the slot is on another node, or because it is loading
    /// its data. If the connection ended, `didDisconnect` follows instead.
    private func refused(_ channels: [String], _ error: RedisError) {
        guard case .refused(let code, _) = error else { return }
        if code == "MOVED" || code == "ASK" {
            return self.core.redirected(channels).forEach { self.onEvicted?($0, error) }
        }
        self.onRefused?(error)
        let (givenUp, again) = self.core.refused(channels)
        if !givenUp.isEmpty { self.onGivenUp?(givenUp, error) }
        guard !again.isEmpty else { return }
        let bound = NIOLoopBound(self, eventLoop: self.link.eventLoop)
        self.link.eventLoop.scheduleTask(in: Self.repairDelay) {
            bound.value.core.requestAgain(again)
            bound.value.sendSoon()
        }
    }
}
