import Access
import EnrouteWire
import Foundation
import LiveState
import NIOCore
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// Which message an answer belongs to, and how many messages a client may send.
@Suite struct MessageRefTests {
    private static func frame(_ json: String) -> [UInt8] { RawSocket.frame(0x81, Array(json.utf8)) }

    /// Reads the answers until the given number of `ok`, `error` and `subscribed` messages has arrived.
    private static func answers(
        _ gateway: RunningGateway, _ person: String, _ role: Role, _ messages: [String], count: Int
    ) async throws -> [[String: String]] {
        let (port, token) = (gateway.port, try await gateway.token(person, role))
        return try await blocking {
            let socket = try RawSocket.session(port: port, token: token)
            try socket.send(messages.flatMap(self.frame))
            var received: [UInt8] = []
            var answers: [[String: String]] = []
            while answers.count < count, answers.last?["type"] != "close" {
                let more = try socket.read()
                if more.isEmpty { break }
                received += more
                answers = self.objects(in: received).filter {
                    ["ok", "error", "subscribed", "close"].contains($0["type"])
                }
            }
            return answers
        }
    }

    /// The text messages in a server's frames, with their members as strings, and the close frame.
    private static func objects(in bytes: [UInt8]) -> [[String: String]] {
        var (objects, place) = ([[String: String]](), 0)
        while place + 2 <= bytes.count {
            let short = Int(bytes[place + 1])
            let header = short == 126 ? 4 : 2
            guard place + header <= bytes.count else { break }
            let length = short == 126 ? Int(bytes[place + 2]) << 8 + Int(bytes[place + 3]) : short
            guard place + header + length <= bytes.count else { break }
            let payload = Data(bytes[place + header..<place + header + length])
            if bytes[place] == 0x88 { objects.append(["type": "close"]) }
            if let object = try? JSONSerialization.jsonObject(with: payload) as? [String: Any] {
                objects.append(object.mapValues { "\($0)" })
            }
            place += header + length
        }
        return objects
    }

