// Chapters of the reference from the protocol's documents: close codes and limits, which no machine-readable document
// contains. Only the Markdown that these documents use is rendered.

extension APIReference {
    /// The documents, in their order on the page.
    static let guides = ["close-codes.md", "limits.md"]

    var guideGroups: [Group] {
        Self.guides.map { name in
            guard let bytes = EmbeddedFiles.protocolDocuments[name] else {
                preconditionFailure("\(name) is not embedded. Add it to Sources/CWebAssets/web-assets.c")
            }
            return Self.group(of: String(decoding: bytes, as: UTF8.self), id: String(name.dropLast(".md".count)))
        }
    }

    /// A chapter with an entry for each section.
    private static func group(of document: String, id: String) -> Group {
        // The first part has the title, the links to the other documents, and an introduction.
        let sections = document.split(separator: "\n## ")
        let introduction = Self.blocks(of: sections[0].dropFirst("# ".count)).filter { !$0[0].hasPrefix("[Overview]") }
        let entries = sections.dropFirst().map { section -> Entry in
            let blocks = Self.blocks(of: section)
            let title = blocks[0].joined()
            // The heading for the tables that follow.
            var heading = title
            let html = blocks.dropFirst().map { block in
                if let next = Self.heading(in: block) { heading = next }
                return Self.html(of: block, after: heading)
            }.joined(separator: "\n")
            return Entry(
                id: Self.anchor(title), label: title.escaped,
                html: Self.heading(Self.anchor(title), title.escaped) + html)
        }
        return Group(
            id: "document-\(id)", title: introduction[0].joined(),
            text: introduction.dropFirst().map { Self.withoutLinks($0.joined(separator: " ")) }.joined(separator: " "),
            entries: entries)
    }

    /// The lines between blank ones. A heading is a block of its own in these documents.
    private static func blocks(of text: Substring) -> [[String]] {
        text.split(separator: "\n", omittingEmptySubsequences: false).split(separator: "").map { $0.map(String.init) }
    }

    private static func heading(in block: [String]) -> String? {
        block[0].hasPrefix("### ") ? String(block[0].dropFirst("### ".count)) : nil
    }

    private static func html(of block: [String], after title: String) -> String {
        if let heading = Self.heading(in: block) {
            return #"<h4 id="\#(Self.anchor(heading))">\#(heading.escaped)</h4>"#
        }
        if block[0].hasPrefix("|") {
            let rows = block.map { line in
                line.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false).map {
                    Self.inline(String($0).trimmed)
                }
            }
            return Self.table(title.escaped, rows[0], Array(rows.dropFirst(2)), isTitled: false)
        }
        if block[0].hasPrefix("- ") { return "<ul>\(Self.items(of: block))</ul>" }
        return "<p>\(Self.inline(block.joined(separator: " ")))</p>"
    }

    /// Lines that begin with a hyphen start an item; the others continue it.
    private static func items(of block: [String]) -> String {
        var items: [String] = []
        for line in block {
            if line.hasPrefix("- ") {
                items.append(String(line.dropFirst("- ".count)))
            } else {
                items[items.count - 1] += " \(line.trimmed)"
            }
        }
        return items.map { "<li>\(Self.inline($0))</li>" }.joined()
    }

    /// Text with `code` and with links to sections of the same document. Of other links only the text remains, because
    /// their targets are not on the page.
    private static func inline(_ text: String) -> String {
        var (html, rest) = ("", text[...])
        while let link = rest.firstMatch(of: Self.link) {
            html += Self.prose(String(rest[..<link.range.lowerBound]))
            let (title, target) = (Self.prose(String(link.1)), link.2)
            html += target.hasPrefix("#") ? ##"<a href="#\##(Self.anchor(of: target))">\##(title)</a>"## : title
            rest = rest[link.range.upperBound...]
        }
        return html + Self.prose(String(rest))
    }

    private static func withoutLinks(_ text: String) -> String { text.replacing(Self.link) { String($0.1) } }

    private nonisolated(unsafe) static let link = /\[([^\]]+)\]\(([^)]+)\)/

    // MARK: anchors

    /// The id of a section. The prefix distinguishes it from other entries.
    private static func anchor(_ title: String) -> String {
        let slug = title.lowercased().filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" }
        return Self.anchor(of: "#" + slug.replacing(" ", with: "-"))
    }

    /// - Parameter target: a link within the document.
    private static func anchor(of target: some StringProtocol) -> String { "guide-" + target.dropFirst() }
}

extension String {
    fileprivate var trimmed: String {
        let start = self.drop { $0 == " " }
        return String(start.reversed().drop { $0 == " " }.reversed())
    }
}
