// The way of a command to the node that has its key. One node (or the master that Sentinels name) is one link; a cluster
// is a link for each master.

internal import Logging
internal import NIOCore
internal import Telemetry

/// What an answer is worth.
package struct Durable<Value: Sendable>: Sendable {
    package var value: Value
    /// Replicas that were known to have the write in time; 0 when they were fewer than `RedisTiming.quorum` asks for,
    /// `nil` when there are none to ask.
    package var replicas: Int?

    package init(value: Value, replicas: Int?) {
        self.value = value
        self.replicas = replicas
    }

    /// Accepted, but too few replicas are known to have it: a failover may lose it. Safe to repeat with the same request id.
    package var isUnknown: Bool { self.replicas == 0 }
}

/// Confined to its event loop.
protocol RedisRoute: AnyObject {
    /// Connects. Fails when the first attempt fails; afterwards connections come back by themselves.
    func start() -> EventLoopFuture<Void>
    func stop()
    func send(_ command: RedisCommand, isDurable: Bool) -> EventLoopFuture<Durable<RESPValue>>
    /// Since when some of it is gone or does not answer; `nil` when all of it does.
    var silentSince: NIODeadline? { get }
    /// Where the connections for a channel's messages go.
    func place(ofChannel channel: String) -> ChannelPlace?
    /// All places that channels can be at now.
    var places: [ChannelPlace] { get }
    /// A node told that the channel is elsewhere.
    func learn(_ error: RedisError, at place: ChannelPlace)
    /// Places may have changed, or the master behind them.
    var onMoved: (() -> Void)? { get set }
    /// A connection to a master stands again, perhaps to another one: what the last one was told may be lost.
    var onReturned: (() -> Void)? { get set }
    /// Connections to such a place.
    func locate(_ place: ChannelPlace) -> EventLoopFuture<RedisAddress>
}

/// A node that has channels: in a cluster that of their slot, else there is but one.
enum ChannelPlace: Hashable, Sendable {
    case theMaster
    case node(RedisAddress.Node)
}

/// One link, to a master.
final class MasterRoute: RedisRoute {
    private let link: RedisLink
    private let watch: SentinelWatch?
    private let address: RedisAddress
    private let part: ReplicationPart
    private var hasStood = false
    var onMoved: (() -> Void)?
    var onReturned: (() -> Void)?

    init(address: RedisAddress, eventLoop: any EventLoop, timing: RedisTiming, logger: Logger) {
        self.address = address
        if case .sentinels(let nodes, let master) = address.endpoint {
            self.watch = SentinelWatch(
                address: address, sentinels: nodes, master: master, eventLoop: eventLoop, timing: timing,
                logger: logger)
        } else {
            self.watch = nil
        }
        self.link = RedisLink(eventLoop: eventLoop, timing: timing, logger: logger) { [watch] in
            watch?.locate() ?? eventLoop.makeSucceededFuture(address)
        }
        self.part = ReplicationPart(link: self.link)
        let before = self.link.onUp
        self.link.onUp = { [weak self] handler in
            before?(handler)
            if self?.hasStood == true { self?.onReturned?() }
            self?.hasStood = true
        }
        self.part.onChanged = { [weak self] in self?.moved() }
        self.link.onDemoted = { [weak self] in self?.moved() }
        self.watch?.onSwitch = { [weak self] in self?.moved() }
    }

    func start() -> EventLoopFuture<Void> {
        self.watch?.listen()
        return self.link.start()
    }

    func stop() {
        self.watch?.stop()
        self.link.stop()
    }

    /// Another master: what is connected to the old one is of no use.
    private func moved() {
        self.link.restart(.connectionLost)
        self.onMoved?()
    }

    func send(_ command: RedisCommand, isDurable: Bool) -> EventLoopFuture<Durable<RESPValue>> {
        self.part.send(command, isDurable: isDurable)
    }

    var silentSince: NIODeadline? { self.link.silentSince }
    func place(ofChannel channel: String) -> ChannelPlace? { .theMaster }
    var places: [ChannelPlace] { [.theMaster] }
    func learn(_ error: RedisError, at place: ChannelPlace) {}
    func locate(_ place: ChannelPlace) -> EventLoopFuture<RedisAddress> {
        self.watch?.locate() ?? self.link.eventLoop.makeSucceededFuture(self.address)
    }
}
