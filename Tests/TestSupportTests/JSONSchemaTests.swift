import TestSupport
import Testing

/// The validator that checks the API documents: above all, that it rejects.
@Suite struct JSONSchemaTests {
    private static func faults(_ value: String, _ schema: String, isClosed: Bool = false) throws -> [String] {
        let schema = try JSONValue(json: schema.utf8)
        return JSONSchema(document: schema, isClosed: isClosed).faults(of: try JSONValue(json: value.utf8), by: schema)
    }

    /// A schema, matching values, and values that do not match.
    private static let claims: [(schema: String, right: [String], wrong: [String])] = [
        (#"{"type":"integer"}"#, ["7", "-1", "7.0"], ["7.5", #""7""#, "true", "null"]),
        (#"{"type":"boolean"}"#, ["true", "false"], ["1", "0", #""true""#]),
        (#"{"type":"number"}"#, ["7.5", "0"], ["true", "[]"]),
        (#"{"type":["string","null"]}"#, [#""a""#, "null"], ["1", "{}"]),
        (#"{"enum":["a",1]}"#, [#""a""#, "1"], [#""b""#, "2", "null"]),
        (#"{"const":"a"}"#, [#""a""#], [#""b""#, "1"]),
        (#"{"pattern":"^[a-c]{2}$"}"#, [#""ab""#, "1"], [#""abc""#, #""xab""#, #""""#]),
        (#"{"minLength":1,"maxLength":2}"#, [#""ä""#, #""ab""#], [#""""#, #""abc""#]),
        (#"{"minimum":-1,"maximum":2.5}"#, ["-1", "2.5", #""9""#], ["-1.1", "2.6"]),
        (#"{"items":{"type":"string"}}"#, ["[]", #"["a"]"#, "7"], [#"["a",1]"#]),
        (#"{"minItems":1,"maxItems":2,"uniqueItems":true}"#, ["[1]", "[1,2]"], ["[]", "[1,2,3]", "[1,1]"]),
        (#"{"required":["a"]}"#, [#"{"a":null}"#, "[]"], ["{}", #"{"b":1}"#]),
        (#"{"properties":{"a":{"type":"string"}}}"#, ["{}", #"{"a":"x","b":1}"#], [#"{"a":1}"#]),
        (#"{"properties":{"a":{}},"additionalProperties":false}"#, [#"{"a":1}"#], [#"{"b":1}"#]),
        (#"{"additionalProperties":{"type":"integer"}}"#, ["{}", #"{"b":1}"#], [#"{"b":"1"}"#]),
        (#"{"anyOf":[{"type":"null"},{"minimum":3}]}"#, ["null", "3"], ["2"]),
        (#"{"allOf":[{"minimum":3},{"maximum":4}]}"#, ["3", "4"], ["2", "5"]),
        (#"{"oneOf":[{"required":["a"]},{"required":["b"]}]}"#, [#"{"a":1}"#], ["{}", #"{"a":1,"b":1}"#]),
        (##"{"properties":{"a":{"$ref":"#/x~1y"}},"x/y":{"const":1}}"##, [], [#"{"a":2}"#]),
        (##"{"$ref":"#/nowhere"}"##, [], ["1"]),
        (#"{"exclusiveMinimum":-1,"exclusiveMaximum":1}"#, ["0", #""9""#], ["-1", "1"]),
        (#"{"not":{"required":["a","b"]}}"#, ["{}", #"{"a":1}"#], [#"{"a":1,"b":1}"#]),
        (
            #"{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["d"]}}"#, [#"{"a":1,"b":1}"#],
            [#"{"a":1}"#, #"{"c":1}"#]
        ),
        (#"{"if":{"required":["a"]},"then":{"required":["b"]}}"#, ["{}", #"{"a":1,"b":1}"#], [#"{"a":1}"#]),
        (#"{"multipleOf":3}"#, [], ["3"]),
    ]

    @Test(arguments: claims.indices)
    func `a value is valid exactly when it matches its schema`(index: Int) throws {
        let claim = Self.claims[index]
        for value in claim.right { #expect(try Self.faults(value, claim.schema) == [], "\(value) by \(claim.schema)") }
        for value in claim.wrong { #expect(try Self.faults(value, claim.schema) != [], "\(value) by \(claim.schema)") }
    }

    @Test func `a closed schema rejects unlisted members at any depth`() throws {
        let schema = #"{"properties":{"a":{"items":{"properties":{"b":{}}}}}}"#
        #expect(try Self.faults(#"{"a":[{"b":1}]}"#, schema, isClosed: true) == [])
        #expect(try Self.faults(#"{"a":[{"c":1}]}"#, schema, isClosed: true) == ["$.a[0]: c is not documented"])
        #expect(try Self.faults(#"{"c":1}"#, schema, isClosed: true) == ["$: c is not documented"])
        #expect(try Self.faults(#"{"c":1}"#, schema) == [])
    }
}
