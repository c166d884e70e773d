// A socket of the fake gateway: an asynchronous stream in each direction.

internal import Enroute

final class FakeSocket: TransportSocket {
    let id: Int
    private let gateway: FakeGateway
    private let events: AsyncStream<SocketEvent?>
    private let continuation: AsyncStream<SocketEvent?>.Continuation

    init(id: Int, gateway: FakeGateway) {
        (self.id, self.gateway) = (id, gateway)
        (self.events, self.continuation) = AsyncStream.makeStream()
    }

    func receive() async throws -> SocketEvent {
        var events = self.events.makeAsyncIterator()
        guard let event = await events.next() ?? nil else { throw TransportError("The connection was lost.") }
        return event
    }

    func send(_ text: String) async throws { await self.gateway.received(text, from: self) }

    func close(code: UInt16) async {
        self.continuation.finish()
        await self.gateway.closed(self.id)
    }

    func deliver(_ text: String) { self.continuation.yield(.text(text)) }

    func end(code: UInt16?, reason: String) {
        self.continuation.yield(code.map { .closed(code: $0, reason: reason) })
        self.continuation.finish()
    }
}
