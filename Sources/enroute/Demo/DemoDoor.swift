// One port of the demo's relay. Each page of the stage has its own port, and therefore its own origin, storage and
// sign-in. One device's connection can also be cut while the others stay connected.

import NIOCore
import Synchronization

/// The connections through one port. Thread-safe.
final class DemoDoor: Sendable {
    private struct State {
        var isCut = false
        var connections: [ObjectIdentifier: any Channel] = [:]
    }

    /// The number of the gateway that these connections prefer while it is running; `nil` for any.
    let preferredGateway: Int?
    private let state = Mutex(State())

    init(preferredGateway: Int? = nil) { self.preferredGateway = preferredGateway }

    var isCut: Bool { self.state.withLock { $0.isCut } }

    /// Counts a connection until it closes.
    ///
    /// - Returns: `false` while connections through this port are cut.
    func admit(_ channel: any Channel) -> Bool {
        let id = ObjectIdentifier(channel)
        let isAdmitted = self.state.withLock { state in
            if !state.isCut { state.connections[id] = channel }
            return !state.isCut
        }
        if isAdmitted {
            channel.closeFuture.whenComplete { _ in self.state.withLock { _ = $0.connections.removeValue(forKey: id) } }
        }
        return isAdmitted
    }

    /// Closes every connection, and each new one until `restore`, like a tunnel without reception.
    func cut() {
        let cut = self.state.withLock { state in
            state.isCut = true
            return Array(state.connections.values)
        }
        for channel in cut { channel.close(promise: nil) }
    }

    func restore() { self.state.withLock { $0.isCut = false } }
}
