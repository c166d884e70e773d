import EnrouteWire
import Foundation
import Testing

@testable import Events

@Suite struct CloudEventTests {
    static func text(
        _ members: String = "", type: String = "status", data: String = #"{"job":"j","status":"accepted"}"#
    )
        -> Data
    {
        Data(
            #"{"specversion":"1.0","id":"e-1","source":"/orders","type":"io.enroute.job.\#(type)","data":\#(data)\#(members)}"#
                .utf8)
    }

    private func fault(_ body: () throws -> Void) -> EventFault? {
        do { try body() } catch { return error as? EventFault }
        return nil
    }

    @Test func `all three modes yield the same event`() throws {
        let structured = try CloudEvent.structured(Self.text(#","time":"2026-11-21T18:00:00Z","extension":7"#))
        let batch = try CloudEvent.batch(
            Data("[".utf8) + Self.text(#","time":"2026-11-21T19:00:00.000+01:00""#) + Data("]".utf8))
        let headers = [
            "specversion": "1.0", "id": "e-1", "source": "/orders", "type": "io.enroute.job.st%61tus",
            "time": "2026-11-21t18:00:00z",
        ]
        let binary = try CloudEvent.binary(
            Data(#"{"job":"j","status":"accepted"}"#.utf8), mediaType: "application/json; charset=utf-8"
        ) { headers[$0] }
        for event in [structured, try batch[0].get(), binary] {
            #expect(event.id == "e-1")
            #expect(event.source == "/orders")
            #expect(event.occurredAt == 1_795_284_000_000)
            #expect(try JobEvent(event) == .reached(JobID("j")!, .accepted))
        }
    }

    @Test(arguments: ["specversion", "id", "source", "type"])
    func `an event with a missing, empty or numeric required attribute is rejected`(name: String) throws {
        for value in [nil, #""""#, "7"] as [String?] {
            var members = ["specversion": #""1.0""#, "id": #""e""#, "source": #""s""#, "type": #""t""#]
            members[name] = value
            let text = "{" + members.map { #""\#($0)":\#($1)"# }.joined(separator: ",") + "}"
            let found = self.fault { _ = try CloudEvent.structured(Data(text.utf8)) }
            #expect(found?.kind == .malformed && found?.reason.contains(name) == true)
        }
    }

    @Test func `an event with duplicate members, a trailing comma or another encoding is rejected`() {
        let text = String(decoding: Self.text(), as: UTF8.self)
        for (body, reason) in [
            (Self.text(#","type":"io.enroute.job.cancelled""#), "duplicate"),
            (Self.text(","), "A structured CloudEvent is not valid JSON."),
            (text.data(using: .utf16)!, "UTF-8"), (Self.text(data: #"{"job":"j","job":"k"}"#), "duplicate"),
        ] {
            let found = self.fault { _ = try CloudEvent.structured(body) }
            #expect(found?.kind == .malformed && found?.reason.contains(reason) == true)
            let batch = self.fault { _ = try CloudEvent.batch(Data("[".utf8) + body + Data("]".utf8)) }
            #expect(batch?.kind == .malformed)
        }
        let binary = self.fault {
            let header = ["specversion": "1.0", "id": "e", "source": "s", "type": "io.enroute.job.cancelled"]
            let event = try CloudEvent.binary(Data(#"{"job":"j","job":"k"}"#.utf8), mediaType: nil) { header[$0] }
            _ = try JobEvent(event)
        }
        #expect(binary?.kind == .unusable && binary?.reason.contains("duplicate") == true)
    }

    @Test func `an invalid event does not affect the others of its batch`() throws {
        let events = try CloudEvent.batch(Data("[7,".utf8) + Self.text() + Data(#",{"id":"e"}]"#.utf8))
        #expect(events.map { (try? $0.get()) != nil } == [false, true, false])
    }

    @Test func `a batch contains at most a hundred events`() throws {
        let one = String(decoding: Self.text(), as: UTF8.self)
        func batch(_ count: Int) throws -> Int {
            try CloudEvent.batch(
                Data("[\(Array(repeating: one, count: count).joined(separator: ","))]".utf8)
            ).count
        }
        #expect(try batch(100) == 100)
        #expect(self.fault { _ = try batch(101) }?.kind == .malformed)
    }

    @Test func `base64 data is accepted, but not together with data`() throws {
        let encoded = Data(#"{"job":"j"}"#.utf8).base64EncodedString()
        func event(_ data: String) throws -> JobEvent {
            let text = #"{"specversion":"1.0","id":"e","source":"s","type":"io.enroute.job.cancelled",\#(data)}"#
            return try JobEvent(CloudEvent.structured(Data(text.utf8)))
        }
        #expect(try event(#""data_base64":"\#(encoded)""#) == .reached(JobID("j")!, .cancelled))
        // B11: not a CloudEvent at all, hence 400 and not 422.
        #expect(self.fault { _ = try event(#""data":{"job":"j"},"data_base64":"\#(encoded)""#) }?.kind == .malformed)
        #expect(self.fault { _ = try event(#""data_base64":"?""#) }?.kind == .unusable)
        #expect(self.fault { _ = try event(#""datacontenttype":"text/xml","data":"<job/>""#) }?.kind == .unusable)
    }

    @Test(
        arguments: [
            ("2026-11-21T18:00:00.1239Z", 1_795_284_000_123), ("2000-02-29T00:00:00-00:00", nil),
            ("2024-02-29T12:00:00Z", 1_709_208_000_000),
            ("2026-02-29T00:00:00Z", nil), ("2026-11-21 18:00:00Z", nil), ("2026-11-21T18:00:00", nil),
            ("2026-11-21T18:00:00.Z", nil), ("2026-13-21T18:00:00Z", nil), ("2016-12-31T23:59:60Z", 1_483_228_800_000),
            ("", nil),
        ] as [(String, Int64?)])
    func `times are parsed as RFC 3339`(text: String, milliseconds: Int64?) {
        #expect(Timestamp.milliseconds(text) == milliseconds)
    }

    @Test func `a time after 2286 counts as in the future, and a time before 2001 is refused with the limit`() throws {
        let event = try CloudEvent.structured(Self.text(#","time":"9999-12-31T23:59:59Z""#))
        let future = self.fault { try event.checkTime(now: 1_795_284_000_000) }
        #expect(future?.kind == .unusable && future?.reason.contains("in the future") == true)
        let early = self.fault { _ = try CloudEvent.structured(Self.text(#","time":"1970-01-01T00:00:00Z""#)) }
        #expect(early?.kind == .malformed && early?.reason.contains("2001-09-10 or later") == true)
    }

    @Test func `a member of the data is named with its path, alone and in a batch`() throws {
        let body = Self.text(type: "created", data: #"{"job":"j","destination":{"lat":41.9}}"#)
        let batch = try CloudEvent.batch(Data("[".utf8) + body + Data("]".utf8))
        for event in [try CloudEvent.structured(body), try batch[0].get()] {
            #expect(self.fault { _ = try JobEvent(event) }?.reason == "The data needs destination.lon.")
        }
    }

    @Test func `the request id identifies the event and is unique`() throws {
        func requestID(_ source: String, _ id: String) throws -> String {
            let text = #"{"specversion":"1.0","id":"\#(id)","source":"\#(source)","type":"t"}"#
            return try CloudEvent.structured(Data(text.utf8)).requestID
        }
        #expect(try requestID("/orders", "e-1") == "/orders|e-1")
        let ids = try [
            requestID("a|b", "c"), requestID("a", "b|c"), requestID("a b", "c"), requestID("a", "b c"),
            requestID("ä", "c"), requestID("a", String(repeating: "x", count: 127)),
        ]
        #expect(Set(ids).count == ids.count)
        for id in ids { #expect(id.utf8.count <= 128 && id.utf8.allSatisfy { (33...126).contains($0) }) }
    }
}
