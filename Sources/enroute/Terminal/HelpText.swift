// Help texts are wrapped in the source, like code. ArgumentParser wraps each line on its own, so on a narrower terminal
// the paragraphs would be ragged.

/// Joins the lines of each paragraph, so ArgumentParser can wrap it. Indented lines (examples) stay unchanged.
func wrappable(_ text: String) -> String {
    var lines: [String] = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
        let isProse = !line.isEmpty && !line.hasPrefix(" ")
        if isProse, let last = lines.last, !last.isEmpty, !last.hasPrefix(" "), !last.hasSuffix(":") {
            lines[lines.count - 1] = last + " " + line
        } else {
            lines.append(String(line))
        }
    }
    return lines.joined(separator: "\n")
}
