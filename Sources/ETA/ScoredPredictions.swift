// Scores the predictions of one arrival once the rider has arrived, for the metrics of the accuracy.

internal import EnrouteWire
internal import Routing
internal import Tracking

/// The predictions that this loop has published for one arrival, by source.
struct ScoredPredictions {
    private var cards: [ArrivalSource: Scorecard] = [:]

    /// Records an estimate of this loop that was published.
    mutating func published(_ estimate: ArrivalEstimate, now: UInt64) {
        guard let source = estimate.source.flatMap(ArrivalSource.init), let seconds = estimate.seconds else { return }
        self.cards[source, default: Scorecard()].predicted(remaining: Double(seconds), at: Double(now) / 1e9)
    }

    /// The rider has arrived.
    ///
    /// - Returns: the errors of the predictions by source and by minutes before the arrival.
    mutating func arrived(now: UInt64) -> [(source: ArrivalSource, minutes: Int, errorSeconds: Double)] {
        let cards = self.cards
        self.cards = [:]
        return cards.flatMap { source, card in
            var card = card
            return card.arrived(at: Double(now) / 1e9).map { (source, $0.minutes, $0.errorSeconds) }
        }
    }
}
