// Fills values into the HTML of a page: into elements with an id, and into the head. Pages are plain HTML that a
// browser can show unchanged. A deployment's own page only needs the same ids; missing ids are skipped.

/// The HTML of a page. Inserted values are HTML too, so text from outside must be `escaped`.
package struct PageTemplate: Sendable {
    package private(set) var bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Sets the language of the page (WCAG 3.1.1) to a BCP 47 tag.
    package mutating func setLanguage(_ language: String) { self.setRoot("lang", language) }

    /// Sets the direction of the page's text: `ltr` or `rtl`.
    package mutating func setDirection(_ direction: String) { self.setRoot("dir", direction) }

    /// Sets an attribute of the root element.
    private mutating func setRoot(_ name: String, _ value: String) {
        guard let start = self.bytes.firstRange(of: Self.bytes("<html"))?.upperBound,
            let end = self.bytes[start...].firstIndex(of: UInt8(ascii: ">"))
        else { return }
        let attribute = Self.bytes(#" \#(name)="\#(value.escaped)""#)
        if let old = self.attribute(name, in: start..<end) {
            self.bytes.replaceSubrange(old, with: attribute)
        } else {
            self.bytes.insert(contentsOf: attribute, at: start)
        }
    }

    /// Sets the content of the element with this id and shows the element. It must not contain an element with the same tag.
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

    /// Inserts HTML at the start of the head, before the page's own content.
    package mutating func addToHead(_ html: String) {
        guard let head = self.bytes.firstRange(of: Self.bytes("<head>")) else { return }
        self.bytes.insert(contentsOf: Self.bytes("\n  \(html)"), at: head.upperBound)
    }

    /// Adds data for the page's script at the end of the body. The data cannot close the element.
    package mutating func add(json: [UInt8], as id: String) {
        guard let end = self.bytes.firstRange(of: Self.bytes("</body>"))?.lowerBound else { return }
        let opening = Self.bytes(#"<script type="application/json" id="\#(id)">"#)
        self.bytes.insert(
            contentsOf: opening + Self.harmless(json) + Self.bytes("</script>\n"), at: end)
    }

    /// Replaces the first occurrence of a text.
    package mutating func replace(_ old: String, with new: String) {
        guard let place = self.bytes.firstRange(of: Self.bytes(old)) else { return }
        self.bytes.replaceSubrange(place, with: Self.bytes(new))
    }

    /// Makes addresses that begin with `/`, in `href="…"` and `src="…"`, relative to the page. They then also work
    /// below a path prefix that a proxy removes and the gateway does not know. Addresses that begin with `//` name
    /// another host and stay. Cost: O(bytes).
    ///
    /// - Parameter path: the requested path, such as `/track/job-1`.
    package mutating func makeAddressesRelative(to path: String) {
        let levels = path.utf8.count(where: { $0 == UInt8(ascii: "/") }) - 1
        let root = Self.bytes(levels > 0 ? String(repeating: "../", count: levels) : "./")
        for opening in [#"href="/"#, #"src="/"#].map(Self.bytes) {
            var start = 1
            while start < self.bytes.endIndex, let place = self.bytes[start...].firstRange(of: opening) {
                start = place.upperBound
                guard self.bytes[place.lowerBound - 1] <= UInt8(ascii: " "), start < self.bytes.endIndex,
                    self.bytes[start] != UInt8(ascii: "/")
                else { continue }
                self.bytes.replaceSubrange((start - 1)..<start, with: root)
            }
        }
    }

    /// Returns whether the page contains a text.
    package func contains(_ html: String) -> Bool { self.bytes.firstRange(of: Self.bytes(html)) != nil }

    /// Escapes the characters that have a meaning in HTML. They only occur in strings, where JSON allows `\u` escapes (RFC 8259
    /// section 7).
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

    /// Returns the range of ` name="value"`.
    private func attribute(_ name: String, in range: Range<Int>) -> Range<Int>? {
        guard let start = self.bytes[range].firstRange(of: Self.bytes(#" \#(name)=""#)),
            let end = self.bytes[start.upperBound..<range.upperBound].firstIndex(of: UInt8(ascii: "\""))
        else { return nil }
        return start.lowerBound..<(end + 1)
    }

    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
}

extension String {
    /// The text escaped for the content of an element or a double-quoted attribute.
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
    /// Whether the byte ends the name of an element or an attribute.
    fileprivate var endsName: Bool {
        self == UInt8(ascii: " ") || self == UInt8(ascii: ">") || self == UInt8(ascii: "=")
            || self == UInt8(ascii: "\n") || self == UInt8(ascii: "/")
    }
}
