import Foundation
import Testing

@testable import enroute

/// The commands that the reference page lists for each setting, against what the commands read. A debug build also stops at a
/// setting that is read by a command that is not listed (`ProcessConfiguration.command`).
@Suite struct CommandSettingsTests {
    /// A run of a command with settings that are valid, but lead nowhere.
    struct Run: Sendable, CustomTestStringConvertible {
        let command: String
        let words: [String]
        let settings: [String: String]
        let code: Int32
        var testDescription: String { self.words.joined(separator: " ") }

        init(_ words: [String], _ settings: [String: String], endsWith code: Int32) {
            (self.command, self.words, self.settings, self.code) = (words[0], words, settings, code)
        }
    }

    private static let redis = ["ENROUTE_REDIS_LIVE_URL": "redis://127.0.0.1:1"]
    private static let secret = ["ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes"]
    private static let client = [
        "ENROUTE_CLIENT_URL": "http://127.0.0.1:1", "ENROUTE_CLIENT_TOKEN": "a.b.c",
    ]

    private static let runs = [
        Run(["audit"], Self.redis, endsWith: 69), Run(["explain", "job-7"], Self.redis, endsWith: 69),
        Run(["revoke", "user", "anna"], Self.redis, endsWith: 69),
        Run(["webhooks", "list"], Self.redis, endsWith: 69),
        Run(["probe"], ["ENROUTE_MANAGEMENT_PORT": "1"], endsWith: 69),
        Run(["token", "anna", "--role", "customer"], Self.secret, endsWith: 0),
        Run(["token", "inspect", "a.b.c"], Self.secret, endsWith: 65),
        Run(["job", "show", "job-7"], Self.client, endsWith: 69),
        Run(["rider", "show", "rider-7"], Self.client, endsWith: 69),
    ]

    /// The settings that are checked when they are read: numbers and choices.
    private static let checked = SettingsTable.all.filter { setting in
        switch setting.type {
        case .integer, .choice: true
        case .text, .list: false
        }
    }

    @Test func `every command that a setting lists is known here, except those that need more than settings`() {
        let listed = Set(SettingsTable.all.flatMap(\.commands))
        #expect(listed == Set(Self.runs.map(\.command)).union(["serve", "replay"]))
    }

    @Test(arguments: Self.runs)
    func `a command ignores settings that do not list it`(run: Run) async throws {
        let others = Self.checked.filter { !$0.commands.contains(run.command) }
        let invalid = Dictionary(uniqueKeysWithValues: others.map { ($0.name, "invalid") })
        let outcome = try await CommandTests.run(run.words, environment: invalid.merging(run.settings) { $1 })
        #expect(outcome.code == run.code && !outcome.all.contains("invalid;"), "\(outcome)")
    }

    @Test(arguments: Self.runs.filter { !["token", "job", "rider"].contains($0.command) })
    func `a command stops at an invalid value of each setting that lists it`(run: Run) async throws {
        for setting in Self.checked where setting.commands.contains(run.command) {
            let outcome = try await CommandTests.run(
                run.words, environment: run.settings.merging([setting.name: "invalid"]) { $1 })
            #expect(
                outcome.code == 78 && outcome.error.contains("\(setting.name) is invalid;"),
                "\(setting.name): \(outcome)")
        }
    }

    @Test func `inspecting a token stops at an invalid value of each setting that lists it`() async throws {
        for setting in Self.checked where setting.commands.contains("token") {
            let outcome = try await CommandTests.run(
                ["token", "inspect", "a.b.c"], environment: Self.secret.merging([setting.name: "invalid"]) { $1 })
            #expect(
                outcome.code == 78 && outcome.error.contains("\(setting.name) is invalid;"),
                "\(setting.name): \(outcome)")
        }
    }

    @Test func `the reference page explains a missing list`() {
        #expect(SettingsReference.page.contains("Where it is missing, only `enroute serve` does."))
    }
}
