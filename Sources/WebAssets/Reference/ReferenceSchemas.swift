// The types of the reference: what a value may be, in words, and the members of an object as a table.

extension APIReference {
    /// The schemas of both documents, by name. They share most.
    var schemas: [Entry] {
        let rest = self.openAPI["components"]?["schemas"]?.object ?? [:]
        let messages = self.asyncAPI["components"]?["schemas"]?.object ?? [:]
        return rest.merging(messages) { one, _ in one }.sorted { $0.key < $1.key }.map { name, schema in
            let document = rest[name] == nil ? self.asyncAPI : self.openAPI
            let id = Self.id(ofSchema: name)
            var html = Self.heading(id, Self.code(name))
            html += "<p>\(Self.prose(schema["description"]?.text ?? ""))</p>"
            if schema["properties"] == nil {
                html += "<p>Type: \(self.type(schema, in: document, isName: false)).</p>"
            }
            html += self.members("Members", schema, in: document)
            for example in schema["examples"]?.array ?? [] { html += Self.example("Example", example.pretty()) }
            return Entry(id: id, label: Self.code(name), html: html)
        }
    }

    static func id(ofSchema name: String) -> String { "schema-\(name)" }

    /// The first example of a schema. If it has none, it is composed of the examples of its members.
    func example(ofSchema schema: DocumentValue, in document: DocumentValue, depth: Int = 0) -> DocumentValue? {
        let value = schema.resolved(in: document)
        if let own = value["examples"]?.array?.first ?? value["const"] ?? value["default"] { return own }
        if let first = value["enum"]?.array?.first { return first }
        guard depth < Self.maxDepth else { return nil }
        if let choice = (value["anyOf"] ?? value["oneOf"])?.array?.first {
            return self.example(ofSchema: choice, in: document, depth: depth + 1)
        }
        guard let members = value["properties"]?.object else { return nil }
        let required = Set((value["required"]?.array ?? []).compactMap(\.text))
        return .object(
            members.filter { required.contains($0.key) }
                .compactMapValues { self.example(ofSchema: $0, in: document, depth: depth + 1) })
    }

    /// How deep schemas may contain schemas. Recursive ones end there.
    private static let maxDepth = 6

    // MARK: members

    /// A table of the members of an object, and of the objects in it.
    func members(_ title: String, _ schema: DocumentValue, in document: DocumentValue) -> String {
        Self.table(title, ["Name", "Type", "Meaning"], self.rows(schema, prefix: "", in: document, depth: 0))
    }

    private func rows(_ schema: DocumentValue, prefix: String, in document: DocumentValue, depth: Int) -> [[String]] {
        guard depth < Self.maxDepth, let members = schema["properties"]?.object else { return [] }
        let required = (schema["required"]?.array ?? []).compactMap(\.text)
        // Required members first, in the order of the document.
        let names = required.filter { members[$0] != nil } + members.keys.filter { !required.contains($0) }.sorted()
        return names.flatMap { name -> [[String]] in
            let member = members[name] ?? .null
            let note = required.contains(name) ? "" : "optional "
            let row = [
                Self.code(prefix + name), note + self.type(member, in: document),
                Self.prose(member["description"]?.text ?? member.resolved(in: document)["description"]?.text ?? ""),
            ]
            let inner =
                member["type"]?.text == "array"
                ? (member["items"] ?? .null, "\(prefix)\(name)[].") : (member, "\(prefix)\(name).")
            return [row] + self.rows(inner.0, prefix: inner.1, in: document, depth: depth + 1)
        }
    }

    // MARK: types

    /// What a value may be, as HTML.
    ///
    /// - Parameter isName: whether a reference is written as a link, rather than replaced by its target.
    func type(_ schema: DocumentValue, in document: DocumentValue, isName: Bool = true) -> String {
        if isName, let name = schema.referenceName {
            return ##"<a href="#\##(Self.id(ofSchema: name))">\##(Self.code(name))</a>"##
        }
        for keyword in ["anyOf", "oneOf"] where schema["properties"] == nil {
            guard let choices = schema[keyword]?.array else { continue }
            return choices.map { self.type($0, in: document) }.joined(separator: " or ")
        }
        if let constant = schema["const"] { return Self.code(constant.pretty()) }
        if let values = schema["enum"]?.array {
            return "one of " + values.map { Self.code($0.short) }.joined(separator: ", ")
        }
        let kinds = schema["type"]?.text.map { [$0] } ?? (schema["type"]?.array ?? []).compactMap(\.text)
        var text = kinds.isEmpty ? "any value" : kinds.joined(separator: " or ")
        if kinds.contains("array"), let items = schema["items"] { text = "array of \(self.type(items, in: document))" }
        if let values = schema["additionalProperties"], values.object != nil {
            text = "object; each member: \(self.type(values, in: document))"
        }
        let bounds = Self.bounds(schema)
        return bounds.isEmpty ? text : "\(text), \(bounds)"
    }

    private static func bounds(_ schema: DocumentValue) -> String {
        func range(_ least: String, _ most: String, _ unit: String) -> String? {
            switch (schema[least]?.short, schema[most]?.short) {
            case (let least?, let most?): "\(least) to \(most)\(unit)"
            case (let least?, nil): "at least \(least)\(unit)"
            case (nil, let most?): "at most \(most)\(unit)"
            case (nil, nil): nil
            }
        }
        let parts = [
            range("minimum", "maximum", ""), range("minLength", "maxLength", " characters"),
            range("minItems", "maxItems", " items"), schema["format"]?.text?.escaped,
            (schema["pattern"]?.text).map { "pattern \(Self.code($0))" },
            schema["default"].map { "default \(Self.code($0.short))" },
        ]
        return parts.compactMap { $0 }.joined(separator: ", ")
    }
}
