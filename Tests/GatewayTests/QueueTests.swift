import Events
import Foundation
import TestSupport
import Testing

@testable import Gateway

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A queue of moto's server, over real HTTP.
private struct Moto: Sendable {
    static let program = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        .map { "\($0)/moto_server" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    let port: Int

    static func running(_ body: @escaping @Sendable (Moto) async throws -> Void) async throws {
        let process = Process()
        let port = Int.random(in: 20_000...29_999)
        process.executableURL = URL(filePath: self.program ?? "")
        process.arguments = ["-H", "127.0.0.1", "-p", String(port)]
        (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        try process.run()
        defer { kill(process.processIdentifier, SIGKILL) }
        let moto = Moto(port: port)
        // Until it answers: the bound is the test's.
        while (try? await moto.ask("ListQueues", "{}")) == nil { try Task.checkCancellation() }
        try await body(moto)
    }

    @discardableResult func ask(_ action: String, _ body: String) async throws -> String {
        var request = URLRequest(url: URL(string: "http://127.0.0.1:\(self.port)/")!)
        request.httpMethod = "POST"
        request.httpBody = Data(body.utf8)
        request.setValue("application/x-amz-json-1.0", forHTTPHeaderField: "Content-Type")
        request.setValue("AmazonSQS.\(action)", forHTTPHeaderField: "x-amz-target")
        request.setValue(
            "AWS4-HMAC-SHA256 Credential=test/20261121/eu-central-1/sqs/aws4_request, SignedHeaders=host, Signature=0",
            forHTTPHeaderField: "Authorization")
        return String(decoding: try await URLSession.shared.data(for: request).0, as: UTF8.self)
    }

    func makeQueue(_ name: String, _ attributes: String = "{}") async throws -> String {
        try await self.ask("CreateQueue", #"{"QueueName":"\#(name)","Attributes":\#(attributes)}"#)
        return "http://127.0.0.1:\(self.port)/123456789012/\(name)"
    }

    func send(_ bodies: [String], to queue: String) async throws {
        for body in bodies {
            let text = String(decoding: try JSONEncoder().encode(body), as: UTF8.self)
            try await self.ask("SendMessage", #"{"QueueUrl":"\#(queue)","MessageBody":\#(text)}"#)
        }
    }

    /// Messages that are in the queue, seen or not.
    func count(_ queue: String) async throws -> Int {
        let answer = try await self.ask(
            "GetQueueAttributes", #"{"QueueUrl":"\#(queue)","AttributeNames":["All"]}"#)
        return answer.matches(of: /"ApproximateNumberOfMessages(?:NotVisible)?": ?"([0-9]+)"/).reduce(0) {
            $0 + (Int($1.1) ?? 0)
        }
    }
}

@Suite struct QueueTests {
    @Test(.enabled(if: Moto.program != nil, "moto_server is not there: pip install 'moto[server]'"))
    func `a queue's events end where the lifecycle does, in any order and twice; a poison message is put aside`()
        async throws
    {
        try await within(.seconds(120)) {
            try await Moto.running { moto in
                let aside = try await moto.makeQueue("aside")
                let policy =
                    #"{\"deadLetterTargetArn\":\"arn:aws:sqs:eu-central-1:123456789012:aside\",\"maxReceiveCount\":\"3\"}"#
                let url = try await moto.makeQueue(
                    "orders", #"{"VisibilityTimeout":"1","RedrivePolicy":"\#(policy)"}"#)
                let events = [
                    EventRoutesTests.created, EventRoutesTests.status("e-1", "accepted", second: 1),
                    EventRoutesTests.status("e-2", "preparing", second: 2),
                ]
                try await moto.send(["poison", events[0], events[0], events[1], events[2], events[1]], to: url)
                let queue = try EventQueue(
                    url: url, region: "eu-central-1", credentials: .init(keyID: "test", secret: "test"))
                try await RunningGateway.run(isSecure: false) {
                    $0.queue = queue
                } _: { gateway in
                    while try await moto.count(url) > 0 { try Task.checkCancellation() }
                    #expect(try await moto.count(aside) == 1)
                    let record = try await gateway.ledger.recover(.init("j1")!).get()?.record
                    #expect(record?.status == .preparing)
                    let metrics = try await gateway.manage("/metrics").text
                    #expect(metrics.contains(#"enroute_events_taken_total{outcome="applied"} 3"#))
                }
            }
        }
    }
}
