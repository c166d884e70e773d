// An SQS queue over its JSON protocol: receive with long polling, delete, and return a message for later. The caller
// decides which to use; this file sends the three requests.

internal import FoundationEssentials
package import OutboundHTTP

/// One queue. Call `shutdown` when done.
package struct EventQueue: Sendable {
    /// The settings of a queue.
    package enum Setting: Sendable { case url, region, authorities }

    package typealias InvalidSetting = InvalidServiceSetting<Setting>

    /// A request that failed. Expected; retry later.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// A message that is reserved for this consumer until its visibility timeout ends.
    package struct Message: Decodable, Sendable {
        package let id: String
        package let body: String
        let receipt: String

        private enum CodingKeys: String, CodingKey {
            case id = "MessageId"
            case body = "Body"
            case receipt = "ReceiptHandle"
        }

        /// The event it contains, either directly or in the envelope of a topic that the queue is subscribed to. The queue's
        /// policy decides who may write to it, so the signature of the envelope is not verified.
        package func event() throws(EventFault) -> CloudEvent {
            guard let envelope = try? SNSEnvelope(body: self.body.utf8) else {
                return try CloudEvent.structured(self.body.utf8)
            }
            return try envelope.event()
        }
    }

    /// How long one receive request waits for messages.
    package static let longPoll = Duration.seconds(20)
    /// Maximum number of messages in one response, the limit of SQS.
    package static let maxMessages = 10
    /// Time limit from sending a request to the last byte of its response, in addition to the long poll.
    static let longestWait = Duration.seconds(10)
    /// Maximum size of a response in bytes: ten messages of 256 KiB, in JSON.
    static let longestAnswer = 8 * 1024 * 1024

    private let url: String
    private let host: String
    private let endpoint: String
    private let signature: SigV4Signature
    private let connections: OutboundConnections

    /// - Parameters:
    ///   - url: the URL of the queue; `https`, or `http` for this machine only.
    ///   - region: `nil` to derive it from the host in the URL.
    /// - Throws: `InvalidSetting`.
    package init(url: String, region: String?, credentials: AWSCredentials) throws(InvalidSetting) {
        guard let parts = URLComponents(string: url), let host = parts.host, let scheme = parts.scheme,
            parts.user == nil,
            parts.path.split(separator: "/").count == 2, (1...65_535).contains(parts.port ?? 443),
            scheme == "https" || scheme == "http" && LoopbackHost.contains(host)
        else {
            throw InvalidSetting(
                .url,
                "must look like https://sqs.eu-central-1.amazonaws.com/123456789012/orders. http:// is accepted only for "
                    + "localhost.")
        }
        guard let region = region ?? host.firstMatch(of: /^sqs\.([a-z0-9-]+)\.amazonaws\./).map({ String($0.1) }) else {
            throw InvalidSetting(.region, "is required, because the URL of the queue does not contain its region.")
        }
        guard region.wholeMatch(of: /[a-z0-9-]+/) != nil else {
            throw InvalidSetting(
                .region, "is \(region), which is not a region. It must look like eu-central-1.")
        }
        self.url = url
        self.host = parts.port.map { "\(host):\($0)" } ?? host
        self.endpoint = "\(scheme)://\(self.host)/"
        self.signature = SigV4Signature(credentials: credentials, region: region)
        do {
            self.connections = OutboundConnections(
                try OutboundHTTP(longestWait: Self.longestWait, longestAnswer: Self.longestAnswer))
        } catch {
            // Cannot happen here: no file is given, so the system's CAs are used.
            throw InvalidSetting(.authorities, "contains no PEM certificate: \(error.path).")
        }
    }

    package func shutdown() async { await self.connections.shutdown() }

    /// Returns up to ten messages, or none if none arrive during the long poll.
    ///
    /// - Throws: `Failure`, or `CancellationError`.
    package func receive() async throws -> [Message] {
        struct Question: Encodable {
            var QueueUrl: String
            var MaxNumberOfMessages = EventQueue.maxMessages
            var WaitTimeSeconds = EventQueue.longPoll.components.seconds
        }
        struct Answer: Decodable {
            var Messages: [Message]?
        }
        let answer = try await self.request(
            "ReceiveMessage", Question(QueueUrl: self.url), Self.longPoll + Self.longestWait)
        do {
            return try JSONDecoder().decode(Answer.self, from: Data(answer)).Messages ?? []
        } catch {
            throw Failure(description: "The response is not from SQS. Check the URL of the queue.")
        }
    }

    private struct Receipt: Encodable {
        var QueueUrl: String
        var ReceiptHandle: String
        var VisibilityTimeout: Int?
    }

    /// Deletes a message that has been processed.
    package func delete(_ message: Message) async throws {
        _ = try await self.request(
            "DeleteMessage", Receipt(QueueUrl: self.url, ReceiptHandle: message.receipt), Self.longestWait)
    }

    /// Returns a message to the queue for this many seconds. The queue's redrive policy limits how often.
    package func returnMessage(_ message: Message, seconds: Int) async throws {
        _ = try await self.request(
            "ChangeMessageVisibility",
            Receipt(QueueUrl: self.url, ReceiptHandle: message.receipt, VisibilityTimeout: seconds), Self.longestWait)
    }

    private func request(_ action: String, _ question: some Encodable, _ wait: Duration) async throws -> [UInt8] {
        let body = Array(try JSONEncoder().encode(question))
        let headers = self.signature.signed(
            path: "/",
            headers: [
                "host": self.host, "content-type": "application/x-amz-json-1.0", "x-amz-target": "AmazonSQS.\(action)",
            ], body: body, at: Int64(Date.now.timeIntervalSince1970))
        let answer: OutboundResponse
        do {
            answer = try await self.connections.send(
                OutboundRequest(method: .post, url: self.endpoint, headers: headers, body: body), within: wait)
        } catch .cancelled {
            throw CancellationError()
        } catch {
            throw Failure(description: "The queue cannot be reached: \(error).")
        }
        guard answer.status == 200 else {
            let reason = String(decoding: answer.body.prefix(512), as: UTF8.self)
            throw Failure(description: "The queue responded to \(action) with status \(answer.status): \(reason)")
        }
        return answer.body
    }
}
