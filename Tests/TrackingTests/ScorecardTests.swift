import Testing

@testable import Tracking

@Suite struct ScorecardTests {
    @Test func `a prediction counts for its horizon with its absolute error`() {
        var card = Scorecard()
        for (before, said) in [(300.0, 330.0), (600, 540), (1200, 1200), (100, 9999), (3000, 0)] {
            card.predicted(remaining: said, at: 5000 - before)
        }
        let judged = card.arrived(at: 5000)
        #expect(judged.map(\.minutes) == [5, 10, 20] && judged.map(\.errorSeconds) == [30, 60, 0])
        #expect(card.scores(by: .actual).map(\.medianSeconds) == [30, 60, 0])
    }

    @Test func `the median and the 90th percentile cover all trips`() {
        var all = Scorecard()
        for error in 0..<100 {
            var trip = Scorecard()
            trip.predicted(remaining: 300 + (error.isMultiple(of: 2) ? 1 : -1) * Double(error), at: 0)
            trip.arrived(at: 300)
            all.add(trip)
        }
        #expect(all.scores(by: .actual)[0].count == 100)
        #expect(all.scores(by: .actual)[0].medianSeconds == 50 && all.scores(by: .actual)[0].p90Seconds == 90)
        #expect(all.scores(by: .actual)[1].medianSeconds == nil)
    }

    @Test func `the bias has a sign, and the coverage is the share of ranges with the arrival`() {
        var card = Scorecard()
        for said in [200.0, 280, 320] { card.predicted(remaining: said, range: said - 50...said + 50, at: 0) }
        card.arrived(at: 300)
        #expect(card.scores(by: .actual)[0].biasSeconds == -20 && card.scores(by: .actual)[0].medianSeconds == 20)
        #expect(card.scores(by: .actual)[0].coverage == 2.0 / 3 && card.scores(by: .actual)[1].coverage == nil)
    }

    @Test func `a prediction counts for the time it predicted, too`() {
        var card = Scorecard()
        // 20 minutes were left each time, and 10 minutes or none of the horizons were predicted.
        for said in [550.0, 650, 660, 900] { card.predicted(remaining: said, range: said...2 * said, at: 0) }
        card.arrived(at: 1200)
        let (actual, predicted) = (card.scores(by: .actual), card.scores(by: .predicted))
        #expect(actual.map(\.count) == [0, 0, 4] && predicted.map(\.count) == [0, 3, 0])
        #expect(predicted[1].biasSeconds == -550 && predicted[1].medianSeconds == 550)
        #expect(predicted[1].coverage == 2.0 / 3 && actual[2].coverage == 0.75)
        var all = Scorecard()
        all.add(card)
        all.add(card)
        #expect(all.scores(by: .predicted).map(\.count) == [0, 6, 0])
    }

    @Test func `a trip without an arrival is not scored, and trips are scored separately`() {
        var card = Scorecard()
        card.predicted(remaining: 0, at: 0)
        card.abandoned()
        let none = card.arrived(at: 300)
        #expect(none.isEmpty)
        card.predicted(remaining: 300, at: 0)
        let (one, over) = (card.arrived(at: 300), card.arrived(at: 300))
        #expect(one.count == 1 && over.isEmpty)
    }

    @Test func `the predictions of a trip that never arrives are limited`() {
        var card = Scorecard()
        for second in 0..<50_000 { card.predicted(remaining: 300, at: Double(second)) }
        let judged = card.arrived(at: 50_300)
        #expect(judged.count > 1 && judged.count < 20_000)
    }
}
