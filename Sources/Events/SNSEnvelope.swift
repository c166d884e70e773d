// What AWS SNS posts to an HTTPS endpoint: a signed envelope around a message. This file parses the envelope and assembles the
// text that its signature covers; SNSVerifier decides whether it is genuine
// (docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html).

internal import EnrouteWire
internal import FoundationEssentials
internal import SwiftASN1
internal import X509

/// An envelope. Its content is untrusted until the signature has been verified.
package struct SNSEnvelope: Decodable, Sendable {
    /// The type of an envelope.
    package enum Kind: String, Decodable, Sendable {
        case notification = "Notification"
        case subscriptionConfirmation = "SubscriptionConfirmation"
        case unsubscribeConfirmation = "UnsubscribeConfirmation"
    }

    package let kind: Kind
    package let id: String
    /// The topic's Amazon Resource Name.
    package let topic: String
    package let message: String
    let subject: String?
    let timestamp: String
    let token: String?
    /// Requesting this URL confirms the subscription.
    let subscribeURL: String?
    let signatureVersion: String
    let signature: String
    let certificateURL: String

    private enum CodingKeys: String, CodingKey {
        case kind = "Type"
        case id = "MessageId"
        case topic = "TopicArn"
        case message = "Message"
        case subject = "Subject"
        case timestamp = "Timestamp"
        case token = "Token"
        case subscribeURL = "SubscribeURL"
        case signatureVersion = "SignatureVersion"
        case signature = "Signature"
        case certificateURL = "SigningCertURL"
    }

    package init(body: some Sequence<UInt8>) throws(EventFault) {
        do {
            self = try JSONDecoder().decode(SNSEnvelope.self, from: Data(body))
        } catch {
            throw .malformed("The body must be the envelope of an SNS message, not only the message (raw delivery).")
        }
    }

    /// The text that the signature covers: names and values, one per line, sorted by name.
    var signedText: String {
        let members: [(String, String?)] =
            switch self.kind {
            case .notification:
                [
                    ("Message", self.message), ("MessageId", self.id), ("Subject", self.subject),
                    ("Timestamp", self.timestamp), ("TopicArn", self.topic), ("Type", self.kind.rawValue),
                ]
            case .subscriptionConfirmation, .unsubscribeConfirmation:
                [
                    ("Message", self.message), ("MessageId", self.id), ("SubscribeURL", self.subscribeURL),
                    ("Timestamp", self.timestamp), ("Token", self.token), ("TopicArn", self.topic),
                    ("Type", self.kind.rawValue),
                ]
            }
        return members.map { name, value in value.map { "\(name)\n\($0)\n" } ?? "" }.joined()
    }

    func isSigned(by key: Certificate.PublicKey) -> Bool {
        let algorithm: Certificate.SignatureAlgorithm
        switch self.signatureVersion {
        case "1": algorithm = .sha1WithRSAEncryption
        case "2": algorithm = .sha256WithRSAEncryption
        default: return false
        }
        guard let signature = Data(base64Encoded: self.signature) else { return false }
        return key.isValidSignature(signature, for: Data(self.signedText.utf8), signatureAlgorithm: algorithm)
    }

    /// When SNS sent the message; `nil` if its time is not RFC 3339, or outside of `Fix.times`.
    var sentAt: Date? {
        Timestamp.milliseconds(self.timestamp).map { Date(timeIntervalSince1970: Double($0) / 1000) }
    }

    /// The event in a notification: a structured CloudEvent, or Enroute's plain form, an object with `type` and the members of
    /// the data. The plain form takes its id, source and time from the envelope.
    package func event() throws(EventFault) -> CloudEvent {
        let body = Array(self.message.utf8)
        struct Form: Decodable {
            var specversion: String?
            var type: String?
        }
        do throws(StrictJSON.Fault) { try StrictJSON.check(body) } catch {
            throw .malformed(error.reason("The message"))
        }
        guard let form = try? JSONDecoder().decode(Form.self, from: Data(body)) else {
            throw .malformed("The message must be a JSON object: a CloudEvent, or type and the members of the data.")
        }
        if form.specversion != nil { return try CloudEvent.structured(body) }
        let attributes = [
            "specversion": "1.0", "id": self.id, "source": self.topic, "type": form.type, "time": self.timestamp,
        ]
        return try CloudEvent(details: JobDetails.decode(body)) { name throws(EventFault) in attributes[name] ?? nil }
    }
}
