import Events
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

/// The log messages about messages of a queue.
@Suite struct QueueLogTests {
    private final class Receipts: Sendable { let count = Mutex(0) }

    /// Responds to the first request for messages with these, and to no further one.
    static func delivering(_ bodies: [String]) throws -> ProviderServer.Behaviour {
        let messages = bodies.enumerated().map {
            ["MessageId": "m-\($0.offset)", "ReceiptHandle": "r-\($0.offset)", "Body": $0.element]
        }
        let answer = String(decoding: try JSONEncoder().encode(["Messages": messages]), as: UTF8.self)
        let receipts = Receipts()
        return { question in
            guard question.headers["x-amz-target"] == ["AmazonSQS.ReceiveMessage"] else { return .json("{}") }
            let isFirst = receipts.count.withLock { count in
                count += 1
                return count == 1
            }
            return isFirst ? .json(answer) : .silence
        }
    }

    @Test func `a rejected message is logged with its id, and with the id and source of its event`() async throws {
        let lines = RecordedLines()
        let impossible = #"{"job":"j1","status":"flying","customer":"anna"}"#
        let long = String(repeating: "e", count: QueueConsumer.maxLoggedCharacters + 1)
        let behaviour = try Self.delivering([
            "poison of anna", EventRoutesTests.event("e-7", "status", impossible),
            EventRoutesTests.event(long, "status", impossible),
        ])
        try await within {
            try await ProviderServer.running(behaviour) { server in
                let queue = try EventQueue(
                    url: "\(server.url)/123456789012/orders", region: "eu-central-1",
                    credentials: .init(keyID: "test", secret: "test"))
                try await RunningGateway.run(isSecure: false, logger: lines.logger) {
                    $0.queue = queue
                } _: { _ in
                    try await becomes("all are rejected") { Self.rejected(lines).count == 3 }
                }
            }
        }
        let rejected = Self.rejected(lines)
        #expect(rejected.map { $0.metadata["message"] } == ["m-0", "m-1", "m-2"])
        #expect(rejected.map { $0.metadata["event"] } == [nil, "e-7", "\(long.dropLast())"])
        #expect(rejected.map { $0.metadata["event_source"] } == [nil, "/orders", "/orders"])
        for line in rejected {
            #expect(line.metadata["reason"] != nil)
            #expect(!line.metadata.values.contains { "\($0)".contains("anna") })
        }
    }

    private static func rejected(_ lines: RecordedLines) -> [RecordedLines.Line] {
        lines.all.filter { $0.message == "queue message rejected" }
    }
}
