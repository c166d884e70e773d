// The facts that a loop contributes to explanations: it reads them from Redis, and counts the sessions of riders.

internal import Access
package import EnrouteWire
internal import HTTPValues
package import LiveState

extension LoopState {
    package var facts: FactsCollector {
        FactsCollector(
            live: self.live, ledger: self.ledger, settings: self.settings.liveState,
            accessPages: FactsCollector.pagesOfRequest,
            revocationTime: { [revocations] in revocations.time(of: $0) }, now: { WallClock.nowMilliseconds })
    }

    /// The number of sessions per rider, for at most `most` riders.
    package func riderSessionCounts(most: Int) -> [PersonID: Int] {
        var counts: [PersonID: Int] = [:]
        for session in self.sessions.values {
            guard let grant = session.life.admitted?.grant, grant.role == .rider else { continue }
            guard counts.count < most || counts[grant.person] != nil else { continue }
            counts[grant.person, default: 0] += 1
        }
        return counts
    }
}
