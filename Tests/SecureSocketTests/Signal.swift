// How tests wait: for an event, never for a fixed time.

import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A value that tests set in one place and await in another. A wait that exceeds `boundSeconds` fails: the limit only ends
/// broken tests, and is far longer than any passing test takes.
final class Signal<Value: Sendable>: Sendable {
    struct NeverHappened: Error, CustomStringConvertible {
        let what: String
        let last: String
        var description: String { "never happened: \(what); last: \(last)" }
    }

    private struct Waiter: Sendable {
        let condition: @Sendable (Value) -> Bool
        let promise: EventLoopPromise<Value>
    }

    private let state: NIOLockedValueBox<(value: Value, waiters: [Waiter])>
    private let boundSeconds: Int64 = 60

    init(_ value: Value) {
        self.state = NIOLockedValueBox((value, []))
    }

    var value: Value { self.state.withLockedValue { $0.value } }

    func update(_ change: (inout Value) -> Void) {
        let (value, met) = self.state.withLockedValue { state in
            change(&state.value)
            let value = state.value
            let met = state.waiters.filter { $0.condition(value) }
            state.waiters.removeAll { $0.condition(value) }
            return (value, met)
        }
        for waiter in met { waiter.promise.succeed(value) }
    }

    /// The value when `condition` first held.
    @discardableResult
    func until(_ what: String, _ condition: @escaping @Sendable (Value) -> Bool) async throws -> Value {
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        let promise = loop.makePromise(of: Value.self)
        let met = self.state.withLockedValue { state -> Value? in
            guard !condition(state.value) else { return state.value }
            state.waiters.append(Waiter(condition: condition, promise: promise))
            return nil
        }
        if let met { promise.succeed(met) }
        let bound = loop.scheduleTask(in: .seconds(self.boundSeconds)) {
            // A second completion of a promise traps only in debug builds of NIO, and a race here, so check first.
            let isWaiting = self.state.withLockedValue { state in
                let before = state.waiters.count
                state.waiters.removeAll { $0.promise.futureResult === promise.futureResult }
                return state.waiters.count < before
            }
            if isWaiting { promise.fail(NeverHappened(what: what, last: String("\(self.value)".prefix(400)))) }
        }
        defer { bound.cancel() }
        return try await promise.futureResult.get()
    }
}

/// The events and bytes that a pipeline received, in order.
struct Seen: Sendable {
    var bytes: [UInt8] = []
    var events: [String] = []
    var errors: [any Error] = []
    var isActive = false
    var isInactive = false

    var text: String { String(decoding: self.bytes, as: UTF8.self) }
}

/// The last handler of a pipeline: records everything.
final class Recorder: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    let seen = Signal(Seen())

    func channelActive(context: ChannelHandlerContext) {
        self.seen.update { $0.isActive = true }
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.seen.update { $0.isInactive = true }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = self.unwrapInboundIn(data)
        self.seen.update { $0.bytes += bytes.readableBytesView }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        self.seen.update { $0.events.append("\(event)") }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.seen.update { $0.errors.append(error) }
    }
}
