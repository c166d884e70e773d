// Receives events from Amazon SNS. Its messages have no token; a valid signature of an accepted topic authenticates
// them, and the topic acts as a service. SNS retries after 429 and 5xx and drops a message after any other 4xx, so the
// response to an event that cannot be applied yet is 503 instead of 409.

internal import Access
internal import EnrouteWire
internal import Events
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import Realtime
internal import Telemetry

extension Routes {
    static let topicMessageType = HTTPField.Name("x-amz-sns-message-type")!

    /// Handles an SNS message. Its content type is ignored, because SNS sends JSON as `text/plain`.
    func receiveSNSMessage(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        // A signature cannot be guessed, and SNS's addresses also send other customers' messages, which may be invalid
        // here. SNSVerifier limits the fetches of certificates.
        let attempt = try self.attempt(request, context)
        guard let topics = self.shared.topics else {
            throw Problem(
                .forbidden, status: 403,
                detail: "This gateway accepts no SNS topics. Ask the operator to allow the topic.")
        }
        let body = try await Self.bodyBytes(of: request)
        let message: SNSEnvelope
        do throws(EventFault) { message = try SNSEnvelope(body: body.readableBytesView) } catch {
            throw self.problem(error)
        }
        do {
            try await topics.check(message)
            if message.kind == .subscriptionConfirmation { try await topics.confirm(message) }
        } catch {
            throw self.problem(error as? SNSVerifier.Refusal ?? .unreachable("\(error)"), attempt)
        }
        let topic: Logger.Metadata = [LogKey.topic: "\(message.topic)"]
        switch message.kind {
        case .subscriptionConfirmation: context.logger.notice("subscription to SNS topic confirmed", metadata: topic)
        case .unsubscribeConfirmation: context.logger.notice("subscription to SNS topic ended", metadata: topic)
        case .notification: return try await self.process(message)
        }
        return try Self.json(["outcome": "applied"])
    }

    private func process(_ message: SNSEnvelope) async throws -> Response {
        let event: CloudEvent
        do throws(EventFault) { event = try message.event() } catch { throw self.problem(error) }
        do {
            let result = try await self.process(event, Grant(person: message.sender, role: .service))
            return try Self.json(result, isReplicationUnconfirmed: result.isReplicationUnconfirmed)
        } catch var problem as Problem where problem.isRetryable {
            problem.statusCode = 503
            throw problem
        }
    }

    private func problem(_ refusal: SNSVerifier.Refusal, _ attempt: CredentialAttempt) -> Problem {
        if case .unreachable(let reason) = refusal {
            self.eventCounts.add(.eventsFailed)
            var problem = Problem(
                .unavailable, status: 503, detail: "SNS could not be reached: \(reason). Try again later.")
            problem.retryIn = .random(in: 1000...5000)
            return problem
        }
        if case .tooOld(let sentAt, let seconds) = refusal {
            self.eventCounts.add(.eventsUnprocessable)
            return Problem(
                .forbidden, status: 403,
                detail: "The message is too old: it was sent at \(sentAt), and messages are accepted for \(seconds) s. "
                    + "Publish it again.")
        }
        if refusal == .unreadableTime {
            self.eventCounts.add(.eventsUnprocessable)
            return Problem(
                .forbidden, status: 403,
                detail: "The message has no readable time, so its age is unknown: Timestamp must be RFC 3339, from "
                    + "2001-09-10 to 2286.")
        }
        if let problem = self.problem(ofFailed: attempt) { return problem }
        self.eventCounts.add(.eventsForged)
        let detail =
            switch refusal {
            case .unknownTopic: "This gateway does not accept this SNS topic. Ask the operator to allow it."
            case .unknownAddress: "The certificate URL or the subscription URL does not belong to SNS."
            case .badCertificate(let reason): reason
            case .badSignature, .unreachable, .tooOld, .unreadableTime:
                "The signature is invalid. Signature versions 1 and 2 are supported."
            }
        return Problem(.forbidden, status: 403, detail: detail)
    }
}

extension SNSEnvelope {
    /// The name of the topic as an actor: its first 64 characters, with dots replaced by hyphens.
    fileprivate var sender: PersonID {
        let name = self.topic.split(separator: ":").last.map(String.init) ?? ""
        return PersonID(String(name.replacing(".", with: "-").prefix(PersonID.longest))) ?? PersonID("sns")!
    }
}
