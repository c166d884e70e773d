// enroute streets: compiles streets into a file for ENROUTE_STREETS_FILE, and checks it with routes.

import ArgumentParser
import EnrouteWire
import Foundation
import Streets

struct StreetsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "streets",
        abstract: "Compiles streets into a file, and finds routes in it.",
        usage: """
            enroute streets build <input>... --output <file>
            enroute streets route <file> --from <lat,lon> --to <lat,lon> [--vehicle <vehicle>]
            enroute streets measure <file> [--vehicle <vehicle>] [--queries <number>]
            """,
        discussion: wrappable(
            """
            A gateway uses the compiled file for arrival times and for the map of its pages (ENROUTE_STREETS_FILE). Inputs are
            OpenStreetMap extracts (.osm.pbf) and GeoJSON with lines (.geojson or .json, plain or .gz). Exit codes: 0 done, 1
            there is no route, 65 a file cannot be used.

            Examples:
              enroute streets build vienna.osm.pbf --output vienna.streets
              enroute streets route vienna.streets \\
                --from 48.2082,16.3738 --to 48.1851,16.3771 --vehicle bicycle
            """),
        subcommands: [Build.self, Route.self, Measure.self])

    static let vehicles = Vehicle.allCases.map(\.rawValue).joined(separator: ", ")

    /// - Throws: `ValidationError` for an unknown vehicle.
    static func vehicle(_ text: String) throws -> Vehicle {
        guard let vehicle = Vehicle(rawValue: text) else {
            throw ValidationError("--vehicle must be one of \(Self.vehicles).")
        }
        return vehicle
    }

    struct Build: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Compiles extracts and GeoJSON into one file.")

        @Argument(help: "OpenStreetMap extracts (.osm.pbf) and GeoJSON (.geojson or .json, plain or .gz).")
        var inputs: [String]

        @Option(help: "The file to write. It replaces an existing one when it is complete.")
        var output: String

        func run() async throws {
            try await exitingCleanly {
                let start = ContinuousClock.now
                let summary = try StreetCompiler.compile(inputs: self.inputs, output: self.output) { say($0) }
                let seconds = (ContinuousClock.now - start) / .seconds(1)
                say("nodes: \(summary.nodes)")
                say("directed edges: \(summary.edges)")
                say("shape points: \(summary.shapePoints)")
                say("names: \(summary.names)")
                say("bytes: \(summary.bytes)")
                say("seconds: \(String(format: "%.1f", seconds))")
            }
        }
    }

    struct Route: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Finds the fastest route between two places.")

        @Argument(help: "A file that enroute streets build wrote.")
        var file: String

        @Option(parsing: .unconditional, help: "The start in degrees, for example 48.2082,16.3738.")
        var from: String

        @Option(parsing: .unconditional, help: "The destination in degrees.")
        var to: String

        @Option(help: "What the rider travels with: \(StreetsCommand.vehicles).")
        var vehicle = Vehicle.car.rawValue

        func validate() throws {
            _ = try StreetsCommand.vehicle(self.vehicle)
            _ = try (Self.place(self.from, "--from"), Self.place(self.to, "--to"))
        }

        func run() async throws {
            try await exitingCleanly {
                let places = try [Self.place(self.from, "--from"), Self.place(self.to, "--to")]
                let network = try StreetNetwork(path: self.file)
                guard let route = network.route(through: places, by: try StreetsCommand.vehicle(self.vehicle)) else {
                    throw NoStreetRoute()
                }
                say("seconds: \(Int(route.seconds.rounded()))")
                say("meters: \(Int(route.meters.rounded()))")
                say("points: \(route.line.count)")
            }
        }

        private static func place(_ text: String, _ option: String) throws -> Coordinate {
            let parts = text.split(separator: ",", omittingEmptySubsequences: false).map {
                Double($0.trimmingCharacters(in: .whitespaces))
            }
            guard parts.count == 2, let latitude = parts[0], let longitude = parts[1],
                let place = Coordinate(latitude: latitude, longitude: longitude)
            else {
                throw ValidationError(
                    "\(option) must be latitude and longitude in degrees, for example 48.2082,16.3738.")
            }
            return place
        }
    }

    struct Measure: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Measures the CPU time of finding routes between random places, and the memory.")

        @Argument(help: "A file that enroute streets build wrote.")
        var file: String

        @Option(help: "What the riders travel with: \(StreetsCommand.vehicles).")
        var vehicle = Vehicle.car.rawValue

        @Option(help: "The number of routes, 1 to 1000000.")
        var queries = 500

        func validate() throws {
            _ = try StreetsCommand.vehicle(self.vehicle)
            guard (1...1_000_000).contains(self.queries) else {
                throw ValidationError("--queries must be from 1 to 1000000.")
            }
        }

        func run() async throws {
            try await exitingCleanly {
                let start = ContinuousClock.now
                let network = try StreetNetwork(path: self.file)
                let opened = (ContinuousClock.now - start) / .milliseconds(1)
                let result = network.measure(queries: self.queries, by: try StreetsCommand.vehicle(self.vehicle))
                func line(_ name: String, _ value: Double) { say("\(name): \(String(format: "%.2f", value))") }
                say("nodes: \(network.nodeCount)")
                say("directed edges: \(network.edgeCount)")
                say("routes found: \(result.found)")
                say("no route: \(result.missing)")
                line("open ms", opened)
                line("median ms", result.quantile(0.5))
                line("p95 ms", result.quantile(0.95))
                line("p99 ms", result.quantile(0.99))
                line("longest ms", result.quantile(1))
                if let resident = Self.residentMegabytes { line("resident MB", resident) }
            }
        }

        /// The resident memory of this process with the pages of the file; `nil` on systems without /proc.
        private static var residentMegabytes: Double? {
            guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
                let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmRSS:") }),
                let kilobytes = line.split(separator: " ").compactMap({ Double($0) }).first
            else { return nil }
            return kilobytes * 1024 / 1e6
        }
    }
}

/// There is no route.
struct NoStreetRoute: Error, CustomStringConvertible {
    let description =
        "no route: a place is more than 300 m from a street that the vehicle may use, or no street leads from one to the other"
}
