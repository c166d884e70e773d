// enroute eta-accuracy: how accurate arrival times would have been on recorded trips.

import ArgumentParser
import Foundation
import Journeys
import Tracking

struct ETAAccuracyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "eta-accuracy",
        abstract: "Measures the accuracy of arrival times on recorded trips.",
        discussion: wrappable(
            """
            Reads GPX 1.1, CSV and NMEA 0183, each also as .gz. A trip's destination is its last point; it arrives when it
            first comes within 50 m of it. The table shows absolute errors, in seconds, of predictions made 5, 10 and 20
            minutes before the arrival (plus or minus a fifth): by the built-in estimator, and by the straight-line
            distance over the mean speed so far.

            Examples:
              enroute eta-accuracy trip.gpx
              enroute eta-accuracy recordings/*.gpx.gz
            """))

    @Argument(help: "Recordings: .gpx, .csv or .nmea, or one of these with .gz.")
    var files: [String]

    @Option(help: "The trip to use of a CSV file with several.")
    var trip: String?

    func run() async throws {
        try await exitingCleanly {
            var (builtIn, straightLine) = (Scorecard(), Scorecard())
            for file in self.files {
                let journey = try Journey.load(path: file, trip: self.trip)
                guard let score = TripScore(journey.fixes.map(Reading.init)) else {
                    say("\(journey.name): fewer than two fixes were accepted")
                    continue
                }
                builtIn.add(score.builtIn)
                straightLine.add(score.straightLine)
                say(
                    "\(journey.name): \(Int(score.tripSeconds / 60)) min to the arrival, \(score.counts.accepted) fixes "
                        + "accepted, \(score.counts.held) held, \(score.counts.refused) refused")
            }
            say("")
            say(
                "| minutes before | predictions | built-in: median, p90 (s) | straight line: median, p90 (s) | median better by |"
            )
            say("|---|---|---|---|---|")
            for (ours, theirs) in zip(builtIn.scores, straightLine.scores) { say(Self.row(ours, theirs)) }
        }
    }

    private static func row(_ ours: Scorecard.Score, _ theirs: Scorecard.Score) -> String {
        func number(_ value: Double?) -> String { value.map { String(Int($0.rounded())) } ?? "-" }
        let gain =
            ours.medianSeconds.flatMap { ours in
                theirs.medianSeconds.map { "\(Int(((1 - ours / max(1, $0)) * 100).rounded())) %" }
            } ?? "-"
        return "| \(ours.minutes) | \(ours.count) | \(number(ours.medianSeconds)), \(number(ours.p90Seconds)) | "
            + "\(number(theirs.medianSeconds)), \(number(theirs.p90Seconds)) | \(gain) |"
    }
}

extension Reading {
    init(_ fix: Journeys.Fix) {
        self.init(
            at: fix.at, point: Point(latitude: fix.latitude, longitude: fix.longitude),
            accuracyMeters: fix.accuracyMeters, speedMetersPerSecond: fix.speedMetersPerSecond)
    }
}
