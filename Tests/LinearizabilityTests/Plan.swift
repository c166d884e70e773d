// The requests of four clients in one history, and which of their calls fail. Derived from a seed, so that it can be
// repeated, although Redis may execute it in another order.

import Resilience

/// The calls of each client.
struct Plan: Sendable {
    /// What happens to a call.
    enum Fate: Sendable {
        case answered
        /// Its answer is lost, and it is repeated with the same request id: both may run concurrently.
        case repeated
        /// The client dies after sending it.
        case lastWords
    }

    struct Step: Sendable {
        var call: Call
        var fate: Fate
    }

    let seed: UInt64
    var clients: [[Step]] = []

    static let clientCount = 4
    private static let steps = 3...6

    init(seed: UInt64) {
        self.seed = seed
        var random = SplitMix(seed: seed)
        for _ in 0..<Self.clientCount {
            let count = Int.random(in: Self.steps, using: &random)
            var steps: [Step] = []
            while steps.count < count, steps.last?.fate != .lastWords { steps.append(Self.step(&random)) }
            self.clients.append(steps)
        }
    }

    private static func step(_ random: inout SplitMix) -> Step {
        let job = Int.random(in: 0..<3, using: &random)
        let call: Call =
            switch random.upTo(19) {
            case 0...3: .setOnline
            case 4...6: .setOffline
            case 7...10: .assign(job)
            case 11...13: .release(job)
            case 14: .approve(false)
            case 15: .approve(true)
            case 16: .heartbeat
            case 17: .expire
            default: .read
            }
        let fate: Fate =
            switch random.upTo(29) {
            case 0: .lastWords
            case 1...3 where call.hasRequest: .repeated
            default: .answered
            }
        return Step(call: call, fate: fate)
    }
}
