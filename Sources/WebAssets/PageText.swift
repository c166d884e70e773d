// The scripts and styles of the pages are sent without their comments: those are for whoever reads the source, and a quarter
// of what a phone would load. Only comments that have their lines to themselves are left out, so that nothing has to be
// understood of the language; their lines stay, empty, so that an error's line is the source's.

/// Text of a script or a style sheet.
enum PageText {
    /// Without comments that begin a line: from `//` to its end, from `/*` to a `*/` that ends one. No text of ours that goes
    /// over several lines has a line that begins so. Cost: O(bytes), once for what is built in.
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

    /// - Returns: the last line of a comment that begins with this line and shares none with code, or nil.
    private static func lastLine(ofCommentAt first: Int, in lines: [ArraySlice<UInt8>]) -> Int? {
        let text = Self.trimmed(lines[first])
        guard text.count >= 2, text[text.startIndex] == UInt8(ascii: "/") else { return nil }
        switch text[text.startIndex + 1] {
        case UInt8(ascii: "/"): return first
        case UInt8(ascii: "*"):
            // `/*/` ends nothing; `/*!` is kept by custom: whose work it is.
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

    /// Where the first `*/` has ended.
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
