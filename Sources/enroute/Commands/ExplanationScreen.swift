// An explanation as text, at most 80 columns wide: sections with their facts, each with its verdict.

import Jobs
import LiveState

/// Prints an explanation for a terminal.
struct ExplanationScreen {
    private let explanation: Explanation

    static let width = 80
    /// The column in which the texts of facts start.
    private static let indent = 16

    init(_ explanation: Explanation) { self.explanation = explanation }

    var text: String {
        let time = ExplainedTime(now: self.explanation.at)
        var lines = ["\(self.explanation.subject.rawValue) \(self.explanation.id), at \(time.today)"]
        lines += Self.wrapped(self.explanation.summary, first: "", rest: "")
        for section in self.explanation.sections {
            lines += ["", section.title]
            for fact in section.facts {
                let name = "  " + fact.name.replacing("_", with: " ")
                let column = name.padded(to: Self.indent)
                lines += Self.wrapped(fact.text, first: column, rest: String(repeating: " ", count: column.count))
            }
            let mark =
                switch section.state {
                case .ok: "  => "
                case .attention: "  !! "
                case .unknown: "  ?? "
                }
            lines += Self.wrapped(section.verdict, first: mark, rest: "     ")
        }
        for failure in self.explanation.failures {
            lines += ["", "Not everything could be read"]
            lines += Self.wrapped(
                "\(failure.role.rawValue): \(failure.reason)", first: "  !! ", rest: "     ")
        }
        if !self.explanation.malformed.isEmpty { lines += ["", "Malformed data in Redis"] }
        for key in self.explanation.malformed {
            lines += Self.wrapped("\(key.role.rawValue): \(key.key)", first: "  !! ", rest: "     ")
        }
        return lines.joined(separator: "\n")
    }

    /// Breaks a text at spaces. A word that is longer than a line gets its own line.
    private static func wrapped(_ text: String, first: String, rest: String) -> [String] {
        var (lines, line, isEmpty) = ([String](), first, true)
        for word in text.split(separator: " ") {
            if !isEmpty, line.count + 1 + word.count > Self.width {
                lines.append(line)
                (line, isEmpty) = (rest, true)
            }
            line += (isEmpty ? "" : " ") + word
            isEmpty = false
        }
        return lines + [line]
    }
}

extension String {
    /// Pads with spaces, at least one.
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(1, width - self.count))
    }
}
