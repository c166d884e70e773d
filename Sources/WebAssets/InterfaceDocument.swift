// What the two interfaces look like, for programs: OpenAPI 3.1 of REST and AsyncAPI 3.0 of the WebSocket. They are written by
// hand in api/, in parts that are put together here as text; what both speak of stands once, in schemas.json. Tests
// hold them to what the gateway really answers.

package import HTTPValues

/// A document, and the tag that changes when it does.
package struct InterfaceDocument: Sendable {
    package let json: [UInt8]
    /// With its quotes.
    package let tag: EntityTag

    private init(_ json: [UInt8]) {
        self.json = json
        self.tag = EntityTag(digestOf: json)
    }

    package static let openAPI = Self(
        Self.object([
            (nil, Self.part("openapi")),
            (
                "paths",
                Self.object([
                    (nil, Self.part("job-paths")), (nil, Self.part("rider-paths")),
                    (nil, Self.part("operations-paths")),
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
                            (nil, Self.part("operations-schemas")),
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

    /// - Parameter name: of a file of api/, without its ending.
    private static func part(_ name: String) -> [UInt8] {
        guard let bytes = EmbeddedFiles.documents["\(name).json"] else {
            preconditionFailure("\(name).json is not embedded: add it to Sources/CWebAssets/web-assets.c")
        }
        return bytes
    }

    /// One JSON object out of several.
    ///
    /// - Parameter parts: objects, none of them empty: under a name, or (without one) their members.
    private static func object(_ parts: [(name: String?, json: [UInt8])]) -> [UInt8] {
        let members = parts.map { name, json -> [UInt8] in
            guard let name else { return Self.members(of: json) }
            return Array("\n\"\(name)\": ".utf8) + json.drop(while: Self.isSpace)
        }
        return Array("{".utf8) + members.joined(separator: Array(",".utf8)) + Array("\n}".utf8)
    }

    /// What stands between the braces of an object.
    private static func members(of json: [UInt8]) -> [UInt8] {
        guard let start = json.firstIndex(of: UInt8(ascii: "{")), let end = json.lastIndex(of: UInt8(ascii: "}")),
            let last = json[..<end].lastIndex(where: { !Self.isSpace($0) })
        else { preconditionFailure("a file of api/ is no JSON object") }
        return Array(json[json.index(after: start)...last])
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n") }
}
