// Detects a dead connection: when to ping, and when to give up. enroute-timing.js follows the same rules. All times are in ms.

/// What to do during a silence.
struct Heartbeat: Equatable {
    enum Step: Equatable { case wait, ping, giveUp }

    /// Without a message, the client sends a ping after this time.
    static let pingAfter = 20_000.0
    /// Without a message, the client gives up the connection after this time.
    static let giveUpAfter = 40_000.0
    /// Replaces `pingAfter` while a job is live or a report is unanswered, because the gateway then sends something
    /// every 8 s.
    static let pingAfterExpected = 10_000.0
    /// How long to wait for a pong before the gateway counts as silent; also used after the network is back.
    static let pongWithin = 4_000.0

    /// When the last message was received.
    var receivedAt: Double
    /// When the first ping since then was sent.
    var pingedAt: Double?
    /// Whether an answer is needed soon, because the network or the app is back.
    var isProbing = false

    /// Returns what to do now, and in how many ms to check again. After a device was asleep, it sends a ping before it
    /// gives up.
    func check(at now: Double, expectsMessages: Bool) -> (step: Step, lookIn: Double) {
        let pingAfter = expectsMessages ? Self.pingAfterExpected : Self.pingAfter
        let answer = self.isProbing ? Self.pongWithin : Self.giveUpAfter - pingAfter
        if let pingedAt {
            let rest = pingedAt + answer - now
            return rest <= 0 ? (.giveUp, 0) : (.wait, rest)
        }
        let quiet = self.receivedAt + pingAfter - now
        return self.isProbing || quiet <= 0 ? (.ping, answer) : (.wait, quiet)
    }
}
