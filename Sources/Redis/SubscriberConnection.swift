// Channels followed over one connection. What is asked for, acknowledged, lost and regained is decided by `Subscribing`;
// here it is said to Redis, and messages go up the closure.

internal import Logging
internal import NIOCore
internal import Resilience

/// One subscriber connection at one place. Confined to its event loop.
final class SubscriberConnection {
    let place: ChannelPlace
    private let link: RedisLink
    private var core: Subscribing<String>
    private var willSend = false

    /// Names in one SSUBSCRIBE: one command with 100,000 was 15 times slower than batches. In a cluster one at a time,
    /// since a command may not name two slots.
    static let batch = 100
    /// After Redis refused to subscribe again what was subscribed before.
    static let repairDelay = TimeAmount.milliseconds(500)

    /// A message: channel and payload, valid during the call. Set before the connection stands.
    var onMessage: ((_ channel: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer) -> Void)?
    /// Redis has acknowledged a channel; `isRegained` when messages may be missing.
    var onAcknowledged: ((_ channel: String, _ isRegained: Bool) -> Void)?
    /// Channels asked for for the first time were refused, or the connection ended before.
    var onGivenUp: (([String], RedisError) -> Void)?
    /// The connection ended (false) or stands (true).
    var onState: ((Bool) -> Void)?
    /// The server ended a subscription by itself, or says that it belongs elsewhere.
    var onEvicted: ((String, RedisError?) -> Void)?

    init(
        place: ChannelPlace, eventLoop: any EventLoop, timing: RedisTiming, logger: Logger,
        locate: @escaping RedisLink.Locate
    ) {
        self.place = place
        self.core = Subscribing(batch: place == .theMaster ? Self.batch : 1)
        self.link = RedisLink(eventLoop: eventLoop, timing: timing, logger: logger, locate: locate)
        self.link.onUp = { [weak self] handler in self?.stood(handler) }
        self.link.onDown = { [weak self] reason in self?.fell(reason) }
    }

    func start() -> EventLoopFuture<Void> { self.link.start() }
    func begin() { self.link.begin() }
    /// Succeeds as soon as it stands; fails when the attempt under way, or the next one, comes to nothing.
    func standing() -> EventLoopFuture<Void> { self.link.standing() }
    func stop() { self.link.stop() }
    /// Connects anew: the master is another one.
    func restart() { self.link.restart(.connectionLost) }

    var count: Int { self.core.count }
    var isStanding: Bool { self.link.handler != nil }
    /// What was lost is back.
    var isSettled: Bool { self.isStanding && self.core.unregained == 0 }
    var silentSince: NIODeadline? { self.link.silentSince }

    // MARK: what is wanted

    /// - Parameter isRepair: it was subscribed before, elsewhere.
    /// - Returns: whether it is acknowledged already.
    func subscribe(_ channel: String, isRepair: Bool) -> Bool {
        let isThere = self.core.subscribe(channel, isRepair: isRepair)
        self.sendSoon()
        return isThere
    }

    func unsubscribe(_ channel: String) {
        if self.core.unsubscribe(channel) { self.sendSoon() }
    }

    // MARK: sending, once per tick of the loop

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
                    channels.forEach { _ = self?.core.left($0) }
                }
            }
        }
    }

    // MARK: what Redis says

    private func stood(_ handler: RedisChannelHandler) {
        handler.onMessage = self.onMessage
        handler.onAcknowledged = { [weak self] channel, isSubscription in
            guard let self else { return }
            if !isSubscription {
                if self.core.left(channel) { self.onEvicted?(channel, nil) }
                return
            }
            switch self.core.acknowledged(channel) {
            case .granted: self.onAcknowledged?(channel, false)
            case .regained: self.onAcknowledged?(channel, true)
            case .outdated: break
            }
        }
        self.core.stood()
        self.send()
        self.onState?(true)
    }

    private func fell(_ reason: RedisError) {
        let givenUp = self.core.fell()
        if !givenUp.isEmpty { self.onGivenUp?(givenUp, reason) }
        self.onState?(false)
    }

    /// Refused by Redis: by an access list, because the slot is elsewhere, because it loads. When the connection ended,
    /// `fell` follows.
    private func refused(_ channels: [String], _ error: RedisError) {
        guard case .refused(let code, _) = error else { return }
        if code == "MOVED" || code == "ASK" {
            return self.core.sentAway(channels).forEach { self.onEvicted?($0, error) }
        }
        let (givenUp, again) = self.core.refused(channels)
        if !givenUp.isEmpty { self.onGivenUp?(givenUp, error) }
        guard !again.isEmpty else { return }
        let bound = NIOLoopBound(self, eventLoop: self.link.eventLoop)
        self.link.eventLoop.scheduleTask(in: Self.repairDelay) {
            bound.value.core.askAgain(again)
            bound.value.sendSoon()
        }
    }
}
