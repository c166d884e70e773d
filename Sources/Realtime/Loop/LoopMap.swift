// The state of every event loop of a gateway. It is found by a connection's event loop, or by a rider's home loop.

package import EnrouteWire
package import NIOCore

/// The states of a gateway's event loops, indexed by event loop.
package struct LoopMap: Sendable {
    private let states: [ObjectIdentifier: NIOLoopBound<LoopState>]
    private let all: [(loop: any EventLoop, state: NIOLoopBound<LoopState>)]

    package init(_ states: [NIOLoopBound<LoopState>], loops: [any EventLoop]) {
        self.all = Array(zip(loops, states))
        self.states = Dictionary(uniqueKeysWithValues: zip(loops.map { ObjectIdentifier($0) }, states))
    }

    /// Must be called on `eventLoop`, which must be one of the gateway's loops.
    package subscript(eventLoop: any EventLoop) -> LoopState {
        guard let state = self.states[ObjectIdentifier(eventLoop)] else {
            preconditionFailure("connection on an event loop of another gateway")
        }
        return state.value
    }

    /// Runs `body` on the rider's home loop, which remembers the rider's state between REST requests. A rider always
    /// has the same home loop.
    package func onHomeLoop<Value: Sendable>(
        of rider: PersonID, _ body: @escaping @Sendable (LoopState) -> EventLoopFuture<Value>
    ) -> EventLoopFuture<Value> {
        let (loop, state) = self.all[Int(UInt(bitPattern: rider.hashValue) % UInt(self.all.count))]
        return loop.flatSubmit { body(state.value) }
    }
}
