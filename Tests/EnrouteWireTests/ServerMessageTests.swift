import EnrouteWire
import Testing

@Suite struct ServerMessageTests {
    private static let job = JobID("job-7")!
    private static let event = StatusEvent(
        epoch: "e1", previous: StatusID("1700000000000-0")!, id: StatusID("1700000000001-2")!, status: .inTransit,
        at: 1_700_000_000_001)
    private static let snapshot = Snapshot(
        kind: .delivery, status: .inTransit, statusAt: 1_700_000_000_001, epoch: "e1", id: event.id, tracking: .waiting)
    private static var limits: Limits {
        var limits = Limits()
        limits.messageBytes = 1000
        limits.subscriptions = 3
        limits.positionsPerSecond = 1
        return limits
    }

    /// One message of each type, with and without every optional member.
    private static let messages: [ServerMessage] =
        [
            .welcome(Welcome(session: "s-1", serverTime: 1_700_000_000_000, pingIntervalSeconds: 25, limits: limits)),
            .subscribed(job: job, snapshot), .reset(job: job, snapshot),
            .status(job: job, event),
            .status(
                job: job,
                StatusEvent(epoch: "e1", previous: nil, id: event.id, status: .pendingVendorAcceptance, at: 1)),
            .degraded, .restored,
            .ok(replyTo: "location", job: job, sequence: 7, deadline: 1_700_000_000_000),
            .ok(replyTo: "auth", job: nil, sequence: nil, deadline: nil),
            .pong(serverTime: 1_700_000_000_000), .goaway(retryInMilliseconds: 1500),
            .error(
                Refusal(
                    replyTo: "subscribe", job: job, code: .rateLimited, message: "Slow \"down\".",
                    retryInMilliseconds: 50)),
        ]
        + TrackingState.allCases.map { .tracking(job: job, $0, nil) }
        + EndReason.allCases.map { .tracking(job: job, .ended, $0) }
        + EndReason.allCases.map { .ended(job: job, $0) }
        + ErrorCode.allCases.map { .error(Refusal(replyTo: "travel", code: $0, message: "No.")) }
        + JobStatus.allCases.map {
            .status(job: job, StatusEvent(epoch: "e1", previous: nil, id: event.id, status: $0, at: 1))
        }

    @Test(arguments: messages)
    func `a message survives encoding and decoding`(message: ServerMessage) throws {
        #expect(try message.encoded.withUnsafeBytes { try ServerMessage($0) } == message)
    }

    @Test(arguments: messages)
    func `a message that is cut off, or followed by data, is refused`(message: ServerMessage) {
        let bytes = message.encoded
        for count in 0..<bytes.count {
            let part = Array(bytes.prefix(count))
            #expect(throws: BadMessage.self, "\(count) bytes") { try part.withUnsafeBytes { try ServerMessage($0) } }
        }
        for tail in ["x", "{}", ","] {
            let longer = bytes + Array(tail.utf8)
            #expect(throws: BadMessage.self, "\(tail)") { try longer.withUnsafeBytes { try ServerMessage($0) } }
        }
    }

    @Test func `an error contains whether it is retryable`() {
        for code in ErrorCode.allCases {
            let text = String(
                decoding: ServerMessage.error(Refusal(replyTo: "ping", code: code, message: "")).encoded, as: UTF8.self)
            #expect(text.contains(#""retry":\#(code.isRetryable)"#))
        }
    }

    @Test func `the script and the gateway encode a status with the same bytes`() throws {
        let script =
            #"{"type":"status","job":"job-7","epoch":"e1","prev":"1700000000000-0","id":"1700000000001-2","#
            + #""status":"in_transit","at":1700000000001}"#
        #expect(String(decoding: ServerMessage.status(job: Self.job, Self.event).encoded, as: UTF8.self) == script)
        #expect(try serverMessage(script) == .status(job: Self.job, Self.event))
    }

    @Test(
        arguments: [
            "{}", #"{"type":"fly"}"#, #"{"type":"pong"}"#, #"{"type":"pong","serverTime":"1"}"#, #"{"type":"goaway"}"#,
            #"{"type":"ended","job":"a"}"#, #"{"type":"ended","job":"a","reason":"bored"}"#,
            #"{"type":"ended","job":"a b","reason":"arrived"}"#, #"{"type":"tracking","job":"a","state":"x"}"#,
            #"{"type":"error","replyTo":"a","code":"teapot"}"#, #"{"type":"error","code":"internal"}"#,
            #"{"type":"status","job":"a","epoch":"e","prev":"","id":"1-0","status":"flying","at":1}"#,
            #"{"type":"status","job":"a","epoch":"e","prev":"","id":"1","status":"accepted","at":1}"#,
            #"{"type":"subscribed","job":"a"}"#, #"{"type":"subscribed","job":"a","snapshot":{}}"#,
            #"{"type":"location","job":"a"}"#, #"{"type":"welcome","serverTime":1,"pingIntervalSeconds":25}"#,
        ])
    func `a message with a missing member is refused`(json: String) {
        #expect(throws: BadMessage.self) { try serverMessage(json) }
    }

    @Test func `unknown members are ignored`() throws {
        #expect(try serverMessage(#"{"type":"pong","new":{"a":[1]},"serverTime":5}"#) == .pong(serverTime: 5))
    }
}
