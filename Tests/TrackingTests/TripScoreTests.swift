import Testing

@testable import Tracking

@Suite struct TripScoreTests {
    static let trips = [
        "amsterdam-over-four-hours", "kyoto-25s-gap", "moscow-jumps", "moscow-traffic", "petersburg-seven-gaps",
        "rome-clean-1hz",
    ]

    @Test(.enabled(if: Recordings.areThere, "../shared/data is not there"))
    func `the built-in estimator is a quarter better than the straight line, at the median of every horizon`() throws {
        var (ours, theirs) = (Scorecard(), Scorecard())
        for name in Self.trips {
            let score = try #require(TripScore(try Recordings.real(name)))
            ours.add(score.builtIn)
            theirs.add(score.straightLine)
        }
        let horizons = ours.scores(by: .actual)
        #expect(horizons.map(\.minutes) == [5, 10, 20])
        for (ours, theirs) in zip(horizons, theirs.scores(by: .actual)) {
            let (mine, other) = (try #require(ours.medianSeconds), try #require(theirs.medianSeconds))
            #expect(ours.count > 500 && mine <= 0.75 * other, "\(ours) against \(theirs)")
        }
    }

    @Test func `a generated trip is scored at the horizons it is long enough for`() throws {
        let score = try #require(TripScore(Recordings.generated(seed: 2)))
        let scores = score.builtIn.scores(by: .actual)
        #expect(score.counts.refused == 0 && score.counts.held == 0)
        #expect(scores.map(\.minutes) == [5, 10, 20])
        #expect(scores[0].count > 100)
        // Within a third of the horizon, because the assumptions were not fitted to this town.
        #expect(try #require(scores[0].medianSeconds) < 150)
        #expect(scores[2].count == 0 && scores[2].medianSeconds == nil)
    }

    @Test func `a street network is queried once a minute, and its routes are scored with and without the estimator`()
        throws
    {
        let readings = Recordings.generated(seed: 2)
        #expect(try #require(TripScore(readings)).streets.scores(by: .actual)[0].count == 0)
        var asked = 0
        let score = try #require(
            TripScore(readings) { from, to, _ in
                asked += 1
                return from.meters(to: to) / 100
            })
        let minutes = score.tripSeconds / 60
        #expect(abs(Double(asked) - minutes) <= 1)
        let (with, alone) = (score.streets.scores(by: .actual)[0], score.streetsAlone.scores(by: .actual)[0])
        #expect(with.count == alone.count && with.count > 0 && with.coverage != nil && alone.coverage == nil)
        // Nobody drives 100 m/s.
        let (bias, biasAlone) = try (#require(with.biasSeconds), #require(alone.biasSeconds))
        #expect(biasAlone < -200 && bias > biasAlone)
    }

    @Test func `a trip of one reading is not scored`() {
        #expect(TripScore([]) == nil)
        #expect(TripScore([Recordings.generated()[0]]) == nil)
    }
}
