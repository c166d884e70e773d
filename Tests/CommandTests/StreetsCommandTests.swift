import Foundation
import Testing

/// `enroute streets`, run as operations staff run it, and its file in the configuration of a gateway.
@Suite struct StreetsCommandTests {
    private static let town = """
        {"type":"FeatureCollection","attribution":"© the town","features":[
        {"type":"Feature","properties":{"highway":"residential","name":"Long Street"},
        "geometry":{"type":"LineString","coordinates":[[16.0,48.0],[16.01,48.0],[16.02,48.0]]}},
        {"type":"Feature","properties":{"highway":"footway"},
        "geometry":{"type":"LineString","coordinates":[[16.01,48.0],[16.01,48.01]]}}]}
        """
    private static let gateway = [
        "ENROUTE_REDIS_LIVE_URL": "unix:/nowhere.sock", "ENROUTE_TLS": "off", "ENROUTE_MANAGEMENT": "off",
        "ENROUTE_LISTEN_PORT": "0", "ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes",
    ]

    private func inFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-streets-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Self.town.write(to: folder.appending(path: "town.geojson"), atomically: true, encoding: .utf8)
        try await body(folder)
    }

    @Test func `streets are compiled, and routes are found in the file`() async throws {
        try await self.inFolder { folder in
            let (input, file) = (
                folder.appending(path: "town.geojson").path, folder.appending(path: "town.streets").path
            )
            let built = try await CommandTests.run(["streets", "build", input, "--output", file])
            #expect(built.code == 0 && built.error.isEmpty)
            for line in ["nodes: 4", "directed edges: 6", "names: 1", "bytes: ", "seconds: "] {
                #expect(built.output.contains("\n\(line)"))
            }
            let ends = ["--from", "48.0,16.0", "--to", "48.009,16.01"]
            let walk = try await CommandTests.run(["streets", "route", file, "--vehicle", "foot"] + ends)
            #expect(walk.code == 0 && walk.output.contains("seconds: ") && walk.output.contains("meters: 17"))
            // The footway is 1 km long, so its end is too far away for a car.
            let drive = try await CommandTests.run(["streets", "route", file] + ends)
            #expect(drive.code == 1 && drive.error.contains("no route: a place is more than 300 m from a street"))
            let measured = try await CommandTests.run(["streets", "measure", file, "--queries", "20"])
            #expect(measured.code == 0 && measured.output.contains("median ms: "))
        }
    }

    @Test func `a mistake is reported with a remedy`() async throws {
        try await self.inFolder { folder in
            let input = folder.appending(path: "town.geojson").path
            let broken = folder.appending(path: "broken.geojson").path
            try Self.town.replacing("[16.01,48.01]", with: #"[16.01,"48.01"]"#)
                .write(toFile: broken, atomically: true, encoding: .utf8)
            for (arguments, code, message) in [
                (
                    ["streets", "build", broken, "--output", "/tmp/x"], 65 as Int32,
                    "feature 2: geometry.coordinates[1][1] is"
                ),
                (["score", folder.path], 65, "is a folder: name the files in it"),
                (["streets", "route", input, "--from", "48,16", "--to", "48,16.01"], 65, "is not a compiled"),
                (["streets", "route", input, "--from", "48;16", "--to", "48,16.01"], 64, "--from must be latitude"),
                (
                    ["streets", "route", input, "--from", "48,16", "--to", "48,16.01", "--vehicle", "ship"], 64,
                    "--vehicle must be one of foot"
                ),
                // South of the equator, a value starts with a minus sign.
                (["streets", "route", input, "--from", "-33.9,18.4", "--to", "-33.91,18.4"], 65, "is not a compiled"),
                (["streets", "measure", input, "--queries", "0"], 64, "--queries must be from 1"),
                (["streets", "build", input, "--output", "."], 65, "is a folder"),
                (["streets", "build", "/no.osm.pbf", input, "--output", input], 65, "it is the input"),
                (["streets", "build", "/no.osm.pbf", "--output", "/tmp/x"], 65, "/no.osm.pbf cannot be read"),
                (["streets", "build", "/etc/hostname", "--output", "/tmp/x"], 65, "unknown format"),
                (["streets", "build", input, "--output", "/nowhere/x"], 65, "/nowhere/x cannot be written"),
            ] {
                let outcome = try await CommandTests.run(arguments)
                #expect(outcome.code == code && outcome.error.contains(message))
            }
        }
    }

    @Test func `a gateway checks its street file when it starts`() async throws {
        try await self.inFolder { folder in
            let (input, file) = (
                folder.appending(path: "town.geojson").path, folder.appending(path: "town.streets").path
            )
            _ = try await CommandTests.run(["streets", "build", input, "--output", file])
            for (path, code, message) in [
                ("/no.streets", 78 as Int32, "ENROUTE_STREETS_FILE: /no.streets cannot be read"),
                (input, 78, "is not a compiled street file. Create one with: enroute streets build"),
            ] {
                let outcome = try await CommandTests.run(
                    ["serve"], environment: Self.gateway.merging(["ENROUTE_STREETS_FILE": path]) { $1 })
                #expect(outcome.code == code && outcome.all.contains(message), "\(outcome.all)")
            }
        }
    }
}
