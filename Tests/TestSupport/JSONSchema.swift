// A validator for the parts of JSON Schema 2020-12 that the project's documents use. An unknown keyword is an error, so that
// no schema promises anything that is not checked.

/// The schemas of one document, which may refer to each other.
package struct JSONSchema: Sendable {
    private let document: JSONValue
    /// Whether members that an object's `properties` do not list are errors, unless `additionalProperties` permits them: the
    /// document should describe everything.
    private let isClosed: Bool

    package init(document: JSONValue, isClosed: Bool = false) {
        (self.document, self.isClosed) = (document, isClosed)
    }

    /// Returns what is wrong with `value`, or nothing when it matches `schema`.
    ///
    /// - Parameter path: of the value, for error messages.
    package func faults(of value: JSONValue, by schema: JSONValue, at path: String = "$") -> [String] {
        guard let keywords = schema.object else {
            return schema == .bool(true) ? [] : ["\(path): there is no schema for it"]
        }
        return keywords.sorted { $0.key < $1.key }.flatMap { keyword, wanted in
            self.faults(of: value, by: keyword, wanted, in: keywords, path)
        }
    }

    /// Keywords that do not affect validation.
    private static let annotations: Set = [
        "description", "title", "examples", "default", "format", "contentEncoding", "deprecated",
    ]

    private func faults(
        of value: JSONValue, by keyword: String, _ wanted: JSONValue, in schema: [String: JSONValue], _ path: String
    ) -> [String] {
        func fault(unless isRight: Bool, _ reason: @autoclosure () -> String) -> [String] {
            isRight ? [] : ["\(path): \(reason())"]
        }
        switch keyword {
        case _ where Self.annotations.contains(keyword): return []
        case "$ref":
            guard let pointer = wanted.text, let target = self.document.at(pointer) else {
                return ["\(path): \(wanted) cannot be resolved"]
            }
            return self.faults(of: value, by: target, at: path)
        case "type":
            let types = wanted.text.map { [$0] } ?? wanted.texts
            return fault(unless: types.contains { value.isOf(type: $0) }, "is not of type \(types)")
        case "const": return fault(unless: value == wanted, "is not \(wanted)")
        case "enum": return fault(unless: wanted.array?.contains(value) == true, "\(value) is not one of \(wanted)")
        case "anyOf", "oneOf":
            let fits = (wanted.array ?? []).map { self.faults(of: value, by: $0, at: path) }
            let count = fits.count(where: \.isEmpty)
            return fault(unless: keyword == "oneOf" ? count == 1 : count > 0, "fits \(count) of \(keyword): \(fits)")
        case "allOf": return (wanted.array ?? []).flatMap { self.faults(of: value, by: $0, at: path) }
        case "pattern", "minLength", "maxLength": return self.textFaults(of: value, by: keyword, wanted, path)
        case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
            guard let number = value.number, let bound = wanted.number else { return [] }
            let isRight =
                switch keyword {
                case "minimum": number >= bound
                case "maximum": number <= bound
                case "exclusiveMinimum": number > bound
                default: number < bound
                }
            return fault(unless: isRight, "\(keyword) is \(bound)")
        case "not": return fault(unless: !self.fits(value, wanted), "matches a schema under `not`")
        case "if":
            let next = schema[self.fits(value, wanted) ? "then" : "else"]
            return next.map { self.opened.faults(of: value, by: $0, at: path) } ?? []
        case "then", "else": return []
        case "items", "minItems", "maxItems", "uniqueItems":
            return self.arrayFaults(of: value, by: keyword, wanted, path)
        case "propertyNames":
            return (value.object ?? [:]).keys.sorted().flatMap {
                self.faults(of: .text($0), by: wanted, at: "\(path), name \($0)")
            }
        case "required", "properties", "additionalProperties":
            return self.memberFaults(of: value, by: keyword, wanted, in: schema, path)
        default: return ["\(path): unknown keyword \(keyword)"]
        }
    }

    /// For keywords that concern several members of an object.
    private var opened: JSONSchema { JSONSchema(document: self.document) }

    private func fits(_ value: JSONValue, _ schema: JSONValue) -> Bool {
        self.opened.faults(of: value, by: schema).isEmpty
    }

    private func textFaults(
        of value: JSONValue, by keyword: String, _ wanted: JSONValue, _ path: String
    ) -> [String] {
        guard let text = value.text else { return [] }
        let length = Double(text.unicodeScalars.count)
        let isRight =
            switch keyword {
            case "pattern": wanted.text.flatMap { try? Regex($0) }.map { text.firstMatch(of: $0) != nil } ?? false
            case "minLength": length >= wanted.number ?? .infinity
            default: length <= wanted.number ?? -1
            }
        return isRight ? [] : ["\(path): \(keyword) is \(wanted)"]
    }

    private func arrayFaults(
        of value: JSONValue, by keyword: String, _ wanted: JSONValue, _ path: String
    ) -> [String] {
        guard let elements = value.array else { return [] }
        let isRight: Bool
        switch keyword {
        case "items":
            return elements.enumerated().flatMap { self.faults(of: $1, by: wanted, at: "\(path)[\($0)]") }
        case "minItems": isRight = Double(elements.count) >= wanted.number ?? .infinity
        case "maxItems": isRight = Double(elements.count) <= wanted.number ?? -1
        default: isRight = wanted != .bool(true) || Set(elements).count == elements.count
        }
        return isRight ? [] : ["\(path): \(keyword) is \(wanted)"]
    }

    private func memberFaults(
        of value: JSONValue, by keyword: String, _ wanted: JSONValue, in schema: [String: JSONValue], _ path: String
    ) -> [String] {
        guard let members = value.object else { return [] }
        let named = schema["properties"]?.object ?? [:]
        switch keyword {
        case "required":
            return wanted.texts.filter { members[$0] == nil }.map { "\(path): \($0) is missing" }
        case "properties":
            let unknown =
                self.isClosed && schema["additionalProperties"] == nil ? members.keys.filter { named[$0] == nil } : []
            return unknown.sorted().map { "\(path): \($0) is not documented" }
                + named.sorted { $0.key < $1.key }.flatMap { name, schema in
                    members[name].map { self.faults(of: $0, by: schema, at: "\(path).\(name)") } ?? []
                }
        default:
            let others = members.filter { named[$0.key] == nil }.sorted { $0.key < $1.key }
            if wanted == .bool(false) { return others.map { "\(path): \($0.key) is not allowed" } }
            return others.flatMap { self.faults(of: $0.value, by: wanted, at: "\(path).\($0.key)") }
        }
    }
}

extension JSONValue {
    fileprivate func isOf(type: String) -> Bool {
        switch (type, self) {
        case ("null", .null), ("boolean", .bool), ("number", .number), ("string", .text), ("array", .array),
            ("object", .object):
            true
        case ("integer", .number(let number)): number.rounded() == number
        default: false
        }
    }
}
