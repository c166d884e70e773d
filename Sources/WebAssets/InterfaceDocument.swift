// The machine-readable interface documents: OpenAPI 3.1 for REST and AsyncAPI 3.0 for the WebSocket. They are written by hand
// in api/, as parts that this file joins as text; shared schemas exist once, in schemas.json. Tests compare them with what
// the gateway returns.

package import HTTPValues

/// A document and its entity tag.
package struct InterfaceDocument: Sendable {
    package let json: [UInt8]
    /// The entity tag, including its quotes.
    package let tag: EntityTag

    private init(_ json: [UInt8]) {
        self.json = json
        self.tag = EntityTag(digestOf: json)
    }

    package static let openAPI = Self(
        Self.object([
            (nil, Self.part("openapi")), (nil, Self.part("webhooks")),
            (
                "paths",
                Self.object([
                    (nil, Self.part("job-paths")), (nil, Self.part("rider-paths")),
                    (nil, Self.part("operations-paths")), (nil, Self.part("webhook-paths")),
                    (nil, Self.part("page-paths")), (nil, Self.part("paths")),
                ])
            ),
            (
                "components",
                Self.object([
                    (nil, Self.part("components")),
                    (
                        "schemas",
                        Self.object([
                            (nil, Self.part("schemas")), (nil, Self.part("rest-schemas")),
                            (nil, Self.part("rider-schemas")), (nil, Self.part("page-schemas")),
                            (nil, Self.part("operations-schemas")), (nil, Self.part("webhook-schemas")),
                        ])
                    ),
                ])
            ),
        ]))

    package static let asyncAPI = Self(
        Self.object([
            (nil, Self.part("asyncapi")),
            (
                "components",
                Self.object([
                    ("securitySchemes", Self.part("session-security")),
                    (
                        "messages",
                        Self.object([
                            (nil, Self.part("client-messages")), (nil, Self.part("server-messages")),
                        ])
                    ),
                    ("schemas", Self.part("schemas")),
                ])
            ),
        ]))

    /// - Parameter name: the name of a file in api/ without its extension.
    private static func part(_ name: String) -> [UInt8] {
        guard let bytes = EmbeddedFiles.documents["\(name).json"] else {
            preconditionFailure("\(name).json is not embedded. Add it to Sources/CWebAssets/web-assets.c")
        }
        return bytes
    }

    /// Joins several JSON objects into one.
    ///
    /// - Parameter parts: non-empty objects. One with a name becomes a member; the members of one without a name are included.
    private static func object(_ parts: [(name: String?, json: [UInt8])]) -> [UInt8] {
        let members = parts.map { name, json -> [UInt8] in
            guard let name else { return Self.members(of: json) }
            return Array("\n\"\(name)\": ".utf8) + json.drop(while: Self.isSpace)
        }
        return Array("{".utf8) + members.joined(separator: Array(",".utf8)) + Array("\n}".utf8)
    }

    /// Returns the text between the braces of an object.
    private static func members(of json: [UInt8]) -> [UInt8] {
        guard let start = json.firstIndex(of: UInt8(ascii: "{")), let end = json.lastIndex(of: UInt8(ascii: "}")),
            let last = json[..<end].lastIndex(where: { !Self.isSpace($0) })
        else { preconditionFailure("a file in api/ is not a JSON object") }
        return Array(json[json.index(after: start)...last])
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n") }
}
