import EnrouteWire
import Foundation
import Logging
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// One trace through REST, Redis and another gateway.
@Suite struct TraceContextTests {
    private static let traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let header = "traceparent: 00-\(traceID)-00f067aa0ba902b7-01"
    private static let path = "/api/v1/jobs/job-1/status"

    @Test func `the trace of a status change is in the logs of two gateways and in the follower's message`()
        async throws
    {
        let (first, second) = (RecordedLines(), RecordedLines())
        try await within {
            try await RunningGateway.run(isSecure: false, logger: first.logger) { one in
                let address = one.settings.live
                try await RunningGateway.run(isSecure: false, at: (address, address), logger: second.logger) { two in
                    let job = try await one.travellingJob()
                    let token = try await two.token("anna", .customer)
                    let socket = try await blocking { [port = two.port] in
                        let socket = try RawSocket.session(port: port, token: token)
                        try socket.send(RawSocket.frame(0x81, Array(#"{"type":"subscribe","job":"\#(job)"}"#.utf8)))
                        _ = try socket.readUntil(Array(#""type":"subscribed""#.utf8))
                        return Boxed(socket)
                    }
                    let changed = try await one.rest(
                        "POST", Self.path, by: "orders", .service, #"{"status":"work_in_progress"}"#,
                        headers: [Self.header])
                    #expect(changed.status == 200)
                    let message = try await blocking {
                        String(decoding: try socket.value.readUntil(Array(#""traceparent":"00-"#.utf8)), as: UTF8.self)
                            + String(decoding: try socket.value.readUntil(Array("}".utf8)), as: UTF8.self)
                    }
                    // The span is the first gateway's.
                    #expect(message.contains("00-\(Self.traceID)-") && !message.contains("00f067aa0ba902b7"))
                    #expect(message.contains(#","received":1"#))
                }
            }
        }
        for (lines, message) in [(first, "status changed"), (second, "status relayed")] {
            let line = try #require(lines.all.first { $0.message == message })
            #expect(line.level == .debug && line.metadata["trace"] == "\(Self.traceID)")
            #expect(line.metadata["job"] == "job-1" && line.metadata["status"] == "work_in_progress")
        }
        #expect(second.all.first { $0.message == "status relayed" }?.metadata["count"] == "1")
    }

    @Test func `without a trace, the message has none and relaying it is not logged`() async throws {
        let lines = RecordedLines()
        try await within {
            try await RunningGateway.run(isSecure: false, logger: lines.logger) { gateway in
                let job = try await gateway.travellingJob()
                let token = try await gateway.token("anna", .customer)
                let text = try await blocking { [port = gateway.port] in
                    let socket = try RawSocket.session(port: port, token: token)
                    try socket.send(RawSocket.frame(0x81, Array(#"{"type":"subscribe","job":"\#(job)"}"#.utf8)))
                    _ = try socket.readUntil(Array(#""type":"subscribed""#.utf8))
                    return Boxed(socket)
                }
                _ = try await gateway.rest(
                    "POST", Self.path, by: "orders", .service, #"{"status":"work_in_progress"}"#)
                let message = try await blocking {
                    _ = try text.value.readUntil(Array(#""type":"status""#.utf8))
                    return String(decoding: try text.value.readUntil(Array("}".utf8)), as: UTF8.self)
                }
                #expect(message.contains(#""received":"#) && !message.contains("traceparent"))
            }
        }
        #expect(!lines.all.contains { $0.message == "status relayed" })
    }

    @Test(arguments: [
        #"{"received":"x"}"#, #"{"received":12}"#, #"{"received":1e400}"#, #"{"traceparent":{}}"#, "[]", "",
    ])
    func `malformed members count as missing`(text: String) {
        let origin = Array(text.utf8).withUnsafeBytes { StatusOrigin($0) }
        #expect(origin.receivedAt == nil && origin.traceparent == nil)
    }
}