    @Test func `B4: the error for a malformed message contains the parts that could be read`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let answers = try await Self.answers(
                    gateway, "anna", .ops,
                    [
                        #"{"type":"subscribe","ref":"s 1","job":"job-1","since":{"epoch":"e"}}"#,
                        #"{"type":"watch","zone":"rome","since":"x","ref":"w"}"#,
                        #"{"ref":"cut off","type":"travel","job":"job-2","#,
                        #"{"type":"unknown type","ref":"n"}"#,
                        #"{"type":"ping","ref":"\#(String(repeating: "x", count: 65))"}"#,
                    ], count: 5)
                #expect(answers.map { $0["replyTo"] } == ["subscribe", "watch", "travel", "", "ping"])
                #expect(answers.map { $0["ref"] } == ["s 1", "w", "cut off", "n", nil])
                #expect(answers.map { $0["job"] } == ["job-1", nil, "job-2", nil, nil])
                #expect(answers.map { $0["zone"] } == [nil, "rome", nil, nil, nil])
                #expect(answers.allSatisfy { $0["code"] == "bad_request" })
            }
        }
    }

    @Test func `B4: the error for a rate-limited message identifies the message`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) {
                ($0.limits.messagesPerSecond, $0.limits.messagesBurst) = (0, 1)
            } _: { gateway in
                let answers = try await Self.answers(
                    gateway, "anna", .ops,
                    [
                        #"{"type":"unsubscribe","job":"job-1","ref":"1"}"#,
                        #"{"type":"subscribe","job":"job-2","ref":"2"}"#,
                    ], count: 2)
                #expect(answers.map { $0["ref"] } == ["1", "2"] && answers[0]["type"] == "ok")
                #expect(
                    answers[1]["code"] == "rate_limited" && answers[1]["replyTo"] == "subscribe"
                        && answers[1]["job"] == "job-2")
            }
        }
    }

    @Test func `B4: every ok and error repeats the message's ref`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                try await gateway.registerRider()
                let now = Int64(Date.now.timeIntervalSince1970 * 1000)
                let fix = #"{"at":\#(now),"lat":41.9,"lon":12.5,"acc":5}"#
                let messages = [
                    #"{"type":"travel","job":"\#(job)","active":true,"ref":"travel"}"#,
                    #"{"type":"location","job":"\#(job)","seq":1,"fixes":[\#(fix)],"ref":"location"}"#,
                    #"{"type":"unavailable","job":"\#(job)","reason":"no_fix","ref":"unavailable"}"#,
                    #"{"type":"availability","status":"online","ref":"availability"}"#,
                    #"{"type":"presence","ref":"presence"}"#,
                    #"{"type":"unsubscribe","job":"\#(job)","ref":"unsubscribe"}"#,
                    #"{"type":"unwatch","zone":"rome","ref":"unwatch"}"#,
                    #"{"type":"watch","zone":"rome","ref":"watch"}"#,
                    #"{"type":"auth","token":"x","ref":"auth"}"#,
                    #"{"type":"refresh","token":"x","ref":"refresh"}"#,
                    #"{"type":"subscribe","job":"none","ref":"subscribe"}"#,
                ]
                let answers = try await Self.answers(gateway, "rider-1", .rider, messages, count: messages.count)
                #expect(
                    answers.count == messages.count && answers.allSatisfy { $0["ref"] == $0["replyTo"] }, "\(answers)")
                #expect(Set(answers.compactMap { $0["replyTo"] }).count == messages.count)
                // Whether travel mode is on when the location arrives does not matter here.
                let done = Set(answers.filter { $0["type"] == "ok" }.compactMap { $0["replyTo"] })
                #expect(
                    done.isSuperset(of: ["travel", "unavailable", "availability", "presence", "unsubscribe", "unwatch"])
                )
            }
        }
    }

    @Test func `B5: subscriptions within the rate limit are answered before the session closes`()
        async throws
    {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.limits.closeSeconds = 30 }) { gateway in
                // The answers are sent after all 205 messages have arrived, because the ledger is paused for a moment.
                _ = try await gateway.client.send(["CLIENT", "PAUSE", "300", "ALL"]).get()
                let subscribe = (0..<205).map { #"{"type":"subscribe","job":"job-\#($0)","ref":"\#($0)"}"# }
                let answers = try await Self.answers(gateway, "orders", .service, subscribe, count: 205)
                let answered = answers.filter { $0["code"] == "not_found" }
                let dropped = answers.filter { $0["code"] == "rate_limited" }
                let burst = gateway.settings.limits.messagesBurst
                #expect(answered.count >= burst && dropped.count == 2 * burst)
                #expect((answered + dropped).allSatisfy { $0["job"] == $0["ref"].map { "job-\($0)" } })
                #expect(answers.last?["type"] == "close")
            }
        }
    }

    @Test func `B5: one message subscribes to many jobs, and each gets an answer`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let jobs = [try await gateway.travellingJob("job-1"), try await gateway.travellingJob("job-2")]
                let answers = try await Self.answers(
                    gateway, "orders", .service,
                    [#"{"type":"subscribe","jobs":["job-1",{"job":"job-2"},"none"],"ref":"all"}"#], count: 3)
                #expect(Set(answers.filter { $0["type"] == "subscribed" }.map { $0["job"] }) == Set(jobs.map(\.text)))
                let refused = answers.filter { $0["type"] == "error" }
                #expect(refused.map { $0["job"] } == ["none"] && refused.first?["ref"] == "all")
            }
        }
    }

    @Test func `B5: welcome contains the limits that apply to this client`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false, { $0.limits.messagesBurst = 77 }) { gateway in
                for (role, most) in [(Role.service, 200), (.ops, 200), (.customer, 10), (.rider, 10)] {
                    try await gateway.connect("anna", role) { _, messages in
                        let limits = try await messages.welcome().limits
                        #expect(limits.subscriptions == most && limits.messagesBurst == 77)
                        #expect(limits.messagesPerSecond == 20 && limits.watchedZones == 20)
                    }
                }
            }
        }
    }
}
