// Removes comments and indentation before scripts and styles are sent: they are for readers of the source and a third
// of the bytes. Only comments on lines of their own are removed, so no parser is needed. In a single script, their
// lines become empty, so the line numbers of errors match the source. Bundles and styles have no empty lines, and fewer
// line breaks.

/// The text of a script or a style sheet.
enum PageText {
    /// Returns the text without comments that start a line: from `//` to the end of the line, and from `/*` to a `*/` that ends
    /// a line.
    /// No multi-line string of our files has a line that starts like this. Cost: O(bytes), once for embedded files.
    ///
    /// - Parameter source: UTF-8.
    static func withoutComments(_ source: [UInt8]) -> [UInt8] {
        let newline = UInt8(ascii: "\n")
        var lines = source.split(separator: newline, omittingEmptySubsequences: false)
        var next = 0
        while next < lines.count {
            let last = Self.lastLine(ofCommentAt: next, in: lines)
            for line in next..<(last ?? next) + (last == nil ? 0 : 1) { lines[line] = [] }
            next = (last ?? next) + 1
        }
        return Array(lines.joined(separator: [newline]))
    }

    /// Returns the text without empty lines, without the spaces that start a line, and without unnecessary line breaks.
    /// No string of our files spans lines. The bundler distinguishes statements by their indentation, so compact a
    /// script after bundling. Cost: O(bytes).
    static func compacted(_ source: [UInt8]) -> [UInt8] {
        let newline = UInt8(ascii: "\n")
        var compacted: [UInt8] = []
        compacted.reserveCapacity(source.count)
        for line in source.split(separator: newline) {
            let text = line.drop { $0 == UInt8(ascii: " ") }
            if text.isEmpty { continue }
            compacted += text
            if !Self.continues(text) { compacted.append(newline) }
        }
        return compacted
    }

    /// After these bytes, neither a script nor a style needs a line break.
    private static let continuing = Set("{[(,;".utf8)

    /// Whether the next line may follow on the same line. After `//` it would be part of the comment.
    private static func continues(_ line: ArraySlice<UInt8>) -> Bool {
        guard let last = line.last, Self.continuing.contains(last) else { return false }
        let slash = UInt8(ascii: "/")
        return !zip(line, line.dropFirst()).contains { $0 == slash && $1 == slash }
    }

    /// Returns the last line of a comment that starts with this line and shares no line with code, or `nil`.
    private static func lastLine(ofCommentAt first: Int, in lines: [ArraySlice<UInt8>]) -> Int? {
        let text = Self.trimmed(lines[first])
        guard text.count >= 2, text[text.startIndex] == UInt8(ascii: "/") else { return nil }
        switch text[text.startIndex + 1] {
        case UInt8(ascii: "/"): return first
        case UInt8(ascii: "*"):
            // `/*/` does not close a comment. `/*!` marks a license and is kept.
            var rest = text.dropFirst(2)
            if rest.first == UInt8(ascii: "!") { return nil }
            for line in first..<lines.count {
                if line > first { rest = Self.trimmed(lines[line]) }
                guard let end = Self.blockEnd(in: rest) else { continue }
                return end == rest.endIndex ? line : nil
            }
            return nil
        default: return nil
        }
    }

    /// Returns the index after the first `*/`.
    private static func blockEnd(in line: ArraySlice<UInt8>) -> Int? {
        line.indices.dropLast().first { line[$0] == UInt8(ascii: "*") && line[$0 + 1] == UInt8(ascii: "/") }.map {
            $0 + 2
        }
    }

    private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isSpace: (UInt8) -> Bool = {
            $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r")
        }
        guard let first = line.firstIndex(where: { !isSpace($0) }), let last = line.lastIndex(where: { !isSpace($0) })
        else { return [] }
        return line[first...last]
    }
}
