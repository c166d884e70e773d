// enroute eta-accuracy: how accurate arrival times would have been on recorded trips, by vehicle.

import ArgumentParser
import EnrouteWire
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
            first comes within 50 m of it. The table shows errors, in seconds, of predictions made 5, 10 and 20 minutes
            before the arrival (plus or minus a fifth): the median and the 90th percentile without sign, and the bias, which
            is the median with its sign: it is negative if arrivals were predicted too early. "In range" is the share of the
            predictions whose range contained the arrival; 80 % is intended. The straight-line distance over the mean speed
            so far is the baseline.

            A file belongs to the vehicle in its name or its folder: bicycle.csv, car/monday.gpx. For other files, and with
            "--vehicle learned" for all, the vehicle is learned from the trip, as for a rider without one.

            Examples:
              enroute eta-accuracy trip.gpx
              enroute eta-accuracy --vehicle car recordings/*.gpx.gz
              enroute eta-accuracy foot.csv bicycle.csv car/*.gpx.gz
            """), aliases: ["score"])

    @Argument(help: "Recordings: .gpx, .csv or .nmea, or one of these with .gz.")
    var files: [String]

    @Option(help: "The trip to use from a CSV file that has several. Without this, all are used.")
    var trip: String?

    @Option(help: "What the riders travel with: \(Self.vehicles).")
    var vehicle: String?

    /// For riders whose vehicle is not known.
    private static let learned = "learned"
    private static let vehicles = (Vehicle.allCases.map(\.rawValue) + [Self.learned]).joined(separator: ", ")

    func validate() throws {
        guard let vehicle, vehicle != Self.learned, Vehicle(rawValue: vehicle) == nil else { return }
        throw ValidationError("--vehicle must be one of \(Self.vehicles).")
    }

    func run() async throws {
        try await exitingCleanly {
            var tables: [Vehicle?: (builtIn: Scorecard, straightLine: Scorecard)] = [:]
            for file in self.files {
                let vehicle = self.vehicle.map(Vehicle.init) ?? Self.vehicle(ofFile: file)
                let journeys =
                    try self.trip.map { [try Journey.load(path: file, trip: $0)] } ?? Journey.loadAll(path: file)
                for journey in journeys {
                    guard let score = TripScore(journey.fixes.map(Reading.init), vehicle: vehicle) else {
                        say("\(journey.name): fewer than two fixes were accepted")
                        continue
                    }
                    tables[vehicle, default: (Scorecard(), Scorecard())].builtIn.add(score.builtIn)
                    tables[vehicle, default: (Scorecard(), Scorecard())].straightLine.add(score.straightLine)
                    // A file with hundreds of trips needs no line for each.
                    guard journeys.count == 1 else { continue }
                    say(
                        "\(journey.name): \(Int(score.tripSeconds / 60)) min to the arrival, \(score.counts.accepted) fixes "
                            + "accepted, \(score.counts.held) held, \(score.counts.refused) refused")
                }
                if journeys.count > 1 { say("\(file): \(journeys.count) trips") }
            }
            say("")
            say(
                "| vehicle | minutes before | predictions | median, p90 (s) | bias (s) | in range "
                    + "| straight line: median, bias (s) | better by |")
            say("|---|---|---|---|---|---|---|---|")
            for vehicle in Vehicle.allCases.map(Optional.some) + [nil] {
                guard let table = tables[vehicle] else { continue }
                for (ours, theirs) in zip(table.builtIn.scores, table.straightLine.scores) {
                    say("| \(vehicle?.rawValue ?? Self.learned) " + Self.row(ours, theirs))
                }
            }
        }
    }

    /// The vehicle in the name of a file or of its folder.
    private static func vehicle(ofFile path: String) -> Vehicle? {
        let parts = path.split(separator: "/").suffix(2)
        let name = parts.last?.split(separator: ".").first.flatMap { Vehicle(rawValue: String($0)) }
        return name ?? (parts.count > 1 ? parts.first.flatMap { Vehicle(rawValue: String($0)) } : nil)
    }

    private static func row(_ ours: Scorecard.Score, _ theirs: Scorecard.Score) -> String {
        func number(_ value: Double?) -> String { value.map { String(Int($0.rounded())) } ?? "-" }
        func percent(_ value: Double?) -> String { value.map { "\(Int(($0 * 100).rounded())) %" } ?? "-" }
        let gain = ours.medianSeconds.flatMap { ours in theirs.medianSeconds.map { 1 - ours / max(1, $0) } }
        return "| \(ours.minutes) | \(ours.count) | \(number(ours.medianSeconds)), \(number(ours.p90Seconds)) | "
            + "\(number(ours.biasSeconds)) | \(percent(ours.coverage)) | \(number(theirs.medianSeconds)), "
            + "\(number(theirs.biasSeconds)) | \(percent(gain)) |"
    }
}

extension Reading {
    init(_ fix: Journeys.Fix) {
        self.init(
            at: fix.at, point: Point(latitude: fix.latitude, longitude: fix.longitude),
            accuracyMeters: fix.accuracyMeters, speedMetersPerSecond: fix.speedMetersPerSecond)
    }
}
