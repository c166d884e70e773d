// A CloudEvent (specification 1.0.2) as it comes over HTTP in one of three modes: structured, where the body is the whole
// event; batch, where it is an array of them; binary, where attributes are headers and the body is the data. What the event
// means for a job is JobEvent's; here it is only taken apart.

internal import EnrouteWire
internal import FoundationEssentials

/// Why something is no event, or none that anything can be done with.
package struct EventFault: Error, Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// It is no CloudEvent. The sender's code is wrong.
        case malformed
        /// It is one, but says nothing that could ever be done.
        case unusable
    }
    package let kind: Kind
    /// A sentence that says what is wrong, and how it should be.
    package let reason: String

    static func malformed(_ reason: String) -> EventFault { EventFault(kind: .malformed, reason: reason) }
    static func unusable(_ reason: String) -> EventFault { EventFault(kind: .unusable, reason: reason) }
}

/// The attributes that matter here, and the data. Extensions are passed over.
package struct CloudEvent: Sendable {
    /// With `source` it names the event; two with the same are the same.
    package let id: String
    package let source: String
    package let type: String
    /// When it happened, ms since the epoch; `nil` when the event does not say.
    package let occurredAt: Int64?
    /// Why the data can not be used comes out only where it is needed.
    let details: Result<JobDetails, EventFault>

    /// Events of one batch, at most.
    package static let mostInBatch = 100
    package static let structuredMediaType = "application/cloudevents+json"
    package static let batchMediaType = "application/cloudevents-batch+json"

    /// - Parameter attribute: the text of an attribute; `nil` where it is absent.
    init(
        details: Result<JobDetails, EventFault>, attribute: (String) throws(EventFault) -> String?
    ) throws(EventFault) {
        func required(_ name: String) throws(EventFault) -> String {
            guard let text = try attribute(name), !text.isEmpty else {
                throw .malformed("A CloudEvent needs \(name), a text that is not empty.")
            }
            return text
        }
        let version = try required("specversion")
        guard version == "1.0" else { throw .malformed("specversion must be 1.0.") }
        (self.id, self.source, self.type) = (try required("id"), try required("source"), try required("type"))
        self.occurredAt = try attribute("time").map { text throws(EventFault) in
            guard let time = Timestamp.milliseconds(text) else {
                throw .malformed("time must be as RFC 3339 has it, from 2001-09-10 on: 2026-11-21T18:00:00.000Z.")
            }
            return time
        }
        if let mediaType = try attribute("datacontenttype"), !Self.isJSON(mediaType) {
            self.details = .failure(.unusable("datacontenttype must be application/json."))
        } else {
            self.details = details
        }
    }

    /// The body is one event (structured mode).
    package static func structured(_ body: some Sequence<UInt8>) throws(EventFault) -> CloudEvent {
        try Structured.decode(Structured.self, body, "A structured CloudEvent is a JSON object.").event.get()
    }

    /// The body is an array of events; each is one, or says why it is none.
    package static func batch(_ body: some Sequence<UInt8>) throws(EventFault) -> [Result<CloudEvent, EventFault>] {
        let events = try Structured.decode([Structured].self, body, "A batch of CloudEvents is a JSON array.")
        guard events.count <= Self.mostInBatch else {
            throw .malformed("A batch holds at most \(Self.mostInBatch) events.")
        }
        return events.map(\.event)
    }

    /// The body is the data (binary mode).
    ///
    /// - Parameter header: the value of a header without its `ce-`; percent-encoded, as the HTTP binding has it (3.1.3.2).
    package static func binary(
        _ body: some Sequence<UInt8>, mediaType: String?, header: (String) -> String?
    ) throws(EventFault) -> CloudEvent {
        try CloudEvent(details: JobDetails.decode(body)) { name throws(EventFault) in
            name == "datacontenttype" ? mediaType : header(name).map(Self.percentDecoded)
        }
    }

    /// The text that bytes written as `%xx` stand for (RFC 3986 section 2.1).
    private static func percentDecoded(_ text: String) -> String {
        var (bytes, rest): ([UInt8], Substring.UTF8View) = ([], Substring(text).utf8)
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%"), let value = UInt8(String(Substring(rest.prefix(2))), radix: 16) else {
                bytes.append(byte)
                continue
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isJSON(_ mediaType: String) -> Bool {
        let type = mediaType.prefix { $0 != ";" }.lowercased().filter { $0 != " " }
        return type == "application/json" || type == "text/json" || type.hasSuffix("+json")
    }
}

/// One event of structured mode. Decoding it never throws, so that in a batch one that is wrong spoils no other.
private struct Structured: Decodable {
    let event: Result<CloudEvent, EventFault>

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) {
        guard let members = try? decoder.container(keyedBy: Key.self) else {
            self.event = .failure(.malformed("A structured CloudEvent is a JSON object."))
            return
        }
        self.event = Result { () throws(EventFault) in
            // JSON event format 3.1: one of the two.
            guard !members.contains(Key(stringValue: "data")) || !members.contains(Key(stringValue: "data_base64"))
            else {
                throw .malformed("A CloudEvent has data or data_base64, not both.")
            }
            return try CloudEvent(details: Self.details(members)) { name throws(EventFault) in
                do {
                    return try members.decodeIfPresent(String.self, forKey: Key(stringValue: name))
                } catch {
                    throw .malformed("\(name) must be a text.")
                }
            }
        }
    }

    private static func details(_ members: KeyedDecodingContainer<Key>) -> Result<JobDetails, EventFault> {
        let (plain, encoded) = (Key(stringValue: "data"), Key(stringValue: "data_base64"))
        if members.contains(encoded) {
            guard let text = try? members.decode(String.self, forKey: encoded), let bytes = Data(base64Encoded: text)
            else { return .failure(.unusable("data_base64 must be base64.")) }
            return JobDetails.decode(bytes)
        }
        do {
            return .success(try members.decode(JobDetails.self, forKey: plain))
        } catch {
            return .failure(.unusable(JobDetails.reason(error)))
        }
    }

    static func decode<Value: Decodable>(
        _ type: Value.Type, _ body: some Sequence<UInt8>, _ form: String
    ) throws(EventFault) -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(body))
        } catch {
            throw .malformed(form)
        }
    }
}
