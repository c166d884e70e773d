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
        case gone
    }

    private let silence: TimeAmount
    private let patience: TimeAmount
    private var lastHeard: NIODeadline
    private var pongDeadline: NIODeadline?

    package init(pingSeconds: Int, pongSeconds: Int, now: NIODeadline) {
        self.silence = .seconds(Int64(pingSeconds))
        self.patience = .seconds(Int64(pongSeconds))
        self.lastHeard = now
    }

    /// The time of the first check.
    package var first: NIODeadline { self.lastHeard + self.silence }

    /// Records that bytes arrived from the peer.
    package mutating func received(_ now: NIODeadline) {
        self.lastHeard = now
        self.pongDeadline = nil
    }

    package mutating func step(_ now: NIODeadline) -> Step {
        if let pongDeadline {
            return now >= pongDeadline ? .gone : .wait(until: pongDeadline)
        }
        let next = self.lastHeard + self.silence
        guard now >= next else { return .wait(until: next) }
        let deadline = now + self.patience
        self.pongDeadline = deadline
        return .ping(until: deadline)
    }
}
