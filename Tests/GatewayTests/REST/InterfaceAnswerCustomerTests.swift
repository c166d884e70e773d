// The part of InterfaceAnswerTests about the data that customers write.

import Crypto
import Foundation
import Push
import TestSupport
import Testing

@testable import Gateway
@testable import REST

extension InterfaceAnswerTests {
    static let push = try? PushSettings(
        key: PushKey(pem: P256.Signing.PrivateKey().pemRepresentation, contact: "mailto:ops@example.com"))

    /// A note, and a browser that waits for the rider, for an open job and for one that has ended. After that, requests
    /// based on another state of the latter.
    static func askAsCustomer(_ conversation: DocumentedClient) async throws {
        let note = try SampleRequest.good("writeNote")
        try await conversation.ask(200, note)
        try await conversation.ask(422, note.with { $0.body = #"{"note":" "}"# })
        let push = try SampleRequest.good("notifyBrowser")
        try await conversation.ask(200, push)
        try await conversation.ask(422, push.with { $0.body = push.body?.replacing("https", with: "http") })
        try await conversation.ask(
            201,
            SampleRequest(
                "PUT", "/api/v1/jobs/visit-ended", by: .service,
                #"{"kind":"service","customer":"anna","rider":"rider-9"}"#))
        try await conversation.ask(
            200, SampleRequest("POST", "/api/v1/jobs/visit-ended/status", by: .service, #"{"status":"cancelled"}"#))
        try await conversation.ask(409, push.with { $0.path = "/api/v1/jobs/visit-ended/push" })
        let path = "/api/v1/jobs/visit-ended"
        for stale in [
            SampleRequest("PUT", path, by: .service, #"{"kind":"service","zone":"rome"}"#),
            SampleRequest("PUT", "\(path)/assignment", by: .service, #"{"customer":"bert"}"#),
            SampleRequest("DELETE", "\(path)/assignment", by: .service), SampleRequest("DELETE", path, by: .service),
            note, try .good("startTravel"), try .good("stopTravel"),
        ] {
            try await conversation.ask(412, stale.with { $0.headers = ["If-Match: \"1-1\""] })
        }
    }
}
