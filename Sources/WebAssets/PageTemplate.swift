// A page's HTML with something filled in: into elements that have an id, and into the head. So the pages are plain HTML that a
// browser shows as it is, and a deployment's own page needs no more than the ids of ours; an id that is not there is passed
// over.

/// HTML of a page. What is filled in is HTML too: text from outside goes through `escaped`.
package struct PageTemplate: Sendable {
    package private(set) var bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Which language the page is in (WCAG 3.1.1), a tag of BCP 47.
    package mutating func setLanguage(_ language: String) {
        guard let start = self.bytes.firstRange(of: Self.bytes("<html"))?.upperBound,
            let end = self.bytes[start...].firstIndex(of: UInt8(ascii: ">"))
        else { return }
        let attribute = Self.bytes(#" lang="\#(language.escaped)""#)
        if let old = self.attribute("lang", in: start..<end) {
            self.bytes.replaceSubrange(old, with: attribute)
        } else {
            self.bytes.insert(contentsOf: attribute, at: start)
        }
    }

    /// The content of the element with this id, which has no element of its own kind within; it is shown from now on.
    package mutating func fill(_ id: String, with html: String) {
        guard let place = self.bytes.firstRange(of: Self.bytes(#" id="\#(id)""#)),
            let start = self.bytes[..<place.lowerBound].lastIndex(of: UInt8(ascii: "<")),
            let end = self.bytes[place.upperBound...].firstIndex(of: UInt8(ascii: ">")),
            case let name = self.bytes[(start + 1)...].prefix(while: { !$0.endsName }),
            let close = self.bytes[end...].firstRange(of: Self.bytes("</") + name)?.lowerBound
        else { return }
        self.bytes.replaceSubrange((end + 1)..<close, with: Self.bytes(html))
        if let hidden = self.bytes[start..<end].firstRange(of: Self.bytes(" hidden")),
            self.bytes[hidden.upperBound].endsName
        {
            self.bytes.removeSubrange(hidden)
        }
    }

    /// At the beginning of the head: what the page itself says comes after it.
    package mutating func addToHead(_ html: String) {
        guard let head = self.bytes.firstRange(of: Self.bytes("<head>")) else { return }
        self.bytes.insert(contentsOf: Self.bytes("\n  \(html)"), at: head.upperBound)
    }

    /// Data for the page's script, as the last of its body. Nothing in it can end the element.
    package mutating func add(json: [UInt8], as id: String) {
        guard let end = self.bytes.firstRange(of: Self.bytes("</body>"))?.lowerBound else { return }
        let opening = Self.bytes(#"<script type="application/json" id="\#(id)">"#)
        self.bytes.insert(
            contentsOf: opening + Self.harmless(json) + Self.bytes("</script>\n"), at: end)
    }

    /// Where the page says the one, it says the other.
    package mutating func replace(_ old: String, with new: String) {
        guard let place = self.bytes.firstRange(of: Self.bytes(old)) else { return }
        self.bytes.replaceSubrange(place, with: Self.bytes(new))
    }

    /// Whether the page says this somewhere.
    package func contains(_ html: String) -> Bool { self.bytes.firstRange(of: Self.bytes(html)) != nil }

    /// The same JSON without a character that means something to HTML: such stand in texts alone, where JSON has another
    /// way to write them (RFC 8259 section 7).
    private static func harmless(_ json: [UInt8]) -> [UInt8] {
        json.flatMap { byte -> [UInt8] in
            switch byte {
            case UInt8(ascii: "<"): Self.bytes(#"\u003c"#)
            case UInt8(ascii: ">"): Self.bytes(#"\u003e"#)
            case UInt8(ascii: "&"): Self.bytes(#"\u0026"#)
            default: [byte]
            }
        }
    }

    /// Where ` name="value"` stands.
    private func attribute(_ name: String, in range: Range<Int>) -> Range<Int>? {
        guard let start = self.bytes[range].firstRange(of: Self.bytes(#" \#(name)=""#)),
            let end = self.bytes[start.upperBound..<range.upperBound].firstIndex(of: UInt8(ascii: "\""))
        else { return nil }
        return start.lowerBound..<(end + 1)
    }

    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
}

extension String {
    /// As the content of an element, or of an attribute in double quotes.
    package var escaped: String {
        self.reduce(into: "") { html, character in
            switch character {
            case "&": html += "&amp;"
            case "<": html += "&lt;"
            case ">": html += "&gt;"
            case "\"": html += "&quot;"
            case "'": html += "&#39;"
            default: html.append(character)
            }
        }
    }
}

extension UInt8 {
    /// Of an element or an attribute.
    fileprivate var endsName: Bool {
        self == UInt8(ascii: " ") || self == UInt8(ascii: ">") || self == UInt8(ascii: "=")
            || self == UInt8(ascii: "\n") || self == UInt8(ascii: "/")
    }
}
