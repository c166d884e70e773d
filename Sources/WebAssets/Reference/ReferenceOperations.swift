// The REST operations of the reference: parameters, body, responses, and an example that a shell can run.

extension APIReference {
    private static let methods = ["get", "post", "put", "patch", "delete"]

    /// An operation of the document, with the parameters of its path.
    private struct Operation {
        let method: String
        let path: String
        let value: DocumentValue
        let parameters: [DocumentValue]
        var id: String { self.value["operationId"]?.text ?? "" }
    }

    /// - Returns: in the order of their paths.
    func operations(of tag: String) -> [Entry] {
        let paths = (self.openAPI["paths"]?.object ?? [:]).sorted { $0.key < $1.key }
        let operations = paths.flatMap { path, item in
            Self.methods.compactMap { method in
                item[method].map { value in
                    let all = (item["parameters"]?.array ?? []) + (value["parameters"]?.array ?? [])
                    return Operation(
                        method: method, path: path, value: value,
                        parameters: all.map { $0.resolved(in: self.openAPI) })
                }
            }
        }
        return operations.filter { $0.value["tags"]?.array?.first?.text == tag }.map(self.entry)
    }

    private func entry(_ operation: Operation) -> Entry {
        let method = operation.method.uppercased()
        let label = #"<span class="method">\#(method)</span> <code>\#(operation.path.escaped)</code>"#
        var html = Self.heading(operation.id, label)
        html += #"<p class="summary">\#(Self.prose(operation.value["summary"]?.text ?? ""))</p>"#
        html += "<p>\(Self.prose(operation.value["description"]?.text ?? ""))</p>"
        html += Self.table(
            "Parameters", ["Name", "In", "Type", "Meaning"],
            operation.parameters.map { parameter in
                let schema = parameter["schema"] ?? .object([:])
                let note = parameter["required"] == .boolean(true) ? ", required" : ""
                return [
                    Self.code(parameter["name"]?.text ?? ""), (parameter["in"]?.text ?? "").escaped + note,
                    self.type(schema, in: self.openAPI),
                    Self.prose(
                        parameter["description"]?.text ?? schema.resolved(in: self.openAPI)["description"]?.text ?? ""),
                ]
            })
        let body = operation.value["requestBody"]?.resolved(in: self.openAPI)
        if let body { html += self.rows("Body", body, required: body["required"] == .boolean(true)) }
        html += Self.example("Request", self.request(operation, body))
        html += self.responses(operation)
        return Entry(id: operation.id, label: label, html: html)
    }

    /// The media types of a body.
    private func rows(_ title: String, _ body: DocumentValue, required: Bool) -> String {
        Self.table(
            required ? title : "\(title), optional", ["Media type", "Type"],
            (body["content"]?.object ?? [:]).sorted { $0.key < $1.key }.map { name, media in
                [Self.code(name), self.type(media["schema"] ?? .object([:]), in: self.openAPI)]
            })
    }

    /// A curl command with the examples of the parameters and of the body.
    private func request(_ operation: Operation, _ body: DocumentValue?) -> String {
        var (path, query) = (operation.path, [String]())
        for parameter in operation.parameters {
            guard let name = parameter["name"]?.text, let value = self.example(of: parameter)?.short else { continue }
            if parameter["in"]?.text == "path" { path = path.replacing("{\(name)}", with: value) }
            if parameter["in"]?.text == "query", parameter["required"] == .boolean(true) {
                query.append("\(name)=\(value)")
            }
        }
        var command = operation.method == "get" ? "curl" : "curl -X \(operation.method.uppercased())"
        command += " \"$URL\(path)\(query.isEmpty ? "" : "?" + query.joined(separator: "&"))\""
        if operation.value["security"] != .array([]) { command += " \\\n  -H \"Authorization: Bearer $TOKEN\"" }
        guard let (type, media) = body?["content"]?.object?.min(by: { $0.key < $1.key }),
            let example = self.example(of: media)
        else { return command }
        return command + " \\\n  -H 'Content-Type: \(type)' \\\n  -d '\(example.pretty())'"
    }

    /// The example of a media type or a parameter, or else of its schema.
    func example(of value: DocumentValue) -> DocumentValue? {
        if let own = value["example"] { return own }
        return self.example(ofSchema: value["schema"] ?? .object([:]), in: self.openAPI)
    }

    private func responses(_ operation: Operation) -> String {
        let responses = (operation.value["responses"]?.object ?? [:]).sorted { $0.key < $1.key }
            .map { ($0.key, $0.value.resolved(in: self.openAPI)) }
        var html = Self.table(
            "Responses", ["Status", "Meaning", "Type"],
            responses.map { status, response in
                let types = (response["content"]?.object ?? [:]).sorted { $0.key < $1.key }.map { name, media in
                    "\(self.type(media["schema"] ?? .object([:]), in: self.openAPI)) (\(name.escaped))"
                }
                return [
                    Self.code(status), Self.prose(response["description"]?.text ?? ""), types.joined(separator: ", "),
                ]
            })
        for (status, response) in responses where status.hasPrefix("2") {
            guard let media = response["content"]?.object?.min(by: { $0.key < $1.key })?.value,
                let example = self.example(of: media)
            else { continue }
            let text = if case .text(let text) = example { text } else { example.pretty() }
            html += Self.example("Response \(status)", text)
            break
        }
        return html
    }
}
