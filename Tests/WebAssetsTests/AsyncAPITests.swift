import EnrouteWire
import Foundation
import TestSupport
import Testing

@testable import WebAssets

/// Compares the AsyncAPI document with the codec.
@Suite struct AsyncAPITests {
    private static func document() throws -> JSONValue { try JSONValue(json: InterfaceDocument.asyncAPI.json) }

    /// Returns the messages of one direction by key.
    ///
    /// - Parameter action: of the operations, from the gateway's view: `receive` or `send`.
    private static func messages(_ action: String) throws -> [String: JSONValue] {
        let document = try Self.document()
        let operations = try #require(document["operations"]?.object).values.filter { $0["action"]?.text == action }
        let references = operations.flatMap { $0["messages"]?.array ?? [] }
        return Dictionary(
            uniqueKeysWithValues: references.map { reference in
                // References go through the channel, whose messages are the components.
                let message = reference.resolved(in: document).resolved(in: document)
                return (Self.key(reference), message)
            })
    }

    /// The key of the message that a reference names.
    private static func key(_ reference: JSONValue) -> String {
        reference["$ref"]?.text?.split(separator: "/").last.map(String.init) ?? ""
    }

    private static func examples(_ message: JSONValue) -> [JSONValue] {
        (message["examples"]?.array ?? []).compactMap { $0["payload"] }
    }

    /// One message of each kind. A new case does not compile until it is added here.
    private static func key(_ message: ClientMessage) -> String {
        switch message {
        case .auth, .subscribe, .subscribeAll, .unsubscribe, .travel, .availability, .presence, .watch, .unwatch,
            .watchJobs, .unwatchJobs, .watchPlaces, .unwatchPlaces, .refresh, .ping:
            message.type
        case .location: "report"
        case .unavailable: "reportUnavailable"
        }
    }

    private static func key(_ message: ServerMessage) -> String {
        switch message {
        case .welcome: "welcome"
        case .subscribed: "subscribed"
        case .reset: "reset"
        case .status: "status"
        case .location: "location"
        case .tracking: "tracking"
        case .eta: "eta"
        case .ended: "ended"
        case .rate: "rate"
        case .proximity: "proximity"
        case .unavailable: "unavailable"
        case .pool: "pool"
        case .rider: "rider"
        case .jobs: "jobs"
        case .places: "places"
        case .degraded: "degraded"
        case .restored: "restored"
        case .ok: "ok"
        case .error: "error"
        case .pong: "pong"
        case .goaway: "goaway"
        }
    }

    private static let clientKinds: Set = [
        "auth", "subscribe", "unsubscribe", "travel", "report", "availability", "presence", "refresh", "watch",
        "unwatch",
        "ping", "reportUnavailable",
    ]
    private static let serverKinds: Set = [
        "welcome", "subscribed", "reset", "status", "location", "tracking", "eta", "ended", "degraded", "restored",
        "ok", "error", "pong", "goaway", "pool", "jobs", "places", "rider", "rate", "proximity", "unavailable",
    ]

    @Test func `the document contains every message of both directions, with an example`() throws {
        let (client, server) = (try Self.messages("receive"), try Self.messages("send"))
        #expect(Set(client.keys) == Self.clientKinds)
        #expect(Set(server.keys) == Self.serverKinds)
        let document = try Self.document()
        let all = Self.clientKinds.union(Self.serverKinds)
        #expect(Set(document.at("#/components/messages")?.object?.keys ?? [:].keys) == all)
        #expect(Set(document.at("#/channels/session/messages")?.object?.keys ?? [:].keys) == all)
        for (key, message) in client.merging(server, uniquingKeysWith: { first, _ in first }) {
            #expect(!Self.examples(message).isEmpty, "\(key) has no example")
        }
    }

