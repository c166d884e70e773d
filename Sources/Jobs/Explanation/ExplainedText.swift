// Words and lists in the sentences of an explanation, and text from Redis that is safe to print.

extension String {
    /// The word with its count: `1 follower`, `2 followers`.
    static func count(_ number: Int, _ word: String) -> String { "\(number) \(word)\(number == 1 ? "" : "s")" }

    /// The text without characters that could control a terminal or start a new line.
    var onOneLine: String {
        String(
            String.UnicodeScalarView(
                self.unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse: "?"
                    default: scalar
                    }
                }))
    }
}

extension [String] {
    /// `a`, `a and b`, `a, b and c`
    var listed: String {
        guard let last, self.count > 1 else { return self.first ?? "" }
        return self.dropLast().joined(separator: ", ") + " and " + last
    }
}
