import Events
import Foundation
import Subprocess
import SystemPackage
import TestSupport
import Testing

@testable import Gateway
@testable import Realtime

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// An SQS queue of moto's server, over real HTTP.
struct Moto: Sendable {
    static let program = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        .map { "\($0)/moto_server" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    let port: Int

    static func running(_ body: @escaping @Sendable (Moto) async throws -> Void) async throws {
        _ = try await Subprocess.run(
            .path(FilePath(self.program ?? "")), arguments: ["-H", "127.0.0.1", "-p", "0"], input: .none,
            output: .sequence, error: .combinedWithOutput
        ) { execution in
            defer { try? execution.send(signal: .kill) }
            for try await line in execution.standardOutput.strings() {
                let port = line.firstMatch(of: /Running on http:\/\/127\.0\.0\.1:(\d+)/).flatMap { Int($0.1) }
                if let port { return try await body(Moto(port: port)) }
            }
            throw Missing()
        }
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

    /// The number of messages in the queue, visible or not.
    func count(_ queue: String) async throws -> Int {
        let answer = try await self.ask(
            "GetQueueAttributes", #"{"QueueUrl":"\#(queue)","AttributeNames":["All"]}"#)
        return answer.matches(of: /"ApproximateNumberOfMessages(?:NotVisible)?": ?"([0-9]+)"/).reduce(0) {
            $0 + (Int($1.1) ?? 0)
        }
    }
}

@Suite(.needsMachine(for: .faults)) struct QueueTests {
    static let isThere: ConditionTrait = .enabled(
        if: Moto.program != nil, "moto_server is not there: pip install 'moto[server]'")

    static func serve(
        _ url: String, _ body: @escaping @Sendable (EventRoutesTests.Sender) async throws -> Void
    ) async throws {
        let queue = try EventQueue(url: url, region: "eu-central-1", credentials: .init(keyID: "test", secret: "test"))
        try await RunningGateway.run(isSecure: false) {
            $0.queue = queue
        } _: { gateway in
            try await body(.init(gateway: gateway, token: try await gateway.token("orders", .service)))
        }
    }

    @Test(isThere) func `repeated events of a queue are applied once and deleted`() async throws {
        try await within(.seconds(240)) {
            try await Moto.running { moto in
                let url = try await moto.makeQueue("orders", #"{"VisibilityTimeout":"120"}"#)
                try await Self.serve(url) { sender in
                    _ = try await sender.send(EventRoutesTests.created)
                    try await sender.gateway.connect("anna", .customer) { connection, messages in
                        try await connection.send(.subscribe(job: .init("j1")!, since: nil))
                        _ = try await messages.subscribed()
                        let accepted = EventRoutesTests.status("e-1", "accepted", second: 1)
                        let preparing = EventRoutesTests.status("e-2", "preparing", second: 2)
                        try await moto.send([accepted, accepted, preparing], to: url)
                        for expected in ["accepted", "preparing"] {
                            let status = try await messages.first {
                                if case .status(_, let event) = $0 { event.status.rawValue } else { nil }
                            }
                            #expect(status == expected)
                        }
                    }
                    try await becomes("the queue is empty") { try await moto.count(url) == 0 }
                }
            }
        }
    }

    @Test(isThere) func `a poison message stays in the queue until it moves to the dead-letter queue`() async throws {
        try await within(.seconds(240)) {
            try await Moto.running { moto in
                let aside = try await moto.makeQueue("aside")
                let arn = "arn:aws:sqs:eu-central-1:123456789012:aside"
                let policy = #"{\"deadLetterTargetArn\":\"\#(arn)\",\"maxReceiveCount\":\"2\"}"#
                let url = try await moto.makeQueue("orders", #"{"VisibilityTimeout":"1","RedrivePolicy":"\#(policy)"}"#)
                try await moto.send(["poison"], to: url)
                try await Self.serve(url) { _ in
                    // Each request long-polls the queue.
                    let question = #"{"QueueUrl":"\#(aside)","WaitTimeSeconds":20}"#
                    while try await !moto.ask("ReceiveMessage", question).contains("poison") {
                        try Task.checkCancellation()
                    }
                }
            }
        }
    }
}
