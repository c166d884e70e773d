import Foundation
import Testing

/// Texts are in plain English: comments, messages, pages and documents avoid the phrases listed here.
///
/// CONTRIBUTING.md is exempt, because its glossary quotes such phrases, and so is this file.
@Suite struct PlainEnglishTests {
    /// A phrase to avoid, as a regular expression, and what to write.
    private struct Phrase {
        let pattern: String
        let better: String
    }

    private static let phrases: [Phrase] = [
        Phrase(pattern: #"\b[Cc]an not\b(?! only)"#, better: "cannot"),
        Phrase(pattern: #"\b[Ii]n the place of\b"#, better: "instead of"),
        Phrase(
            pattern: #"(?<!there )(?<!There )(?<!if )(?<![A-Z] )\b(?:is|are|was|were) none\b(?! other)"#,
            better: "is not …, or has no …"),
        Phrase(
            pattern: #"\bany more\b(?=\s*(?:[.,;:!?)"`]|$| than | when | because | and | or ))"#, better: "any longer"),
        Phrase(pattern: #"(?<!once )(?<!and )(?<!accepts )\bno more\b(?=\s*(?:[.,;:!?)"`]|$))"#, better: "no longer"),
        Phrase(pattern: #"\bgood no more\b"#, better: "no longer valid"),
        Phrase(pattern: #"\bgood for nothing\b"#, better: "invalid"),
        Phrase(pattern: #"\bof one's own\b"#, better: "its own, separate"),
        Phrase(pattern: #"\bof ours\b"#, better: "our, Enroute's"),
        Phrase(pattern: #"\b[Ww]ho(?:ever)? comes\b"#, better: "a client that connects"),
        Phrase(pattern: #"\b[Ww]ho has just come\b"#, better: "a new client"),
        Phrase(pattern: #"\b[Ww]hat is no\b"#, better: "anything that is not"),
        Phrase(
            pattern: #"\bis no (?:JSON|PEM|URL|UTF-8|number|object|CloudEvent|master)\b"#, better: "is not, is not a"),
        Phrase(pattern: #"\b(?:is|are|be|was|were) of no use\b"#, better: "is useless, is unavailable"),
        Phrase(pattern: #"\bto be had\b"#, better: "available"),
        Phrase(pattern: #"\bmended\b"#, better: "fixed, resynced"),
        Phrase(pattern: #"\bmay (?:not )?what\b"#, better: "is permitted to, lacks the permission to"),
        Phrase(
            pattern: #"\b(?:[Ww]ho|[Ww]hat|[Ww]hoever|[Ww]hatever) (?:is|was|are) (?:told|said)\b"#,
            better: "the message, the recipient"),
        Phrase(pattern: #"\blately\b"#, better: "recently"),
        Phrase(pattern: #"\bnobody's (?:to|concern|business)\b"#, better: "is not reported"),
        Phrase(pattern: #"\bin the same breath\b"#, better: "at the same time, atomically"),
    ]

    @Test func `no text contains a phrase that has a plain equivalent`() throws {
        let texts = try Project.texts(Self.isText).map { JoinedText($0) }
        #expect(texts.count > 1000)
        var found: [String] = []
        for phrase in Self.phrases {
            let expression = try NSRegularExpression(pattern: phrase.pattern)
            for text in texts { found += Self.places(of: expression, in: text).map { "\($0): write \(phrase.better)" } }
        }
        #expect(found.isEmpty, "\(found.joined(separator: "\n"))")
    }

    @Test func `a phrase is found across lines of a comment, and reported with its first line`() throws {
        let file = Project.File(path: "a.swift", text: "let a = 1\n    // It can\n    // not be read.\n// cannot\n")
        let expression = try NSRegularExpression(pattern: Self.phrases[0].pattern)
        #expect(Self.places(of: expression, in: JoinedText(file)) == ["a.swift:2: It can not be read. cannot"])
    }

    /// Code blocks and tables cannot be wrapped, and neither can a line that consists of one long link.
    @Test func `lines of Markdown have at most 120 columns, except in code blocks and tables`() throws {
        var long: [String] = []
        for document in try Project.texts({ $0.hasSuffix(".md") }) {
            var isCode = false
            for (index, line) in document.lines.enumerated() {
                let text = line.drop { $0 == " " }
                if text.hasPrefix("```") { isCode.toggle() }
                guard !isCode, !text.hasPrefix("|"), line.count > 120 else { continue }
                let longest = text.split(separator: " ").map(\.count).max() ?? 0
                if longest < 90 { long.append("\(document.path):\(index + 1) has \(line.count) columns") }
            }
        }
        #expect(long.isEmpty, "\(long.joined(separator: "\n"))")
    }

    private static func isText(_ path: String) -> Bool {
        guard !["CONTRIBUTING.md", "Tests/TidyTests/PlainEnglishTests.swift"].contains(path) else { return false }
        let name = path.split(separator: "/").last ?? ""
        return ["Makefile", "run"].contains(name)
            || Self.endings.contains(String(name.split(separator: ".").last ?? ""))
    }

    private static let endings: Set = [
        "c", "conf", "css", "h", "html", "js", "json", "lua", "md", "mjs", "py", "sh", "swift", "toml", "yaml", "yml",
    ]

    /// Where the expression matches, with the surrounding text.
    private static func places(of expression: NSRegularExpression, in joined: JoinedText) -> [String] {
        let range = NSRange(location: 0, length: joined.text.length)
        return expression.matches(in: joined.text as String, range: range).map { match in
            let line = joined.starts.lastIndex { $0 <= match.range.location } ?? 0
            let start = max(joined.starts[line], match.range.location - 40)
            let end = min(joined.text.length, match.range.location + match.range.length + 30)
            let excerpt = joined.text.substring(with: NSRange(location: start, length: end - start))
            return "\(joined.path):\(line + 1): \(excerpt.trimmingCharacters(in: .whitespaces))"
        }
    }
}

/// A file on one line, without indentation and comment marks, so that phrases are found across lines.
private struct JoinedText {
    let path: String
    let text: NSString
    /// Where each line starts, in UTF-16 units.
    let starts: [Int]

    /// Indentation and the marks that start a comment: `//`, `--`, `#`, `*`.
    private static let marks = Set(" \t/-#*".utf16)

    init(_ file: Project.File) {
        var (text, starts): ([UInt16], [Int]) = ([], [])
        for line in file.lines {
            starts.append(text.count)
            text += line.utf16.drop { Self.marks.contains($0) }
            text.append(0x20)
        }
        (self.path, self.starts) = (file.path, starts)
        self.text = NSString(characters: text, length: text.count)
    }
}
