// The reference page at /docs, rendered from the OpenAPI document, the AsyncAPI document and two documents of the
// protocol. It needs no JavaScript and no other site, and it cannot differ from the documents.

/// Renders the documents as HTML.
package struct APIReference {
    let openAPI: DocumentValue
    let asyncAPI: DocumentValue

    /// The contents of `<nav>` and `<main>` of the page.
    package struct Parts: Sendable {
        package let contents: String
        package let reference: String
    }

    /// Rendered on first use.
    package static let parts: Parts = {
        do {
            return Self(
                openAPI: try DocumentValue(json: InterfaceDocument.openAPI.json),
                asyncAPI: try DocumentValue(json: InterfaceDocument.asyncAPI.json)
            ).parts
        } catch {
            preconditionFailure("an embedded API document is not JSON: \(error)")
        }
    }()

    private var parts: Parts {
        var (contents, reference) = ("", self.introduction)
        for group in self.groups {
            let items = group.entries.map { entry in
                ##"<li data-entry="\##(entry.id)"><a href="#\##(entry.id)">\##(entry.label)</a></li>"##
            }
            contents += ##"<h2><a href="#\##(group.id)">\##(group.title.escaped)</a></h2><ul>\##(items.joined())</ul>"##
            let entries = group.entries.map { entry in
                #"<article class="card" data-entry="\#(entry.id)" aria-labelledby="\#(entry.id)">\#(entry.html)</article>"#
            }
            reference += """
                <section aria-labelledby="\(group.id)"><h2 id="\(group.id)">\(group.title.escaped)</h2>
                \(group.text.isEmpty ? "" : "<p>\(Self.prose(group.text))</p>")\(entries.joined(separator: "\n"))</section>

                """
        }
        return Parts(contents: contents, reference: reference)
    }

    /// A chapter: the operations of a tag, the messages of a direction, a document of the protocol, the schemas.
    struct Group {
        let id: String
        let title: String
        let text: String
        let entries: [Entry]
    }

    /// An operation, a message, a section or a schema.
    struct Entry {
        let id: String
        /// HTML for the contents.
        let label: String
        /// HTML from the heading on.
        let html: String
    }

    private var groups: [Group] {
        let tags = (self.openAPI["tags"]?.array ?? []).map { tag in
            let name = tag["name"]?.text ?? ""
            return Group(
                id: "tag-\(name)", title: "REST: \(name)", text: tag["description"]?.text ?? "",
                entries: self.operations(of: name))
        }
        return tags + self.messageGroups + self.guideGroups + [
            Group(
                id: "schemas", title: "Schemas", text: "The types that requests, responses and messages share.",
                entries: self.schemas)
        ]
    }

    private var introduction: String {
        """
        <section class="card" aria-labelledby="overview"><h2 id="overview">Overview</h2>
        <p>\(Self.prose(self.openAPI["info"]?["description"]?.text ?? ""))</p>
        <p>\(Self.prose(self.asyncAPI["info"]?["description"]?.text ?? ""))</p>
        <p>Version \((self.openAPI["info"]?["version"]?.text ?? "").escaped). For programs: <a
        href="/openapi.json">OpenAPI 3.1</a>, <a href="/asyncapi.json">AsyncAPI 3.0</a>. The examples use the variables
        <code>URL</code> and <code>TOKEN</code>: <code>enroute dev</code> starts a gateway and prints both.</p></section>

        """
    }

    // MARK: parts of HTML

    /// Text with `code` in backticks.
    static func prose(_ text: String) -> String {
        let parts = text.split(separator: "`", omittingEmptySubsequences: false)
        guard parts.count % 2 == 1 else { return text.escaped }
        return parts.enumerated().map { index, part in
            index % 2 == 1 ? "<code>\(String(part).escaped)</code>" : String(part).escaped
        }.joined()
    }

    static func code(_ text: String) -> String { "<code>\(text.escaped)</code>" }

    static func heading(_ id: String, _ html: String) -> String {
        ##"<h3 id="\##(id)"><a href="#\##(id)">\##(html)</a></h3>"##
    }

    static func example(_ title: String, _ text: String) -> String {
        "<h4>\(title.escaped)</h4><pre><code>\(text.escaped)</code></pre>"
    }

    /// A table with a caption for screen readers; nothing without rows.
    ///
    /// - Parameter isTitled: whether the caption is a heading, too.
    static func table(
        _ caption: String, _ columns: [String], _ rows: [[String]], isTitled: Bool = true
    ) -> String {
        guard !rows.isEmpty else { return "" }
        let head = columns.map { #"<th scope="col">\#($0)</th>"# }.joined()
        let body = rows.map { row in
            "<tr>" + #"<th scope="row">\#(row[0])</th>"# + row.dropFirst().map { "<td>\($0)</td>" }.joined() + "</tr>"
        }
        return """
            \(isTitled ? "<h4>\(caption)</h4>" : "")<table><caption class="unseen">\(caption)</caption><thead><tr>\(head)</tr></thead>
            <tbody>\(body.joined(separator: "\n"))</tbody></table>
            """
    }
}
