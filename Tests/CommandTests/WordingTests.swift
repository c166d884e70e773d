import Foundation
import Testing

@testable import enroute

/// The wording of help texts, and the format of log lines.
@Suite struct WordingTests {
    private static let commands = [
        [], ["serve"], ["check"], ["demo"], ["replay"], ["token"], ["revoke"], ["webhooks"], ["audit"],
        ["eta-accuracy"], ["config"], ["probe"], ["dev"], ["job"], ["job", "create"], ["job", "follow"], ["rider"],
    ]

    @Test(arguments: commands, [80, 120])
    func `B16: help fits the terminal, and paragraphs are filled`(words: [String], columns: Int) async throws {
        let help = try await CommandTests.run(words + ["--help"], environment: ["COLUMNS": "\(columns)"]).output
        let lines = help.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.allSatisfy { $0.count <= columns }, "\(lines.filter { $0.count > columns })")
        // A line may be short because the next word did not fit, or because its paragraph ends.
        let prose = lines.drop { !$0.hasPrefix("OVERVIEW") }.prefix { !$0.hasPrefix("USAGE") }
        for (line, next) in zip(prose, prose.dropFirst())
        where !line.isEmpty && !line.hasPrefix(" ") && !next.isEmpty && !next.hasPrefix(" ") && !line.hasSuffix(":") {
            let word = next.prefix { $0 != " " }
            #expect(line.count + 1 + word.count >= columns || line.hasPrefix("OVERVIEW"), "\(line)\n\(next)")
        }
    }

    private static let commandsWithExamples =
        commands + [
            ["size"], ["streets"], ["explain"], ["job", "correct"], ["job", "link"], ["job", "show"],
            ["job", "status"],
            ["token", "inspect"],
        ]

    @Test(arguments: commandsWithExamples)
    func `no line of an example is wrapped, so it can be copied`(words: [String]) async throws {
        let help = try await CommandTests.run(words + ["--help"], environment: ["COLUMNS": "80"]).output
        let lines = help.split(separator: "\n", omittingEmptySubsequences: false)
        let examples = lines.drop { $0 != "Examples:" }.dropFirst().prefix { !$0.isEmpty }
        #expect(!examples.isEmpty)
        // The rest of a wrapped line is not indented.
        for line in examples { #expect(line.hasPrefix("  "), "\(line)") }
        for (line, next) in zip(examples, examples.dropFirst()) {
            #expect(line.hasSuffix("\\") == next.hasPrefix("    "), "\(line)\n\(next)")
        }
    }

    @Test func `the guide lists the exit codes as the help does`() async throws {
        func filled(_ text: String) -> String { text.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
        let help = filled(try await CommandTests.run(["--help"]).output)
        let codes = try #require(help.firstMatch(of: /Exit codes: .*? 78 [a-z ]+\./)).output
        for code in [0, 1, 64, 65, 69, 77, 78] { #expect(codes.contains(" \(code) "), "\(codes)") }
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let guide = try String(contentsOf: root.appending(path: "deploy/README.md"), encoding: .utf8)
        #expect(filled(guide).contains(codes), "\(codes)")
    }

    @Test func `B44: a log line has a time with milliseconds, and quotes values with spaces`() {
        let time = Date(timeIntervalSince1970: 1_795_248_617.625)
        let line = LogLine.text(
            at: time, .warning, "redis connection ended",
            [
                "role": "live", "redis": "127.0.0.1:6379", "reason": "It said \"no\",\nand left.", "job": "",
                "a key": "1",
            ],
            source: "Redis")
        #expect(
            line
                == #"time=2026-11-21T08:10:17.625Z level=warning msg="redis connection ended" a_key=1 job="" "#
                + #"reason="It said \"no\",\nand left." redis=127.0.0.1:6379 role=live source=Redis"#)
    }

    @Test func `B44: a value cannot forge a log line`() {
        let line = LogLine.value("x\nlevel=critical\u{1B}[31m\u{0}\u{7F}\\")
        #expect(line == #""x\nlevel=critical\u001b[31m\u0000\u007f\\""#)
    }

    @Test(arguments: [
        ("[::1]", "::1"), ("::1", "::1"), ("127.0.0.1", "127.0.0.1"), ("gateway.example", "gateway.example"),
        ("[::]", "::"), ("[x]", "[x]"),
    ])
    func `B44: an IPv6 address to listen on may be in brackets`(host: String, meant: String) {
        #expect(ProcessConfiguration.unbracketed(host) == meant)
    }
}
