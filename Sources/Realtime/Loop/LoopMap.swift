// The state of each event loop of a gateway, for whoever comes from a connection, or with a rider in hand.

package import EnrouteWire
package import NIOCore

/// The state of each event loop, found by the loop.
package struct LoopMap: Sendable {
    private let states: [ObjectIdentifier: NIOLoopBound<LoopState>]
    private let all: [(loop: any EventLoop, state: NIOLoopBound<LoopState>)]

    package init(_ states: [NIOLoopBound<LoopState>], loops: [any EventLoop]) {
        self.all = Array(zip(loops, states))
        self.states = Dictionary(uniqueKeysWithValues: zip(loops.map { ObjectIdentifier($0) }, states))
    }

    /// Must be called on `eventLoop`, which must be one of the gateway's.
    package subscript(eventLoop: any EventLoop) -> LoopState {
        guard let state = self.states[ObjectIdentifier(eventLoop)] else {
            preconditionFailure("connection on an event loop of another gateway")
        }
        return state.value
    }

    /// Runs on the loop that keeps what is known of a rider between its requests: always the same one.
    package func onHomeLoop<Value: Sendable>(
        of rider: PersonID, _ body: @escaping @Sendable (LoopState) -> EventLoopFuture<Value>
    ) -> EventLoopFuture<Value> {
        let (loop, state) = self.all[Int(UInt(bitPattern: rider.hashValue) % UInt(self.all.count))]
        return loop.flatSubmit { body(state.value) }
    }
}
