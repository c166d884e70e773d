import Foundation
import Testing

/// Texts are in plain English: comments, messages, pages and documents avoid the phrases listed here.
///
/// CONTRIBUTING.md is exempt, because its glossary quotes such phrases, and so is this file.
@Suite struct PlainEnglishTests {
    /// A phrase to avoid, as a regular expression, a part of it that always occurs, and what to write.
    private struct Phrase {
        let pattern: String
        let word: String
        let better: String
    }

    private static let phrases: [Phrase] = [
        Phrase(pattern: #"\b[Cc]an not\b(?! only)"#, word: "an not", better: "cannot"),
        Phrase(pattern: #"\b[Ii]n the place of\b"#, word: "n the place of", better: "instead of"),
        Phrase(
            pattern: #"(?<!there )(?<!There )(?<!if )(?<![A-Z] )\b(?:is|are|was|were) none\b(?! other)"#, word: " none",
            better: "is not …, or has no …"),
        Phrase(
            pattern: #"\bany more\b(?=\s*(?:[.,;:!?)"`]|$| than | when | because | and | or ))"#, word: "any more",
            better: "any longer"),
        Phrase(
            pattern: #"(?<!once )(?<!and )(?<!accepts )\bno more\b(?=\s*(?:[.,;:!?)"`]|$))"#, word: "no more",
            better: "no longer"),
        Phrase(pattern: #"\bgood no more\b"#, word: "good no more", better: "no longer valid"),
        Phrase(pattern: #"\bgood for nothing\b"#, word: "good for nothing", better: "invalid"),
        Phrase(pattern: #"\bof one's own\b"#, word: "of one's own", better: "its own, separate"),
        Phrase(pattern: #"\bof ours\b"#, word: "of ours", better: "our, Enroute's"),
        Phrase(pattern: #"\b[Ww]ho(?:ever)? comes\b"#, word: " comes", better: "a client that connects"),
        Phrase(pattern: #"\b[Ww]ho has just come\b"#, word: "ho has just come", better: "a new client"),
        Phrase(pattern: #"\b[Ww]hat is no\b"#, word: "hat is no", better: "anything that is not"),
        Phrase(
            pattern: #"\bis no (?:JSON|PEM|URL|UTF-8|number|object|CloudEvent|master)\b"#, word: "is no ",
            better: "is not, is not a"),
        Phrase(
            pattern: #"\b(?:is|are|be|was|were) of no use\b"#, word: "of no use", better: "is useless, is unavailable"),
        Phrase(pattern: #"\bto be had\b"#, word: "to be had", better: "available"),
        Phrase(pattern: #"\bmended\b"#, word: "mended", better: "fixed, resynced"),
        Phrase(pattern: #"\bmay (?:not )?what\b"#, word: "may ", better: "is permitted to, lacks the permission to"),
        Phrase(
            pattern: #"\b(?:[Ww]ho|[Ww]hat|[Ww]hoever|[Ww]hatever) (?:is|was|are) told\b"#, word: " told",
            better: "the message, the recipient"),
        Phrase(
            pattern: #"\b(?:[Ww]ho|[Ww]hat|[Ww]hoever|[Ww]hatever) (?:is|was|are) said\b"#, word: " said",
            better: "the message"),
        Phrase(pattern: #"\blately\b"#, word: "lately", better: "recently"),
        Phrase(pattern: #"\bnobody's (?:to|concern|business)\b"#, word: "nobody's", better: "is not reported"),
        Phrase(pattern: #"\bin the same breath\b"#, word: "in the same breath", better: "at the same time, atomically"),
    ]

    @Test func `no text contains a phrase that has a plain equivalent`() throws {
        let texts = try Project.texts(Self.isText).map { JoinedText($0) }
        #expect(texts.count > 1000)
        var found: [String] = []
        for phrase in Self.phrases {
            for text in texts { found += try Self.places(of: phrase, in: text).map { "\($0): write \(phrase.better)" } }
        }
        #expect(found.isEmpty, "\(found.joined(separator: "\n"))")
    }

    @Test func `a phrase is found across lines of a comment, and reported with its first line`() throws {
        let file = Project.File(path: "a.swift", text: "let a = 1\n    // It can\n    // not be read.\n// cannot\n")
        #expect(try Self.places(of: Self.phrases[0], in: JoinedText(file)) == ["a.swift:2: It can not be read. cannot"])
    }

    /// Code blocks and tables cannot be wrapped, and neither can a line that consists of one long link.
    @Test func `lines of Markdown have at most 120 columns, except in code blocks and tables`() throws {
        var long: [String] = []
        let documents = try Project.texts { $0.hasSuffix(".md") }
        #expect(documents.count > 30)
        for document in documents {
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

    /// Where the phrase occurs, with the surrounding text.
    private static func places(of phrase: Phrase, in joined: JoinedText) throws -> [String] {
        guard joined.contains(phrase.word) else { return [] }
        let text = joined.text
        let range = NSRange(location: 0, length: text.length)
        return try NSRegularExpression(pattern: phrase.pattern).matches(in: text as String, range: range).map { match in
            let before = Array(text.substring(to: match.range.location).utf8)
            let line = joined.lineStarts.lastIndex { $0 <= before.count } ?? 0
            let start = String(decoding: before[joined.lineStarts[line]...], as: UTF8.self).suffix(40)
            let length = min(text.length - match.range.location, match.range.length + 30)
            let excerpt = start + text.substring(with: NSRange(location: match.range.location, length: length))
            return "\(joined.path):\(line + 1): \(excerpt.trimmingCharacters(in: .whitespaces))"
        }
    }
}

/// A file on one line, without indentation and comment marks, so that phrases are found across lines.
private struct JoinedText {
    let path: String
    let bytes: Data
    /// The offset of each line's start, in bytes.
    let lineStarts: [Int]

    /// Indentation and the marks that start a comment: `//`, `--`, `#`, `*`.
    private static let marks = Set(" \t/-#*".utf8)

    init(_ file: Project.File) {
        var (bytes, starts): ([UInt8], [Int]) = ([], [])
        for line in file.lines {
            starts.append(bytes.count)
            bytes += line.utf8.drop { Self.marks.contains($0) }
            bytes.append(0x20)
        }
        (self.path, self.bytes, self.lineStarts) = (file.path, Data(bytes), starts)
    }

    /// Whether the text contains the word, even as a part of another one. Much faster than a regular expression.
    func contains(_ word: String) -> Bool { self.bytes.range(of: Data(word.utf8)) != nil }

    var text: NSString { NSString(string: String(decoding: self.bytes, as: UTF8.self)) }
}
