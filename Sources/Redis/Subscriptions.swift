// All channels of one event loop in one Redis. They are spread over several connections, because closing one with
// 100,000 channels blocks Redis for 75 ms. In a cluster, each channel is on the node of its slot and follows the slot
// when it moves.

package import Logging
package import NIOCore
internal import Telemetry

/// Subscriptions to sharded channels. Confined to its event loop.
package final class Subscriptions {
    private let client: RedisClient
    private var route: any RedisRoute { self.client.route.value }
    private let spread: Int
    private let timing: RedisTiming
    private let logger: Logger
    private var connections: [ChannelLocation: [SubscriberConnection]] = [:]
    /// The connection of each channel; `nil` while the node of its slot is unknown.
    private var subscriptions: [String: Subscription] = [:]
    private var hasChannelWithoutNode = false
    private var isStarted = false
    private var isStopped = false

    private struct Subscription {
        var connection: SubscriberConnection?
        /// Whether it was acknowledged before. If so, the next acknowledgement restores it, and messages may be
        /// missing.
        var isRepair = false
        var waiting: [EventLoopPromise<Void>] = []
    }

    /// Delay before looking up the node of a slot without an owner again.
    private static let retryDelay = TimeAmount.milliseconds(200)

    /// A message: channel and payload, valid during the call. Set it before `start`.
    package var onMessage: ((_ channel: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer) -> Void)?
    /// A lost channel is subscribed again, so messages may be missing.
    package var onResubscribed: ((_ channel: String) -> Void)?
    /// A connection is established (true) or ended (false).
    package var onState: ((_ isConnected: Bool) -> Void)?

    /// Must be called on the client's event loop.
    ///
    /// - Parameters:
    ///   - client: locates the master, and the nodes of a cluster.
    ///   - connections: number of connections per node that the channels are spread over.
    package init(client: RedisClient, connections: Int, timing: RedisTiming = RedisTiming(), logger: Logger) {
        self.client = client
        self.spread = max(1, connections)
        self.timing = timing
        self.logger = logger
        self.route.onMoved = { [weak self] in self?.moved(to: $0) }
    }

    /// Connects. Fails when the first attempt fails, and may be called again then; afterwards the connections reconnect
    /// automatically. Start the client first.
    package func start() -> EventLoopFuture<Void> {
        self.client.eventLoop.preconditionInEventLoop()
        self.isStarted = true
        let connections = self.route.locations.flatMap { self.connections(at: $0, begin: false) }
        return EventLoopFuture.andAllSucceed(connections.map { $0.start() }, on: self.client.eventLoop)
    }

    package func stop() {
        self.isStopped = true
        self.connections.values.joined().forEach { $0.stop() }
    }

    /// Since when some connection is down or unresponsive; `nil` while all of them work.
    package var unresponsiveSince: NIODeadline? {
        self.connections.values.joined().compactMap(\.unresponsiveSince).min()
    }

    /// Whether every lost channel is restored.
    package var isSettled: Bool {
        !self.hasChannelWithoutNode && self.connections.values.joined().allSatisfy(\.isSettled)
    }

    package var isConnected: Bool { self.connections.values.joined().allSatisfy(\.isConnected) }

    /// Reports a malformed message of a channel.
    package func refuse(_ channel: UnsafeRawBufferPointer) {
        self.client.refuse(String(decoding: channel, as: UTF8.self), by: "SSUBSCRIBE")
    }

    // MARK: Requests

    /// Subscribes. Succeeds when Redis has acknowledged the channel; from then on no message is missed. Fails with
    /// `RedisError.disconnected` if there is no connection.
    package func subscribe(_ channel: String) -> EventLoopFuture<Void> {
        let eventLoop = self.client.eventLoop
        eventLoop.preconditionInEventLoop()
        if let subscription = self.subscriptions[channel] {
            if subscription.isRepair, subscription.connection?.subscribe(channel, isRepair: true) == true {
                return eventLoop.makeSucceededVoidFuture()
            }
            return self.waiting(for: channel)
        }
        guard let connection = self.connection(for: channel),
            connection.isConnected || connection.location != .singleMaster
        else { return eventLoop.makeFailedFuture(RedisError.disconnected) }
        self.subscriptions[channel] = Subscription(connection: connection)
        _ = connection.subscribe(channel, isRepair: false)
        if !connection.isConnected { self.giveUp(channel, unlessConnected: connection) }
        return self.waiting(for: channel)
    }

    /// A new channel waits for a node that has just become a master, but not longer than the next attempt to connect.
    private func giveUp(_ channel: String, unlessConnected connection: SubscriberConnection) {
        let bound = NIOLoopBound((self, connection), eventLoop: self.client.eventLoop)
        connection.whenConnected().whenFailure { error in
            let (subscriptions, connection) = bound.value
            guard let subscription = subscriptions.subscriptions[channel], !subscription.isRepair,
                subscription.connection === connection
            else { return }
            connection.unsubscribe(channel)
            subscriptions.givenUp([channel], error as? RedisError ?? .disconnected)
        }
    }

    private func waiting(for channel: String) -> EventLoopFuture<Void> {
        let promise = self.client.eventLoop.makePromise(of: Void.self)
        self.subscriptions[channel]?.waiting.append(promise)
        return promise.futureResult
    }

    /// Unsubscribes. Messages that are already on their way may still arrive.
    package func unsubscribe(_ channel: String) {
        self.client.eventLoop.preconditionInEventLoop()
        guard let subscription = self.subscriptions.removeValue(forKey: channel) else { return }
        subscription.connection?.unsubscribe(channel)
        subscription.waiting.forEach { $0.fail(RedisError.disconnected) }
    }

    // MARK: Channel locations

    private func connection(for channel: String) -> SubscriberConnection? {
        guard let location = self.route.location(ofChannel: channel) else { return nil }
        let connections = self.connections(at: location, begin: true)
        return connections[Int(truncatingIfNeeded: UInt(bitPattern: channel.hashValue) % UInt(connections.count))]
    }

    private func connections(at location: ChannelLocation, begin: Bool) -> [SubscriberConnection] {
        if let there = self.connections[location] { return there }
        let made = (0..<self.spread).map { _ in self.makeConnection(at: location) }
        self.connections[location] = made
        if begin { made.forEach { $0.connectWithRetries() } }
        return made
    }

    private func makeConnection(at location: ChannelLocation) -> SubscriberConnection {
        let connection = SubscriberConnection(
            location: location, eventLoop: self.client.eventLoop, timing: self.timing, logger: self.logger,
            witness: self.client.witness, locate: { [route = self.route] in route.locate(location) })
        connection.onMessage = self.onMessage
        connection.onAcknowledged = { [weak self, unowned connection] channel, isRestored in
            self?.acknowledged(channel, isRestored, by: connection)
        }
        connection.onState = { [weak self] in self?.onState?($0) }
        connection.onGivenUp = { [weak self] channels, error in self?.givenUp(channels, error) }
        connection.onRefused = { [route = self.route, location] in route.note($0, at: location) }
        connection.onEvicted = { [weak self, unowned connection] channel, error in
            self?.evicted(channel, error, from: connection)
        }
        return connection
    }

    // MARK: Events

    private func acknowledged(_ channel: String, _ isRestored: Bool, by connection: SubscriberConnection) {
        guard var subscription = self.subscriptions[channel], subscription.connection === connection else { return }
        let waiting = subscription.waiting
        (subscription.waiting, subscription.isRepair) = ([], true)
        self.subscriptions[channel] = subscription
        if isRestored { self.onResubscribed?(channel) }
        waiting.forEach { $0.succeed() }
    }

    private func givenUp(_ channels: [String], _ error: RedisError) {
        for channel in channels {
            guard let subscription = self.subscriptions.removeValue(forKey: channel) else { continue }
            subscription.waiting.forEach { $0.fail(error) }
        }
    }

    /// The channel's slot is on another node, or is being moved.
    private func evicted(_ channel: String, _ error: RedisError?, from connection: SubscriberConnection) {
        guard self.subscriptions[channel]?.connection === connection else { return }
        self.subscriptions[channel]?.connection = nil
        self.route.noteRedirection(
            error ?? .refused(code: "SUNSUBSCRIBE", message: "the server ended the subscription"),
            at: connection.location)
        // A node that loses its last slot ends the subscriptions before it redirects.
        if error == nil { self.retryLater() } else { self.resubscribe(channel) }
    }

    /// The master changed, or the owners of slots did.
    ///
    /// - Parameter master: the new master, if it is known.
    private func moved(to master: RedisAddress.Node?) {
        guard self.isStarted, !self.isStopped else { return }
        if self.route.location(ofChannel: "") == .singleMaster {
            return self.connections.values.joined().forEach { $0.leave(for: master) }
        }
        for (channel, subscription) in self.subscriptions {
            guard let connection = subscription.connection else {
                self.resubscribe(channel)
                continue
            }
            guard let location = self.route.location(ofChannel: channel), location != connection.location else {
                continue
            }
            connection.unsubscribe(channel)
            self.resubscribe(channel)
        }
        for (location, connections) in self.connections where connections.allSatisfy({ $0.count == 0 }) {
            connections.forEach { $0.stop() }
            self.connections[location] = nil
        }
    }

    /// Subscribes a channel at its current location.
    private func resubscribe(_ channel: String) {
        guard self.subscriptions[channel] != nil else { return }
        guard let connection = self.connection(for: channel) else { return self.retryLater() }
        self.subscriptions[channel]?.connection = connection
        // Retried here, so that callers do not have to subscribe again whenever a slot moves.
        if connection.subscribe(channel, isRepair: true) { self.acknowledged(channel, true, by: connection) }
    }

    private func retryLater() {
        guard !self.hasChannelWithoutNode else { return }
        self.hasChannelWithoutNode = true
        let bound = NIOLoopBound(self, eventLoop: self.client.eventLoop)
        self.client.eventLoop.scheduleTask(in: Self.retryDelay) {
            let subscriptions = bound.value
            subscriptions.hasChannelWithoutNode = false
            guard !subscriptions.isStopped else { return }
            for (channel, subscription) in subscriptions.subscriptions where subscription.connection == nil {
                subscriptions.resubscribe(channel)
            }
        }
    }
}
