// Finds the master through Sentinels (https://redis.io/docs/reference/sentinel-clients/). They are queried before every
// attempt to connect. One of them is also subscribed to, so that a failover is noticed before the old master fails.

internal import Logging
internal import NIOCore
internal import NIOPosix

/// The master with one name. Confined to its event loop.
final class SentinelWatch {
    private let address: RedisAddress
    private let sentinels: [RedisAddress.Node]
    private let master: String
    private let eventLoop: any EventLoop
    private let timing: RedisTiming
    private let logger: Logger
    private let witness: (any RedisObserver)?
    /// The Sentinel to query first: the last one that replied.
    private var preferred = 0
    private var querying: EventLoopFuture<RedisAddress>?
    private var subscriber: RedisLink?
    private var nextSentinel = 0
    /// Notifies the owner that this is the new master. Its connections may already lead there.
    var onSwitch: ((RedisAddress.Node) -> Void)?

    private static let switched = "+switch-master"

    init(
        address: RedisAddress, sentinels: [RedisAddress.Node], master: String, eventLoop: any EventLoop,
        timing: RedisTiming, logger: Logger, witness: (any RedisObserver)?
    ) {
        self.address = address
        self.sentinels = sentinels
        self.master = master
        self.eventLoop = eventLoop
        self.timing = timing
        self.logger = logger
        self.witness = witness
    }

    /// Returns the address of the master. Concurrent callers share one query.
    func locate() -> EventLoopFuture<RedisAddress> {
        if let querying { return querying }
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        let answer = self.query(self.preferred, left: self.sentinels.count, last: nil)
        self.querying = answer
        answer.whenComplete { _ in bound.value.querying = nil }
        return answer
    }

    private func query(_ index: Int, left: Int, last: RedisError?) -> EventLoopFuture<RedisAddress> {
        guard left > 0 else {
            return self.eventLoop.makeFailedFuture(
                last
                    ?? RedisError.unreachable(
                        address: self.address.description, reason: "no Sentinel knows this master"))
        }
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        let sentinel = self.address.atSentinel(self.sentinels[index])
        let link = RedisLink(
            eventLoop: self.eventLoop, timing: self.timing, logger: self.logger, peer: .sentinel,
            locate: { [eventLoop = self.eventLoop] in eventLoop.makeSucceededFuture(sentinel) })
        let bounded = NIOLoopBound(link, eventLoop: self.eventLoop)
        return link.start().flatMap {
            bounded.value.send(["SENTINEL", "GET-MASTER-ADDR-BY-NAME", .text(bound.value.master)])
        }.flatMapThrowing { answer in
            let parts = answer.array?.compactMap(\.text) ?? []
            guard parts.count == 2, let port = UInt16(parts[1]), port > 0 else {
                throw RedisError.unreachable(
                    address: bound.value.address.description,
                    reason: "the Sentinel at \(sentinel) does not know this master"
                )
            }
            bound.value.preferred = index
            bounded.value.stop()
            return bound.value.address.at(.init(host: parts[0], port: Int(port)))
        }.flatMapError { error in
            let watch = bound.value
            bounded.value.stop()
            return watch.query((index + 1) % watch.sentinels.count, left: left - 1, last: error as? RedisError)
        }
    }

    // MARK: Subscription

    /// Subscribes to the first reachable Sentinel, trying one after the other.
    func subscribe() {
        guard self.subscriber == nil else { return }
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        let subscriber = RedisLink(
            eventLoop: self.eventLoop, timing: self.timing, logger: self.logger, witness: self.witness, peer: .sentinel
        ) {
            let watch = bound.value
            let sentinel = watch.sentinels[watch.nextSentinel % watch.sentinels.count]
            watch.nextSentinel += 1
            return watch.eventLoop.makeSucceededFuture(watch.address.atSentinel(sentinel))
        }
        subscriber.onUp = { [weak self] handler in
            handler.onMessage = { _, payload in self?.masterChanged(payload) }
            handler.sendSubscription(.subscribe, [Self.switched])
        }
        self.subscriber = subscriber
        subscriber.connectWithRetries()
    }

    /// The payload of +switch-master: `<name> <old host> <old port> <new host> <new port>`.
    private func masterChanged(_ payload: UnsafeRawBufferPointer) {
        let words = String(decoding: payload, as: UTF8.self).split(separator: " ")
        guard words.count == 5, words[0] == self.master, let port = UInt16(words[4]) else { return }
        let master = RedisAddress.Node(host: String(words[3]), port: Int(port))
        RedisConnectionEvent.masterSwitched(to: "\(master)").report(to: self.witness, self.logger)
        self.onSwitch?(master)
    }

    func stop() {
        self.subscriber?.stop()
        self.subscriber = nil
    }
}
