// The counters and histograms of one event loop. They need no lock; a scrape adds up those of all loops.

package import EnrouteWire
package import Telemetry

/// The counters and histograms that everything on one event loop shares. Confined to that loop.
package final class LoopCounts {
    package private(set) var values = Counts()
    package let durations = LoopDurations()

    package init() {}

    package func add(_ metric: Metric) { self.values.add(metric) }

    package func add(_ metric: Metric, _ amount: Int) { self.values.add(metric, amount) }

    /// Counts a session that the gateway closed.
    package func closed(_ code: CloseCode) {
        switch code {
        case .goingAway: self.add(.closedGoingAway)
        case .overloaded: self.add(.closedOverloaded)
        case .rateLimited: self.add(.closedRateLimited)
        case .tooManyBadRequests: self.add(.closedBadMessages)
        case .messageTooBig: self.add(.closedTooBig)
        case .protocolError: self.add(.closedProtocolError)
        default: break
        }
    }
}