    /// protocol/messages.md names every message in the first column of two tables.
    @Test func `the protocol's documentation lists the same messages`() throws {
        let file = Checkout.root.appending(path: "Sources/EnrouteWire/protocol/messages.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let cell = /(?m)^\| (`[a-z]+[^|]*) \|/
        func named(from start: String, to end: String) throws -> Set<String> {
            let begin = try #require(text.range(of: start))
            let rest = text[begin.upperBound...]
            let part = rest[..<(try #require(rest.range(of: end))).lowerBound]
            return Set(part.matches(of: cell).flatMap { $0.1.matches(of: /`([a-z]+)/).map { String($0.1) } })
        }
        let client = try named(from: "## From the client", to: "\n### `ref`")
        #expect(client == Set(try Self.messages("receive").values.compactMap { $0["name"]?.text }))
        let server = try named(from: "## From the gateway", to: "\n### `welcome`")
        #expect(server == Set(try Self.messages("send").values.compactMap { $0["name"]?.text }))
    }

    @Test func `every message of a client has an operation with its replies, as the summary names them`() throws {
        let document = try Self.document()
        let gateway = try Self.messages("send")
        let operations = try #require(document["operations"]?.object).filter { $0.value["action"]?.text == "receive" }
        for (name, operation) in operations {
            let message = try #require(operation["messages"]?.array?.first, "\(name)")
            #expect(operation["messages"]?.array?.count == 1, "\(name)")
            #expect(operation.at("#/reply/channel/$ref")?.text == "#/channels/session", "\(name)")
            let replies = Set((operation.at("#/reply/messages")?.array ?? []).map(Self.key))
            #expect(!replies.isEmpty && replies.isSubset(of: gateway.keys), "\(name): \(replies)")
            let summary = message.resolved(in: document).resolved(in: document)["summary"]?.text ?? ""
            let answer = try #require(summary.firstMatch(of: /Answer(?: for each job)?: (.*)$/), "\(name): \(summary)")
                .1
            // Error codes are in parentheses, and close codes come last.
            let messages = answer.replacing(/\([^)]*\)/, with: "").replacing(/; close .*/, with: "")
            let named = Set(messages.matches(of: /\w+/).map { String($0.0) }).intersection(gateway.keys)
            #expect(named == replies, "\(name): \(named) in \(summary)")
        }
    }

    @Test func `every example matches its schema and no other`() throws {
        let schema = JSONSchema(document: try Self.document(), isClosed: true)
        for (key, message) in try Self.messages("receive").merging(
            Self.messages("send"), uniquingKeysWith: { $1 })
        {
            let payload = try #require(message["payload"], "\(key)")
            for example in Self.examples(message) {
                #expect(schema.faults(of: example, by: payload, at: key) == [])
                // The schema is specific: it requires the type and fixes its value.
                let other = JSONValue.object((example.object ?? [:]).merging(["type": .text("other")]) { $1 })
                #expect(schema.faults(of: other, by: payload, at: key) != [])
            }
        }
    }

    @Test func `every example of a client message is decoded and encoded unchanged`() throws {
        for (key, message) in try Self.messages("receive") {
            for example in Self.examples(message) {
                let read = try Array(example.json).withUnsafeBytes { try ClientRequest($0) }
                #expect(Self.key(read.message) == key && read.message.type == message["name"]?.text)
                #expect(try JSONValue(json: read.encoded) == example)
            }
        }
    }

    @Test func `every example of a gateway message is decoded and encoded unchanged`() throws {
        for (key, message) in try Self.messages("send") {
            for example in Self.examples(message) {
                let read = try Self.inWireOrder(example).withUnsafeBytes { try ServerMessage($0) }
                #expect(Self.key(read) == key)
                #expect(try JSONValue(json: read.encoded) == example)
            }
        }
    }

    /// The members of a location have a fixed order: type and id come first.
    private static func inWireOrder(_ example: JSONValue) -> [UInt8] {
        guard example["type"] == .text("location"), let id = example["id"]?.text, var members = example.object else {
            return Array(example.json)
        }
        (members["type"], members["id"]) = (nil, nil)
        return Array(#"{"type":"location","id":"\#(id)","#.utf8) + JSONValue.object(members).json.dropFirst()
    }
}
