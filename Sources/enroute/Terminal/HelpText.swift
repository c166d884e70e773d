// Help as it is written in the code, whose lines are as long as code's are, for a terminal of any width: ArgumentParser wraps a
// paragraph that is one line, and of one that is several it makes a stump of every second.

/// Makes one line of each paragraph. Indented lines, the examples, stay as they are.
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
