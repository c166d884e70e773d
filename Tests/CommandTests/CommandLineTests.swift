import Embedded
import Foundation
import Testing

@testable import enroute

/// The errors of the command line about empty values and misspelled names.
@Suite struct CommandLineTests {
    @Test(arguments: [
        (["serve", "--config", ""], "--config must be a value that is not empty"),
        (["serve", "--config="], "--config must be a value that is not empty"),
        (["job", "show", ""], "Argument 3 of enroute must be a value that is not empty"),
        ([""], "Argument 1 of enroute must be a value that is not empty"),
        (["replay", "", "--job", "j"], "Argument 2 of enroute must be a value"),
        (["job", "create", "j", "--customer", ""], "--customer must be a value that is not empty"),
    ])
    func `an empty value is refused, with its place and the usual cause`(words: [String], reason: String) async throws {
        let outcome = try await CommandTests.run(words)
        #expect(outcome.code == 64 && outcome.output.isEmpty, "\(outcome)")
        #expect(outcome.error.contains("Error: \(reason)"), "\(outcome)")
        #expect(outcome.error.contains("a variable of the shell"), "\(outcome)")
    }

    @Test(arguments: [
        (["sreve"], "Unexpected argument 'sreve'. Did you mean 'serve'?"),
        (["job", "shwo", "j"], "2 unexpected arguments: 'shwo', 'j'. Did you mean 'show'?"),
        (["streets", "biuld"], "Unexpected argument 'biuld'. Did you mean 'build'?"),
        (["dance"], "Unexpected argument 'dance'\n"),
        (["--verson"], "Unknown option '--verson'. Did you mean '--version'?"),
        (["serve", "--prot", "1"], "Unknown option '--prot'. Did you mean '--port'?"),
        (
            ["replay", "a.gpx", "--jbo", "j"],
            "Missing expected argument '--job <job>'. Unknown option '--jbo'. Did you mean '--job'?"
        ),
        (
            ["token", "a", "--roel", "rider"],
            "Missing expected argument '--role <role>'. Unknown option '--roel'. Did you mean '--role'?"
        ),
        (
            ["job", "create", "j", "--something", "a"],
            "Missing expected argument '--customer <customer>'. Unknown option '--something'.\n"
        ),
        (["job", "create", "j"], "Missing expected argument '--customer <customer>'\n"),
        (["serve", "extra"], "Unexpected argument 'extra'\n"),
    ])
    func `an error about a misspelled name suggests the right one`(words: [String], reason: String) async throws {
        let outcome = try await CommandTests.run(words)
        #expect(outcome.code == 64 && outcome.error.contains("Error: \(reason)"), "\(outcome)")
    }

    @Test func `a shell that asks for completions may pass an empty word`() throws {
        #expect(throws: Never.self) { try CommandLineWords(words: ["---completion", "job", "--", ""]).requireValues() }
    }

    @Test(arguments: ["< /dev/null", "<&-", "< /"])
    func `standard input without a token is an error`(redirection: String) async throws {
        let outcome = try await CommandTests.run(
            ["-c", "exec \"$0\" token inspect \(redirection)", CommandTests.binary],
            environment: ["ENROUTE_TOKEN_SECRET": RoadTests.secret], binary: "/bin/sh")
        #expect(outcome.code == 64 && outcome.error.contains("There is no token on standard input."), "\(outcome)")
    }

    @Test(arguments: [["token", "a", "--role", "rider", "--key"], ["replay", "a.csv", "--job", "j", "--token-file"]])
    func `an unreadable file is reported with what to check`(words: [String]) async throws {
        try await TemporaryFolder.holding("enroute-words") { folder in
            try Data("unix_ms,lat,lon\n1000,1,1\n2000,1.001,1\n".utf8).write(to: URL(filePath: "\(folder)/a.csv"))
            let located = words.map { $0 == "a.csv" ? "\(folder)/a.csv" : $0 }
            let outcome = try await CommandTests.run(located + ["/nowhere"])
            #expect(outcome.code == 78 && outcome.error.contains("\(words.last ?? "") names /nowhere"), "\(outcome)")
            #expect(outcome.error.contains("Check that it exists"), "\(outcome)")
        }
    }
}
