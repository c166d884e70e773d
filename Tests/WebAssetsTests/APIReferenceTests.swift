import EnrouteWire
import Foundation
import TestSupport
import Testing

@testable import WebAssets

/// The reference page against the documents it is rendered from.
@Suite struct APIReferenceTests {
    private static let methods: Set = ["get", "post", "put", "patch", "delete"]

    /// Every operation with its path and method.
    private static func operations() throws -> [(name: String, value: JSONValue)] {
        let document = try JSONValue(json: InterfaceDocument.openAPI.json)
        return try #require(document["paths"]?.object).flatMap { path, item in
            (item.object ?? [:]).filter { Self.methods.contains($0.key) }.map { ("\($0.key) \(path)", $0.value) }
        }
    }

    private static let html = APIReference.parts.reference

    @Test func `every operation has a summary, a description and a unique id`() throws {
        let operations = try Self.operations()
        #expect(operations.count > 50)
        for (name, operation) in operations {
            let (summary, text) = (operation["summary"]?.text ?? "", operation["description"]?.text ?? "")
            #expect(summary.count > 5 && summary.hasSuffix("."), "\(name): \(summary)")
            #expect(text.count > 20 && text.hasSuffix(".") && text != summary, "\(name): \(text)")
        }
        #expect(Set(operations.compactMap { $0.value["operationId"]?.text }).count == operations.count)
    }

    @Test func `every operation has an example of its request, and of its JSON response`() throws {
        let document = try JSONValue(json: InterfaceDocument.openAPI.json)
        func hasExample(_ schema: JSONValue) -> Bool {
            let value = schema.resolved(in: document)
            if value["examples"]?.array?.isEmpty == false { return true }
            if let choice = value["anyOf"]?.array?.first { return hasExample(choice) }
            return value["properties"] == nil && value["type"]?.text != nil
        }
        func isShown(_ media: JSONValue) -> Bool { media["example"] != nil || media["schema"].map(hasExample) == true }
        for (name, operation) in try Self.operations() {
            let id = try #require(operation["operationId"]?.text)
            let start = try #require(Self.html.range(of: #"<article class="card" data-entry="\#(id)""#), "\(name)")
            let rest = Self.html[start.lowerBound...]
            let article = rest[..<(try #require(rest.range(of: "</article>"))).lowerBound]
            let request = try #require(article.firstMatch(of: /<h4>Request<\/h4><pre><code>([^<]*)</), "\(name)").1
            #expect(request.contains("curl") && !request.contains(/[{]\w+[}]/), "\(name): \(request)")
            for (type, media) in operation.at("#/requestBody/content")?.object ?? [:] {
                #expect(isShown(media), "\(name): the body \(type) has no example")
            }
            for (status, response) in operation["responses"]?.object ?? [:] where status.hasPrefix("20") {
                for (type, media) in response.resolved(in: document)["content"]?.object ?? [:]
                where type.contains("json") {
                    #expect(isShown(media), "\(name) \(status): \(type) has no example")
                }
            }
        }
    }

    @Test func `the page has every operation, message and schema once, and no link leads nowhere`() throws {
        let contents = APIReference.parts.contents
        let ids = Self.html.matches(of: #/ id="([^"]+)"/#).map { String($0.1) }
        #expect(Set(ids).count == ids.count)
        for match in (contents + Self.html).matches(of: /href="#([^"]+)"/) {
            #expect(ids.contains(String(match.1)), "\(match.1)")
        }
        for (name, operation) in try Self.operations() {
            #expect(ids.contains(operation["operationId"]?.text ?? ""), "\(name)")
        }
        for (document, kind, prefix) in [
            (InterfaceDocument.openAPI, "schemas", "schema-"),
            (InterfaceDocument.asyncAPI, "schemas", "schema-"),
            (InterfaceDocument.asyncAPI, "messages", "message-"),
        ] {
            let named = try JSONValue(json: document.json).at("#/components/\(kind)")?.object ?? [:]
            #expect(!named.isEmpty)
            for name in named.keys { #expect(ids.contains(prefix + name), "\(name)") }
        }
        let tags = Self.html.matches(of: /<\/?(section|article|table|pre|h[1-6]|main|nav)\b/).map { String($0.0) }
        for name in ["section", "article", "table", "pre"] {
            #expect(tags.count { $0 == "<\(name)" } == tags.count { $0 == "</\(name)" }, "\(name)")
        }
        #expect(!Self.html.contains("<script") && !Self.html.contains(" style="))
    }

    @Test func `the page has the close codes and the limits of the protocol`() throws {
        for code in CloseCode.allCases where code.rawValue >= 4000 && code != .unsupportedVersion {
            #expect(Self.html.contains(#"<th scope="row">\#(code.rawValue)</th>"#), "\(code)")
        }
        for limit in ["SUBSCRIPTIONS", "MESSAGE_BYTES", "SESSIONS_PER_PERSON", "QUEUE_BYTES"] {
            #expect(Self.html.contains("<td><code>\(limit)</code>"), "\(limit)")
        }
        for section in ["guide-close-codes", "guide-revocation", "guide-messages", "guide-slow-readers"] {
            #expect(APIReference.parts.contents.contains(##"<a href="#\##(section)">"##), "\(section)")
        }
        let start = try #require(Self.html.range(of: #"aria-labelledby="document-close-codes""#)).lowerBound
        let end = try #require(Self.html.range(of: #"aria-labelledby="schemas""#)).lowerBound
        // No Markdown is left.
        for mark in ["](", "`", "\n- ", "\n|", "##"] { #expect(!Self.html[start..<end].contains(mark), "\(mark)") }
    }

    @Test func `texts of the documents cannot become HTML`() {
        #expect(APIReference.prose("a <b> `<c>` & d") == "a &lt;b&gt; <code>&lt;c&gt;</code> &amp; d")
        #expect(APIReference.prose("one ` alone") == "one ` alone")
    }
}
