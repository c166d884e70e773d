import Foundation
import Testing

/// `enroute replay` in the folder of `enroute dev`.
@Suite struct ReplayCommandTests {
    private struct Site {
        let dev: DevSession

        /// Starts a visit of `rider`.
        func start(_ job: String, of rider: String) async throws {
            let create = ["job", "create", job, "--customer", "anna", "--rider", rider, "--zone", "dev"]
            #expect(try await self.dev.enroute(create).code == 0)
            #expect(try await self.dev.enroute(["job", "status", job, "on_the_way"]).code == 0)
        }

        /// - Parameter redirection: of the shell.
        func replay(
            _ job: String, _ words: String = "", redirection: String = "", environment: [String: String] = [:]
        ) async throws -> CommandTests.Outcome {
            let command = "cd \"$0\" && exec \"$1\" replay t.csv --job \(job) --speed 1000 \(words) \(redirection)"
            return try await CommandTests.run(
                ["-c", command, self.dev.folder, CommandTests.binary], environment: environment, binary: "/bin/bash")
        }
    }

    private static func run(_ body: (Site) async throws -> Void) async throws {
        _ = try await DevSession.run { dev in
            let lines = ["unix_ms,lat,lon"] + (0..<10).map { "\(1000 + $0 * 10_000),41.90\($0),12.49" }
            try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: "\(dev.folder)/t.csv"))
            try await body(Site(dev: dev))
        }
    }

    @Test func `the gateway and the rider of enroute dev are found without an option`() async throws {
        try await Self.run { site in
            try await site.start("visit-1", of: "rider-1")
            let outcome = try await site.replay("visit-1")
            #expect(outcome.code == 0 && outcome.output.contains("refused 0"), "\(outcome)")
            #expect(!outcome.output.contains("accepted 0"), "\(outcome)")
        }
    }

    @Test func `a token of another rider is made with the secret of enroute dev`() async throws {
        try await Self.run { site in
            try await site.start("visit-2", of: "rider-2")
            let outcome = try await site.replay(
                "visit-2", "--rider rider-2 --url \(site.dev.url.replacing("http", with: "ws"))")
            #expect(outcome.code == 0 && outcome.output.contains("refused 0"), "\(outcome)")
        }
    }

    @Test func `the secret of enroute dev is not used with another gateway, nor where a key is set`() async throws {
        try await Self.run { site in
            let other = try await site.replay("visit-1", "--url wss://example.com")
            #expect(other.code == 78 && other.error.contains("No token is set for wss://example.com"), "\(other)")
            let keyed = try await site.replay(
                "visit-1", "--url \(site.dev.url.replacing("http", with: "ws"))",
                environment: ["ENROUTE_TOKEN_SECRET": RoadTests.secret])
            #expect(keyed.code == 69 && !keyed.error.contains(RoadTests.secret), "\(keyed)")
        }
    }

    @Test func `warnings and refusals that cannot be written do not stop a replay`() async throws {
        try await Self.run { site in
            try await site.start("visit-1", of: "rider-1")
            for redirection in ["2> /dev/full", "2>&-"] {
                let outcome = try await site.replay("visit-1", redirection: redirection)
                #expect(outcome.code == 0 && outcome.output.contains("sent "), "\(outcome)")
            }
            // Travel mode is refused.
            let refused = try await site.replay("visit-9", redirection: "2> /dev/full")
            #expect(refused.code == 69, "\(refused)")
        }
    }
}
