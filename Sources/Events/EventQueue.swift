// An SQS queue over its JSON protocol: receive with a long poll, delete, and give back for later. What became of a message is
// the caller's to decide; here are the three questions.

internal import FoundationEssentials
internal import OutboundHTTP

/// One queue. Ends with `shutdown`.
package struct EventQueue: Sendable {
    /// Why a setting can not be used; says how it should be.
    package struct Unusable: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) { self.description = description }
    }

    /// A question that was not answered as it should. Expected; to be asked again later.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// A message that is ours until its visibility ends.
    package struct Message: Decodable, Sendable {
        package let id: String
        package let body: String
        let receipt: String

        private enum CodingKeys: String, CodingKey {
            case id = "MessageId"
            case body = "Body"
            case receipt = "ReceiptHandle"
        }

        /// The event it holds, straight or in the envelope of a topic that the queue has subscribed to. Who may write into
        /// the queue is the queue's own policy to say, so the envelope's signature is not looked at.
        package func event() throws(EventFault) -> CloudEvent {
            guard let envelope = try? TopicMessage(body: self.body.utf8) else {
                return try CloudEvent.structured(self.body.utf8)
            }
            return try envelope.event()
        }
    }

    /// How long one question for messages waits for some.
    package static let longPoll = Duration.seconds(20)
    /// Messages of one answer, at most: as many as SQS gives.
    package static let mostMessages = 10
    /// From a question to the last byte of its answer, beyond the long poll.
    static let longestWait = Duration.seconds(10)
    /// Bytes of an answer: ten messages of 256 KiB, in JSON.
    static let longestAnswer = 8 * 1024 * 1024

    private let url: String
    private let host: String
    private let endpoint: String
    private let signature: QueueSignature
    private let connections: OutboundConnections

    /// - Parameters:
    ///   - url: of the queue, `https`; `http` to this machine alone.
    ///   - region: `nil` for the one in the URL's host.
    /// - Throws: `Unusable`.
    package init(url: String, region: String?, credentials: QueueCredentials) throws(Unusable) {
        guard let parts = URLComponents(string: url), let host = parts.host, let scheme = parts.scheme,
            parts.user == nil,
            parts.path.split(separator: "/").count == 2, (1...65_535).contains(parts.port ?? 443),
            scheme == "https" || scheme == "http" && LoopbackHost.contains(host)
        else {
            throw Unusable(
                description: "ENROUTE_SQS_QUEUE_URL must be like "
                    + "https://sqs.eu-central-1.amazonaws.com/123456789012/orders; http:// is for localhost alone.")
        }
        guard let region = region ?? host.firstMatch(of: /^sqs\.([a-z0-9-]+)\.amazonaws\./).map({ String($0.1) }) else {
            throw Unusable(description: "The region of the queue is not in its URL: set AWS_REGION.")
        }
        guard region.wholeMatch(of: /[a-z0-9-]+/) != nil else {
            throw Unusable(
                description: "AWS_REGION is \(region), and requests are signed with it: it must be like eu-central-1.")
        }
        self.url = url
        self.host = parts.port.map { "\(host):\($0)" } ?? host
        self.endpoint = "\(scheme)://\(self.host)/"
        self.signature = QueueSignature(credentials: credentials, region: region)
        do {
            self.connections = OutboundConnections(
                try OutboundHTTP(longestWait: Self.longestWait, longestAnswer: Self.longestAnswer))
        } catch {
            // The system's authorities are no file of ours.
            throw Unusable(description: "\(error.path) holds no certificate in PEM.")
        }
    }

    package func shutdown() async { await self.connections.shutdown() }

    /// Up to ten messages, or none within the long poll.
    ///
    /// - Throws: `Failure`, or `CancellationError`.
    package func receive() async throws -> [Message] {
        struct Question: Encodable {
            var QueueUrl: String
            var MaxNumberOfMessages = EventQueue.mostMessages
            var WaitTimeSeconds = EventQueue.longPoll.components.seconds
        }
        struct Answer: Decodable {
            var Messages: [Message]?
        }
        let answer = try await self.ask(
            "ReceiveMessage", Question(QueueUrl: self.url), Self.longPoll + Self.longestWait)
        do {
            return try JSONDecoder().decode(Answer.self, from: Data(answer)).Messages ?? []
        } catch {
            throw Failure(description: "The queue's answer is none of SQS. See whether ENROUTE_SQS_QUEUE_URL is right.")
        }
    }

    private struct Receipt: Encodable {
        var QueueUrl: String
        var ReceiptHandle: String
        var VisibilityTimeout: Int?
    }

    /// It is done with.
    package func delete(_ message: Message) async throws {
        _ = try await self.ask(
            "DeleteMessage", Receipt(QueueUrl: self.url, ReceiptHandle: message.receipt), Self.longestWait)
    }

    /// It is to come again after so many seconds; how often it may is the queue's redrive policy to say.
    package func giveBack(_ message: Message, seconds: Int) async throws {
        _ = try await self.ask(
            "ChangeMessageVisibility",
            Receipt(QueueUrl: self.url, ReceiptHandle: message.receipt, VisibilityTimeout: seconds), Self.longestWait)
    }

    private func ask(_ action: String, _ question: some Encodable, _ wait: Duration) async throws -> [UInt8] {
        let body = Array(try JSONEncoder().encode(question))
        let headers = self.signature.signed(
            path: "/",
            headers: [
                "host": self.host, "content-type": "application/x-amz-json-1.0", "x-amz-target": "AmazonSQS.\(action)",
            ], body: body, at: Int64(Date.now.timeIntervalSince1970))
        let answer: OutboundAnswer
        do {
            answer = try await self.connections.answer(
                to: OutboundQuestion(method: .post, url: self.endpoint, headers: headers, body: body), within: wait)
        } catch .cancelled {
            throw CancellationError()
        } catch {
            throw Failure(description: "The queue can not be reached: \(error).")
        }
        guard answer.status == 200 else {
            let reason = String(decoding: answer.body.prefix(512), as: UTF8.self)
            throw Failure(description: "The queue answers \(action) with status \(answer.status): \(reason)")
        }
        return answer.body
    }
}
