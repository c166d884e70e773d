// enroute eta-accuracy: how accurate the arrival times would have been on recorded trips, by vehicle.

import ArgumentParser
import EnrouteWire
import Foundation
import Journeys
import Streets
import Tracking

struct ETAAccuracyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "eta-accuracy",
        abstract: "Measures the accuracy of arrival times on recorded trips.",
        usage: """
            enroute eta-accuracy <file>... [--vehicle <vehicle>] [--streets <file>]
            enroute eta-accuracy <file> --trip <trip> [--vehicle <vehicle>]
            """,
        discussion: wrappable(
            """
            Reads GPX 1.1, CSV and NMEA 0183, plain or compressed (.gz). A trip's destination is its last point; it arrives
            when it first comes within 50 m of it. The first table shows the errors, in seconds, of predictions made 5, 10
            and 20 minutes before the arrival (plus or minus a fifth): the median and the 90th percentile of the absolute
            errors, and the bias, which is the median of the signed errors: it is negative if arrivals were predicted too
            early. "In range" is the share of the predictions whose range contained the arrival; 80 % is intended. The
            baseline is the straight-line distance, divided by the mean speed so far. The second table shows the same for
            predictions of 5, 10 and 20 minutes, whenever they were made: how far a customer who reads "20 min" can trust it.

            A file belongs to the vehicle in its name or its folder: bicycle.csv, car/monday.gpx. For other files, and with
            "--vehicle learned" for all, the vehicle is learned from the trip, as for a rider without one.

            With a street network ("--streets"), the tables also have the estimates of a gateway that uses it
            (ENROUTE_STREETS_FILE), and the times of its routes alone. Both are calculated once a minute, as by a gateway.

            Examples:
              enroute eta-accuracy trip.gpx
              enroute eta-accuracy --vehicle car recordings/*.gpx.gz
              enroute eta-accuracy foot.csv bicycle.csv car/*.gpx.gz
            """), aliases: ["score"])

    @Argument(help: ArgumentHelp("Recordings: .gpx, .csv or .nmea, or one of these with .gz.", valueName: "file"))
    var files: [String]

    @Option(help: "The trip to use from a CSV file that has several. Without this, all are used.")
    var trip: String?

    @Option(help: "What the riders travel with: \(Self.vehicles).")
    var vehicle: String?

    @Option(help: ArgumentHelp("A file that enroute streets build wrote.", valueName: "file"))
    var streets: String?

    /// The name for riders whose vehicle is unknown.
    private static let learned = "learned"
    private static let vehicles = (Vehicle.allCases.map(\.rawValue) + [Self.learned]).joined(separator: ", ")

    func validate() throws {
        guard let vehicle, vehicle != Self.learned, Vehicle(rawValue: vehicle) == nil else { return }
        throw ValidationError("--vehicle must be one of \(Self.vehicles).")
    }

    func run() async throws {
        try await exitingCleanly {
            let network = try self.streets.map { try StreetNetwork(path: $0) }
            var tables: [Vehicle?: Table] = [:]
            for file in self.files {
                let vehicle = self.vehicle.map(Vehicle.init) ?? Self.vehicle(ofFile: file)
                let journeys = try self.journeys(ofFile: file)
                for journey in journeys {
                    for warning in journey.warnings { Output.complain("warning: \(file): \(warning)\n") }
                    let readings = journey.fixes.map(Reading.init)
                    guard let score = TripScore(readings, vehicle: vehicle, route: network.map(Self.routes)) else {
                        say("\(journey.name): fewer than two fixes were accepted")
                        continue
                    }
                    tables[vehicle, default: Table()].add(score)
                    // With hundreds of trips in a file, a line for each would be too many.
                    guard journeys.count == 1 else { continue }
                    say(
                        "\(journey.name): \(Int(score.tripSeconds / 60)) min to the arrival, \(score.counts.accepted) fixes "
                            + "accepted, \(score.counts.held) held, \(score.counts.refused) refused")
                }
                if journeys.count > 1 { say("\(file): \(journeys.count) trips") }
            }
            for (basis, name) in [(Scorecard.Basis.actual, "minutes before"), (.predicted, "minutes predicted")] {
                say(
                    "\n| vehicle | \(name) | predictions | median, p90 (s) | bias (s) | in range "
                        + "| straight line: median, bias (s) | better by |\n|---|---|---|---|---|---|---|---|")
                for vehicle in Vehicle.allCases.map(Optional.some) + [nil] {
                    tables[vehicle]?.say(vehicle?.rawValue ?? Self.learned, by: basis, hasStreets: network != nil)
                }
            }
        }
    }

    private func journeys(ofFile path: String) throws(JourneyError) -> [Journey] {
        do throws(JourneyError) {
            if let trip { return [try Journey.load(path: path, trip: trip)] }
            return try Journey.loadAll(path: path)
        } catch {
            throw error.naming(path)
        }
    }

    private static func routes(_ network: StreetNetwork) -> (Point, Point, Vehicle?) -> Double? {
        { from, to, vehicle in
            let places = [from, to].compactMap { Coordinate(latitude: $0.latitude, longitude: $0.longitude) }
            return network.route(through: places, by: vehicle)?.seconds
        }
    }

    /// The vehicle in the name of a file or of its folder.
    private static func vehicle(ofFile path: String) -> Vehicle? {
        let parts = path.split(separator: "/").suffix(2)
        let name = parts.last?.split(separator: ".").first.flatMap { Vehicle(rawValue: String($0)) }
        return name ?? (parts.count > 1 ? parts.first.flatMap { Vehicle(rawValue: String($0)) } : nil)
    }
}

/// The scores of all trips of a vehicle.
private struct Table {
    private var (builtIn, straightLine, streets, streetsAlone) = (Scorecard(), Scorecard(), Scorecard(), Scorecard())

    mutating func add(_ score: TripScore) {
        self.builtIn.add(score.builtIn)
        self.straightLine.add(score.straightLine)
        self.streets.add(score.streets)
        self.streetsAlone.add(score.streetsAlone)
    }

    func say(_ vehicle: String, by basis: Scorecard.Basis, hasStreets: Bool) {
        let cards =
            [(vehicle, self.builtIn)]
            + (hasStreets
                ? [("\(vehicle), with streets", self.streets), ("\(vehicle), streets alone", self.streetsAlone)] : [])
        for (name, card) in cards {
            for (ours, theirs) in zip(card.scores(by: basis), self.straightLine.scores(by: basis)) {
                enroute.say("| \(name) " + Self.row(ours, theirs))
            }
        }
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
