// Finds the node for a command. For one node, or the master that Sentinels report, there is one link; for a cluster,
// one link per master.

internal import Logging
internal import NIOCore
internal import Telemetry

/// A reply, and how many replicas confirmed the write.
package struct Durable<Value: Sendable>: Sendable {
    package var value: Value
    /// Number of replicas that confirmed the write in time; 0 when they were fewer than `RedisTiming.quorum` requires, `nil`
    /// when there are no replicas.
    package var replicas: Int?

    package init(value: Value, replicas: Int?) {
        self.value = value
        self.replicas = replicas
    }

    /// Accepted, but confirmed by too few replicas: a failover may lose it. Safe to repeat with the same request id.
    package var isReplicationUnconfirmed: Bool { self.replicas == 0 }
}

/// Confined to its event loop.
protocol RedisRoute: AnyObject {
    /// Connects. Fails when the first attempt fails, and may be called again then; afterwards the connections reconnect
    /// automatically.
    func start() -> EventLoopFuture<Void>
    func stop()
    func send(_ command: RedisCommand, isDurable: Bool) -> EventLoopFuture<Durable<RESPValue>>
    /// Returns the connection for commands with this key, or `nil` while the key's node is not connected.
    func handler(ofKey key: String) -> RedisChannelHandler?
    /// Returns the connection for a command, or `nil` while its node is not connected. In a cluster, it is also `nil`
    /// for a command without a key, which any master can execute.
    func handler(of command: RedisCommand) -> RedisChannelHandler?
    /// Since when some connection is down or unresponsive; `nil` while all of them work.
    var unresponsiveSince: NIODeadline? { get }
    /// The replicas that receive writes; in a cluster, those of the master with the fewest. `nil` while a master is not
    /// connected or has not reported them.
    var onlineReplicas: Int? { get }
    /// The location of a channel, to which subscriber connections must be made.
    func location(ofChannel channel: String) -> ChannelLocation?
    /// All current channel locations.
    var locations: [ChannelLocation] { get }
    /// Records an error that may mean that a channel is on another node.
    func noteRedirection(_ error: RedisError, at location: ChannelLocation)
    /// Records that a node refused a subscription for another reason.
    func note(_ error: RedisError, at location: ChannelLocation)
    /// Channel locations may have changed, or the master behind one of them. Called with its address, if Sentinels
    /// announced it.
    var onMoved: ((RedisAddress.Node?) -> Void)? { get set }
    /// The connection to a master was re-established. That may be another master, which may lack the latest writes.
    var onReturned: (() -> Void)? { get set }
    /// Returns the address for connections to a channel location.
    func locate(_ location: ChannelLocation) -> EventLoopFuture<RedisAddress>
}

/// The node that serves a channel: in a cluster the owner of its slot, otherwise the only master.
enum ChannelLocation: Hashable, Sendable {
    case singleMaster
    case node(RedisAddress.Node)
}

/// One link, to a master.
final class MasterRoute: RedisRoute {
    private let link: RedisLink
    private let watch: SentinelWatch?
    private let address: RedisAddress
    private let part: ReplicationMonitor
    private var hasConnected = false
    var onMoved: ((RedisAddress.Node?) -> Void)?
    var onReturned: (() -> Void)?

    init(
        address: RedisAddress, eventLoop: any EventLoop, timing: RedisTiming, logger: Logger,
        witness: (any RedisObserver)?, replyTimes: DurationRecorder?
    ) {
        self.address = address
        if case .sentinels(let nodes, let master) = address.endpoint {
            self.watch = SentinelWatch(
                address: address, sentinels: nodes, master: master, eventLoop: eventLoop, timing: timing,
                logger: logger, witness: witness)
        } else {
            self.watch = nil
        }
        self.link = RedisLink(
            eventLoop: eventLoop, timing: timing, logger: logger, witness: witness, replyTimes: replyTimes
        ) { [watch] in
            watch?.locate() ?? eventLoop.makeSucceededFuture(address)
        }
        self.part = ReplicationMonitor(link: self.link)
        let before = self.link.onUp
        self.link.onUp = { [weak self] handler in
            before?(handler)
            if self?.hasConnected == true { self?.onReturned?() }
            self?.hasConnected = true
        }
        self.part.onChanged = { [weak self] in self?.moved(to: nil) }
        self.link.onDemoted = { [weak self] in self?.moved(to: nil) }
        self.watch?.onSwitch = { [weak self] in self?.moved(to: $0) }
    }

    func start() -> EventLoopFuture<Void> {
        self.watch?.subscribe()
        return self.link.start()
    }

    func stop() {
        self.watch?.stop()
        self.link.stop()
    }

    /// The master changed, so connections to the old one are useless. One Sentinel may announce the new master seconds
    /// after another one reported it, so connections may already lead there.
    private func moved(to master: RedisAddress.Node?) {
        self.link.leave(for: master)
        self.onMoved?(master)
    }

    func send(_ command: RedisCommand, isDurable: Bool) -> EventLoopFuture<Durable<RESPValue>> {
        self.part.send(command, isDurable: isDurable)
    }

    func handler(ofKey key: String) -> RedisChannelHandler? { self.link.handler }
    func handler(of command: RedisCommand) -> RedisChannelHandler? { self.link.handler }
    var unresponsiveSince: NIODeadline? { self.link.unresponsiveSince }
    var onlineReplicas: Int? { self.link.handler == nil ? nil : self.part.onlineReplicas }
    func location(ofChannel channel: String) -> ChannelLocation? { .singleMaster }
    var locations: [ChannelLocation] { [.singleMaster] }
    func noteRedirection(_ error: RedisError, at location: ChannelLocation) {}
    func note(_ error: RedisError, at location: ChannelLocation) {}
    func locate(_ location: ChannelLocation) -> EventLoopFuture<RedisAddress> {
        self.watch?.locate() ?? self.link.eventLoop.makeSucceededFuture(self.address)
    }
}
