// Detects peers that have disappeared: after a period of silence the server sends a ping, and if nothing arrives in reply,
// it closes the connection. A value without a clock.

package import NIOCore

/// The keepalive state of one connection.
package struct Keepalive {
    package enum Step: Hashable {
        /// Check again at this time.
        case wait(until: NIODeadline)
        /// Send a ping, and check again at this time.
        case ping(until: NIODeadline)
        /// The ping timed out.
        case timedOut
    }

    private let pingInterval: TimeAmount
    private let pongTimeout: TimeAmount
    private var lastReceived: NIODeadline
    private var pongDeadline: NIODeadline?

    package init(pingSeconds: Int, pongSeconds: Int, now: NIODeadline) {
        self.pingInterval = .seconds(Int64(pingSeconds))
        self.pongTimeout = .seconds(Int64(pongSeconds))
        self.lastReceived = now
    }

    /// The time of the first check.
    package var firstCheck: NIODeadline { self.lastReceived + self.pingInterval }

    /// Records that bytes arrived from the peer.
    package mutating func received(_ now: NIODeadline) {
        self.lastReceived = now
        self.pongDeadline = nil
    }

    package mutating func step(_ now: NIODeadline) -> Step {
        if let pongDeadline {
            return now >= pongDeadline ? .timedOut : .wait(until: pongDeadline)
        }
        let next = self.lastReceived + self.pingInterval
        guard now >= next else { return .wait(until: next) }
        let deadline = now + self.pongTimeout
        self.pongDeadline = deadline
        return .ping(until: deadline)
    }
}
