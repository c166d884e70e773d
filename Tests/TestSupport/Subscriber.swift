// Subscriptions for use from a test's task: events go into inboxes.

package import NIOCore
package import Redis

private import Logging
private import NIOPosix

/// A message: channel and payload.
package struct ReceivedMessage: Hashable, Sendable {
    package var channel: String
    package var payload: [UInt8]

    package init(channel: String, payload: [UInt8]) {
        self.channel = channel
        self.payload = payload
    }

    package var text: String { String(decoding: self.payload, as: UTF8.self) }
}

/// Subscriptions over one connection, on a loop of the shared group.
package struct Subscriber: Sendable {
    package let eventLoop: any EventLoop
    package let connection: NIOLoopBound<Subscriptions>
    private let client: RedisClient
    package let messages: Inbox<ReceivedMessage>
    /// The connection ended (false) or is re-established (true).
    package let states: Inbox<Bool>
    package let resubscribed: Inbox<String>

    /// Connects, or fails with the reason.
    package static func started(
        at address: RedisAddress, timing: RedisTiming = .patient
    ) async throws -> Subscriber {
        let client = try await RedisClient.started(at: address, timing: timing)
        let subscriber = try await Self.made(client, timing: timing)
        try await subscriber.onLoop { $0.start() }.get()
        guard try await subscriber.states.next() else { throw RedisError.disconnected }
        return subscriber
    }

    private static func made(_ client: RedisClient, timing: RedisTiming) async throws -> Subscriber {
        let eventLoop = client.eventLoop
        return try await eventLoop.submit {
            let connection = Subscriptions(client: client, connections: 1, timing: timing, logger: .quiet)
            let subscriber = Subscriber(
                eventLoop: eventLoop, connection: NIOLoopBound(connection, eventLoop: eventLoop), client: client,
                messages: Inbox(eventLoop: eventLoop), states: Inbox(eventLoop: eventLoop),
                resubscribed: Inbox(eventLoop: eventLoop))
            connection.onMessage = { channel, payload in
                subscriber.messages.put(
                    ReceivedMessage(channel: String(decoding: channel, as: UTF8.self), payload: Array(payload)))
            }
            connection.onState = { subscriber.states.put($0) }
            connection.onResubscribed = { subscriber.resubscribed.put($0) }
            return subscriber
        }.get()
    }

    /// Runs on its event loop, within one tick; the result has a time limit.
    package func onLoop<Value: Sendable>(
        _ body: @escaping @Sendable (Subscriptions) -> EventLoopFuture<Value>
    ) -> EventLoopFuture<Value> {
        self.eventLoop.flatSubmit { body(self.connection.value) }.within()
    }

    /// Succeeds when Redis has acknowledged it.
    package func subscribe(_ channel: String) async throws {
        try await self.onLoop { $0.subscribe(channel) }.get()
    }

    package func unsubscribe(_ channel: String) async throws {
        try await self.eventLoop.submit { self.connection.value.unsubscribe(channel) }.get()
    }

    package func stop() {
        self.eventLoop.execute { self.connection.value.stop() }
        self.client.stop()
    }
}
