// What happens on one event loop, counted without a lock and added up for a scrape.

package import EnrouteWire
package import Telemetry

/// Counts of one loop, which every part of it adds to. Confined to it.
package final class LoopCounts {

    package init() {}
    package private(set) var values = Counts()

    package func add(_ metric: Metric) { self.values.add(metric) }

    package func add(_ metric: Metric, _ amount: Int) { self.values.add(metric, amount) }

    /// A session was closed by us.
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
