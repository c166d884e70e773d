// One connection: commands are pipelined with one flush per loop tick, and replies arrive in the same order. On a subscriber
// connection pushes arrive in between and are distinguished by their first element.
//
// Step 7 of 10 of the hot path. Before: lua/publish_location.lua
// Next: Realtime/Relay/LoopRelay.swift

internal import HotPath
internal import NIOCore
internal import NIOSSL
internal import Telemetry

/// Sends commands and receives replies over one connection. Confined to its event loop.
final class RedisChannelHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The maximum number of unanswered commands; further ones fail with `overloaded`.
    private static let maxWaiting = 65_536

    private let eventLoop: any EventLoop
    private let reader = RESPReader()
    private var waiting = CircularBuffer<UnansweredCommand>()
    private var output = ByteBuffer()
    private var willFlush = false
    /// Created once, so that no closure is allocated for each flush.
    private lazy var flushTask: @Sendable () -> Void = {
        let bound = NIOLoopBound(WeakHandler(handler: self), eventLoop: self.eventLoop)
        return { bound.value.handler?.flush() }
    }()
    /// Without TLS, the connection's socket, from the first flush on.
    private var socket: DirectSocket?
    private let usesTLS: Bool
    /// Whether pushes are possible. On other connections an array of three is an ordinary reply, whatever its first element.
    private var isSubscriber = false
    private var context: ChannelHandlerContext?
    /// When anything was last received.
    private(set) var lastReceived = NIODeadline.now()
    private var failure: RedisError?
    /// Where the time from each command to its reply is recorded; `nil` until the connection is signed in.
    var replyTimes: DurationRecorder?

    /// A message that Redis pushed: channel and payload, valid during the call.
    var onMessage: ((UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void)?
    /// A subscription (true) or unsubscription (false) was acknowledged, or the server ended a subscription.
    var onAcknowledged: ((String, Bool) -> Void)?
    /// A reply shows that this node is not, or no longer, the master.
    var onDemoted: (() -> Void)?
    /// Called once, when the connection has ended.
    var onClosed: ((RedisError) -> Void)?

    /// - Parameter usesTLS: another handler of the channel encrypts, so bytes must go through it.
    init(eventLoop: any EventLoop, usesTLS: Bool = false) { (self.eventLoop, self.usesTLS) = (eventLoop, usesTLS) }

    /// When the oldest unanswered command was sent.
    var oldestUnanswered: NIODeadline? { self.waiting.first?.since }

    // MARK: Sending

    func send(_ command: RedisCommand) -> EventLoopFuture<RESPValue> {
        self.eventLoop.preconditionInEventLoop()
        guard self.context != nil, self.failure == nil else {
            return self.eventLoop.makeFailedFuture(RedisError.disconnected)
        }
        guard self.waiting.count < Self.maxWaiting else {
            return self.eventLoop.makeFailedFuture(RedisError.overloaded)
        }
        let promise = self.eventLoop.makePromise(of: RESPValue.self)
        self.waiting.append(.answer(promise, since: .now()))
        self.write(command)
        return promise.futureResult
    }

    /// Sends the command that `write` appends to the output.
    ///
    /// - Returns: whether it was sent. Otherwise nothing was written, and `completion` is not called.
    func sendDirectly(_ completion: @escaping (DirectReply) -> Void, _ write: (inout ByteBuffer) -> Void) -> Bool {
        guard self.context != nil, self.failure == nil, self.waiting.count < Self.maxWaiting else { return false }
        self.waiting.append(.direct(completion, since: .now()))
        write(&self.output)
        self.flushSoon()
        return true
    }

    /// Checks that the node is alive. The reply only ends the wait.
    func ping() {
        guard self.context != nil, self.failure == nil else { return }
        self.waiting.append(.pong(since: .now()))
        self.output.writeStaticString("*1\r\n$4\r\nPING\r\n")
        self.flushSoon()
    }

    /// Subscribes to `channels` or unsubscribes from them; acknowledgements arrive through `onAcknowledged`.
    func sendSubscription(
        _ verb: SubscriptionVerb, _ channels: [String], failed: @escaping (RedisError) -> Void = { _ in }
    ) {
        self.eventLoop.preconditionInEventLoop()
        guard self.context != nil, self.failure == nil else { return failed(.disconnected) }
        self.isSubscriber = true
        self.waiting.append(
            .acknowledgements(
                channels.count, isSubscription: verb != .sunsubscribe, failed: failed, since: .now()))
        self.write(RedisCommand([.text(verb.rawValue)] + channels.map { .text($0) }))
    }

    private func write(_ command: RedisCommand) {
        command.write(into: &self.output)
        self.flushSoon()
    }

    private func flushSoon() {
        guard !self.willFlush else { return }
        self.willFlush = true
        self.eventLoop.execute(self.flushTask)
    }

    private func flush() {
        self.willFlush = false
        guard let context, self.output.readableBytes > 0 else { return }
        if self.socket == nil, !self.usesTLS { self.socket = DirectSocket(context.channel) }
        // Removed first: the write may read replies or find the connection broken, and their callbacks may send more.
        var bytes = self.output
        self.output = ByteBuffer()
        if let socket {
            socket.send(&bytes)
        } else {
            context.writeAndFlush(self.wrapOutboundOut(bytes), promise: nil)
            bytes = context.channel.allocator.buffer(capacity: 1024)
        }
        if self.output.readableBytes == 0 { self.output = bytes }
    }

    // MARK: Receiving

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.lastReceived = .now()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.lastReceived = .now()
        do throws(RedisError) {
            try self.unwrapInboundIn(data).withUnsafeReadableBytes { bytes throws(RedisError) in
                try self.reader.consume(bytes, self.received)
            }
        } catch {
            self.close(error)
        }
    }

    private func received(_ tape: RESPTape) {
        if self.isSubscriber, tape.flatCount == 3 {
            if tape.isText(0, "smessage") || tape.isText(0, "message") {
                HotPath.pass(.redisChannelHandler)
                tape.withText(1) { channel in tape.withText(2) { payload in self.onMessage?(channel, payload) } }
                return
            }
            let isSubscription = tape.isText(0, "ssubscribe") || tape.isText(0, "subscribe")
            if isSubscription || tape.isText(0, "sunsubscribe") {
                self.acknowledged(tape.withText(1) { String(decoding: $0, as: UTF8.self) }, isSubscription)
                return
            }
        }
        switch self.waiting.popFirst() {
        case .answer(let promise, let since):
            self.replyTimes?.record(microseconds: (self.lastReceived - since).nanoseconds / 1_000)
            let value = tape.value
            if case .error(let line) = value {
                promise.fail(RedisError(errorLine: line))
                self.noteDemotion(line)
            } else {
                promise.succeed(value)
            }
        case .direct(let completion, let since):
            self.replyTimes?.record(microseconds: (self.lastReceived - since).nanoseconds / 1_000)
            guard let line = tape.errorLine else { return completion(.reply(tape)) }
            completion(.failure(RedisError(errorLine: line)))
            self.noteDemotion(line)
        case .pong: break
        case .acknowledgements(_, _, let failed, _):
            failed(RedisError(errorLine: tape.value.errorLine ?? "ERR unexpected answer to SUBSCRIBE"))
        case nil: self.close(.protocolViolation("a reply without a command"))
        }
    }

    private func noteDemotion(_ errorLine: String) {
        if errorLine.hasPrefix("READONLY") || errorLine.hasPrefix("MASTERDOWN") { self.onDemoted?() }
    }

    /// The server may end a subscription on its own; such a push acknowledges no command.
    private func acknowledged(_ channel: String, _ isSubscription: Bool) {
        if case .acknowledgements(let count, isSubscription, let failed, let since)? = self.waiting.first {
            if count == 1 {
                self.waiting.removeFirst()
            } else {
                self.waiting[self.waiting.startIndex] = .acknowledgements(
                    count - 1, isSubscription: isSubscription, failed: failed, since: since)
            }
        }
        self.onAcknowledged?(channel, isSubscription)
    }

    // MARK: Closing

    func close(_ reason: RedisError) {
        guard self.failure == nil else { return }
        self.failure = reason
        self.context?.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let tls = try? context.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
        self.close(TLSFailure.error(error, certificate: tls?.peerCertificate))
    }

    /// Called without `channelInactive` when the connection could not be made.
    func handlerRemoved(context: ChannelHandlerContext) { (self.context, self.socket) = (nil, nil) }

    func channelInactive(context: ChannelHandlerContext) {
        let reason = self.failure ?? .connectionLost
        self.failure = reason
        (self.context, self.socket) = (nil, nil)
        let waiting = self.waiting
        self.waiting.removeAll()
        for command in waiting { command.fail(reason) }
        self.onClosed?(reason)
        (self.onClosed, self.onMessage, self.onAcknowledged, self.onDemoted) = (nil, nil, nil, nil)
    }
}

/// A task that outlives a connection must not retain it.
private struct WeakHandler {
    weak var handler: RedisChannelHandler?
}

/// Sharded channels, whose messages stay on the node of their slot. Plain ones are for Sentinels, which do not support sharded
/// ones.
enum SubscriptionVerb: String {
    case ssubscribe = "SSUBSCRIBE"
    case sunsubscribe = "SUNSUBSCRIBE"
    case subscribe = "SUBSCRIBE"
}

extension RESPValue {
    fileprivate var errorLine: String? { if case .error(let line) = self { line } else { nil } }
}
