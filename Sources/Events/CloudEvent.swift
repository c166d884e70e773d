// CloudEvents 1.0.2 received over HTTP in one of three modes: structured (the body is the whole event), batch (an array of
// them) and binary (attributes are headers, the body is the data). This file only parses; JobEvent determines what an event
// means for a job.

internal import EnrouteWire
internal import FoundationEssentials

/// Why something is not an event, or not a usable one.
package struct EventFault: Error, Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// Not a CloudEvent: the sender's code is wrong.
        case malformed
        /// A CloudEvent that can never be applied.
        case unusable
    }
    package let kind: Kind
    /// A sentence that says what is wrong and what is expected.
    package let reason: String

    static func malformed(_ reason: String) -> EventFault { EventFault(kind: .malformed, reason: reason) }
    static func unusable(_ reason: String) -> EventFault { EventFault(kind: .unusable, reason: reason) }
}

/// The relevant attributes and the data. Extensions are ignored.
package struct CloudEvent: Sendable {
    /// Together with `source`, identifies the event; events with the same pair are duplicates.
    package let id: String
    package let source: String
    package let type: String
    /// When it happened, ms since the epoch; `nil` without a `time` attribute.
    package let occurredAt: Int64?
    /// A failure to decode the data, reported only when the data is needed.
    let details: Result<JobDetails, EventFault>

    /// Maximum number of events in a batch.
    package static let maxInBatch = 100
    /// How far `time` may be in the future, ms, to tolerate clock differences.
    package static let furthestAheadMilliseconds: Int64 = 30_000
    package static let structuredMediaType = "application/cloudevents+json"
    package static let batchMediaType = "application/cloudevents-batch+json"

    /// - Parameter attribute: returns the text of an attribute, or `nil` when it is absent.
    init(
        details: Result<JobDetails, EventFault>, attribute: (String) throws(EventFault) -> String?
    ) throws(EventFault) {
        func required(_ name: String) throws(EventFault) -> String {
            guard let text = try attribute(name), !text.isEmpty else {
                throw .malformed("A CloudEvent needs \(name), a non-empty string.")
            }
            return text
        }
        let version = try required("specversion")
        guard version == "1.0" else { throw .malformed("specversion must be 1.0.") }
        (self.id, self.source, self.type) = (try required("id"), try required("source"), try required("type"))
        self.occurredAt = try attribute("time").map { text throws(EventFault) in
            // `checkTime` refuses times in the future.
            guard let time = Timestamp.unboundedMilliseconds(text), time >= Fix.times.lowerBound else {
                throw .malformed(
                    "time must be an RFC 3339 timestamp, 2001-09-10 or later, such as 2026-11-21T18:00:00.000Z.")
            }
            return time
        }
        if let mediaType = try attribute("datacontenttype"), !Self.isJSON(mediaType) {
            self.details = .failure(.unusable("datacontenttype must be application/json."))
        } else {
            self.details = details
        }
    }

    /// Refuses an event from the future: every later event would be superseded by it.
    ///
    /// - Parameter now: ms since the epoch.
    package func checkTime(now: Int64) throws(EventFault) {
        guard let occurredAt, occurredAt > now + Self.furthestAheadMilliseconds else { return }
        throw .unusable("time is in the future. Send the time at which it happened, and check the sender's clock.")
    }

    /// Parses a body that is one event (structured mode).
    package static func structured(_ body: some Sequence<UInt8>) throws(EventFault) -> CloudEvent {
        try Structured.decode(Structured.self, body, ("A structured CloudEvent", "a JSON object")).event.get()
    }

    /// Parses a body that is an array of events. Each element is an event or the reason why it is not one.
    package static func batch(_ body: some Sequence<UInt8>) throws(EventFault) -> [Result<CloudEvent, EventFault>] {
        let events = try Structured.decode([Structured].self, body, ("A batch of CloudEvents", "a JSON array"))
        guard events.count <= Self.maxInBatch else {
            throw .malformed("A batch contains at most \(Self.maxInBatch) events.")
        }
        return events.map(\.event)
    }

    /// Parses a body that is the data (binary mode).
    ///
    /// - Parameter header: returns a header by its name without `ce-`, percent-encoded as in the HTTP binding (3.1.3.2).
    package static func binary(
        _ body: some Sequence<UInt8>, mediaType: String?, header: (String) -> String?
    ) throws(EventFault) -> CloudEvent {
        try CloudEvent(details: JobDetails.decode(body)) { name throws(EventFault) in
            name == "datacontenttype" ? mediaType : header(name)?.percentDecoded
        }
    }

    private static func isJSON(_ mediaType: String) -> Bool {
        let type = mediaType.prefix { $0 != ";" }.lowercased().filter { $0 != " " }
        return type == "application/json" || type == "text/json" || type.hasSuffix("+json")
    }
}

/// One event in structured mode. Decoding never throws, so that one invalid event does not fail its batch.
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
            self.event = .failure(.malformed("A structured CloudEvent must be a JSON object."))
            return
        }
        self.event = Result { () throws(EventFault) in
            // JSON event format 3.1: at most one of the two.
            guard !members.contains(Key(stringValue: "data")) || !members.contains(Key(stringValue: "data_base64"))
            else {
                throw .malformed("A CloudEvent contains either data or data_base64, not both.")
            }
            return try CloudEvent(details: Self.details(members)) { name throws(EventFault) in
                do {
                    return try members.decodeIfPresent(String.self, forKey: Key(stringValue: name))
                } catch {
                    throw .malformed("\(name) must be a string.")
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
        _ type: Value.Type, _ body: some Sequence<UInt8>, _ rule: (what: String, form: String)
    ) throws(EventFault) -> Value {
        let body = Data(body)
        do throws(StrictJSON.Fault) { try StrictJSON.check(body) } catch {
            throw .malformed(error.reason(rule.what))
        }
        do {
            return try JSONDecoder().decode(type, from: body)
        } catch {
            throw .malformed("\(rule.what) must be \(rule.form).")
        }
    }
}
