// The reply of INFO, for tests that check what a server reports about itself.

/// The `name:value` lines of INFO.
package struct InfoFields: Sendable {
    private var values: [Substring: Substring] = [:]

    package init(_ text: String) {
        for line in text.split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":") else { continue }
            self.values[line[..<colon]] = line[line.index(after: colon)...]
        }
    }

    package subscript(name: String) -> String? { self.values[name[...]].map(String.init) }
}
