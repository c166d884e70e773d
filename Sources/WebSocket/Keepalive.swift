// Whether a peer is still there: a ping after silence, and the end when nothing answers it. A value: it knows no clock.

package import NIOCore

/// Silence of one connection.
package struct Keepalive {
    package enum Step: Hashable {
        /// Look again then.
        case wait(until: NIODeadline)
        /// Send a ping, and look again then.
        case ping(until: NIODeadline)
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

    /// When to look for the first time.
    package var first: NIODeadline { self.lastHeard + self.silence }

    /// Anything came from the peer.
    package mutating func heard(_ now: NIODeadline) {
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
