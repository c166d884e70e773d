// A client that validates every response of a running gateway against the OpenAPI document, and records which documented
// responses it has received.

import Access
import EnrouteWire
import Foundation
import TestSupport
import Testing

@testable import Gateway

actor DocumentedClient {
    nonisolated let gateway: RunningGateway
    nonisolated let openAPI: OpenAPI
    /// The responses received so far: `<operation> <status>`.
    private(set) var exercised: Set<String> = []

    init(with gateway: RunningGateway) throws {
        (self.gateway, self.openAPI) = (gateway, try OpenAPI())
    }

    /// - Parameters:
    ///   - status: the expected status; `nil` for any documented one.
    ///   - request: the request to send.
    @discardableResult
    func ask(_ status: Int?, _ request: SampleRequest) async throws -> RESTResponse {
        let operation = try #require(
            self.openAPI.operation(request.method, request.path), "\(request.method) \(request.path) is not documented")
        var token = request.token
        if token == nil, let role = request.role {
            token = try await self.gateway.mint.token(
                for: PersonID(request.person)!, role: role, now: Int64(Date.now.timeIntervalSince1970),
                job: request.onlyFor)
        }
        var headers = request.headers
        if request.body != nil { headers.append("Content-Type: \(request.mediaType)") }
        let answer = try await self.gateway.rest(
            request.method, request.path, as: token, request.body, headers: headers)
        if let status { #expect(answer.status == status, "\(request.method) \(request.path): \(answer)") }
        for fault in operation.faults(of: answer) { Issue.record("\(fault)") }
        if let body = request.body, answer.status < 300 {
            for fault in operation.faults(ofBody: body, request.mediaType) { Issue.record("what was taken: \(fault)") }
        }
        self.exercised.insert("\(operation.id) \(answer.status)")
        return answer
    }

    /// Returns all documented responses with one of these statuses.
    nonisolated func documented(_ isMeant: (Int) -> Bool) -> Set<String> {
        Set(
            self.openAPI.operations.flatMap { operation in
                operation.statuses.filter(isMeant).map { "\(operation.id) \($0)" }
            })
    }
}

/// A request for one operation of the document.
struct SampleRequest: Sendable {
    var method: String
    var path: String
    /// The caller; `nil` for a request without a token.
    var role: Role?
    var person: String
    var body: String?
    var headers: [String]
    var mediaType: String
    /// The only job that the token covers.
    var onlyFor: JobID?
    /// Used instead of a valid token.
    var token: String?

    init(
        _ method: String, _ path: String, by role: Role? = nil, _ body: String? = nil, headers: [String] = [],
        mediaType: String = "application/json"
    ) {
        (self.method, self.path, self.role, self.body) = (method, path, role, body)
        (self.headers, self.mediaType) = (headers, mediaType)
        self.person =
            switch role {
            case .customer: "anna"
            case .rider: "rider-1"
            case .ops: "olga"
            case .service, nil: "orders"
            }
    }

    func with(_ change: (inout SampleRequest) -> Void) -> SampleRequest {
        var request = self
        change(&request)
        return request
    }

    static let job = "/api/v1/jobs/visit-1"
    static let key = "Idempotency-Key: 0b6f9a52-3c1d-4f4e-9a57-1f3b7c2d8e60"
    static let structured = "application/cloudevents+json"

    static func event(_ id: String, _ type: String, _ data: String) -> String {
        #"{"specversion":"1.0","id":"\#(id)","source":"/orders","type":"io.enroute.job.\#(type)","data":\#(data)}"#
    }

    static func fix() -> String {
        #"{"at":\#(Int64(Date.now.timeIntervalSince1970 * 1000)),"lat":41.9,"lon":12.5,"acc":5}"#
    }

    /// Returns a request that can succeed, with a caller who has permission, for the operation with this ID.
    ///
    /// - Parameter round: requests of different rounds change different things.
    static func good(_ id: String, round: Int = 0) throws -> SampleRequest {
        switch id {
        case "createJob":
            .init(
                "POST", "/api/v1/jobs", by: .service, #"{"job":"new-\#(round)","kind":"service","customer":"anna"}"#)
        case "listJobs": .init("GET", "/api/v1/jobs?rider=me", by: .rider)
        case "eraseJob": .init("DELETE", "/api/v1/jobs/new-\(round)", by: .service)
        case "readJob": .init("GET", Self.job, by: .customer)
        case "describeJob":
            .init("PUT", Self.job, by: .service, #"{"kind":"delivery","customer":"anna","zone":"zone-\#(round)"}"#)
        case "followJob": .init("GET", "\(Self.job)/events", by: .customer)
        case "readStatusLog": .init("GET", "\(Self.job)/log", by: .ops)
        case "changeStatus":
            .init(
                "POST", "\(Self.job)/status", by: .service,
                #"{"status":"\#(round.isMultiple(of: 2) ? "preparing" : "allocation_failed")"}"#)
        case "correctStatus":
            .init(
                "POST", "\(Self.job)/corrections", by: .service,
                #"{"status":"\#(round == 0 ? "assigned" : round.isMultiple(of: 2) ? "preparing" : "accepted")","#
                    + #""reason":"It was set by mistake."}"#)
        case "writeNote":
            .init("PUT", "\(Self.job)/note", by: .customer, #"{"note":"Gate code \#(round)"}"#)
        case "notifyBrowser":
            .init(
                "PUT", "\(Self.job)/push", by: .customer,
                #"{"subscription":{"endpoint":"https://push.example/\#(round)","keys":{"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-"#
                    + #"VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"BTBZMqHH6r4Tts7J_aSIgg"}}}"#
            )
        case "readOperationsNote": .init("GET", "\(Self.job)/operations-note", by: .ops)
        case "writeOperationsNote":
            .init("PUT", "\(Self.job)/operations-note", by: .ops, #"{"text":"Ring twice, round \#(round)."}"#)
        case "removeOperationsNote": .init("DELETE", "\(Self.job)/operations-note", by: .ops)
        case "assignJob":
            .init(
                "PUT", "\(Self.job)/assignment", by: .service,
                #"{"rider":"rider-\#(round + 1)","insteadOf":"rider-\#(round)"}"#)
        case "unassignJob": .init("DELETE", "\(Self.job)/assignment", by: .service)
        case "startTravel": .init("PUT", "\(Self.job)/travel", by: .rider)
        case "stopTravel": .init("DELETE", "\(Self.job)/travel", by: .rider)
        case "reportLocations":
            .init("POST", "\(Self.job)/locations", by: .rider, #"{"seq":\#(round),"fixes":[\#(Self.fix())]}"#)
        case "reportUnavailable": .init("PUT", "\(Self.job)/unavailable", by: .rider, #"{"reason":"hidden"}"#)
        case "readVerdicts": .init("GET", "\(Self.job)/verdicts", by: .ops)
        case "readMe": .init("GET", "/api/v1/riders/me", by: .rider)
        case "declareStatus":
            .init(
                "PATCH", "/api/v1/riders/me/status", by: .rider,
                #"{"status":"\#(round.isMultiple(of: 2) ? "online" : "offline")"}"#)
        case "updatePresence": .init("PUT", "/api/v1/riders/me/presence", by: .rider, #"{"lat":41.9,"lon":12.5}"#)
        case "readRider": .init("GET", "/api/v1/riders/rider-1", by: .ops)
        case "describeRider":
            .init(
                "PUT", "/api/v1/riders/rider-1", by: .service,
                #"{"zone":"rome","approved":true,"capacity":\#(round + 1)}"#)
        case "removeRider": .init("DELETE", "/api/v1/riders/rider-1", by: .service)
        case "forceOffline":
            .init(
                "PATCH", "/api/v1/riders/rider-1/status", by: .ops, #"{"status":"offline","reason":"shift is over"}"#)
        case "changeTask": .init("POST", "\(Self.job)/task", by: .rider, #"{"state":"accepted"}"#)
        case "readPool": .init("GET", "/api/v1/zones/rome/riders/available?near=41.9,12.5&radius=500", by: .service)
        case "readZones": .init("GET", "/api/v1/zones", by: .ops)
        case "readZoneJobs": .init("GET", "/api/v1/zones/rome/jobs", by: .ops)
        case "readZoneRiders": .init("GET", "/api/v1/zones/rome/riders", by: .ops)
        case "readZoneVerdicts": .init("GET", "/api/v1/zones/rome/verdicts", by: .ops)
        case "readZoneAudit": .init("GET", "/api/v1/zones/rome/audit?limit=10", by: .ops)
        case "explainJob": .init("GET", "\(Self.job)/explanation", by: .ops)
        case "explainRider": .init("GET", "/api/v1/riders/rider-1/explanation", by: .ops)
        case "readWebhooks": .init("GET", "/api/v1/webhooks", by: .ops)
        case "addWebhook":
            .init("POST", "/api/v1/webhooks", by: .service, #"{"url":"https://127.0.0.1:1/hooks/\#(round)"}"#)
        case "readWebhook": .init("GET", "/api/v1/webhooks/wh_1", by: .service)
        case "removeWebhook": .init("DELETE", "/api/v1/webhooks/wh_1", by: .service)
        case "rotateWebhookSecret": .init("POST", "/api/v1/webhooks/wh_1/secret", by: .service)
        case "testWebhook": .init("POST", "/api/v1/webhooks/wh_1/test", by: .service)
        case "readUndelivered": .init("GET", "/api/v1/webhooks/wh_1/undelivered", by: .ops)
        case "replayWebhook": .init("POST", "/api/v1/webhooks/wh_1/replay", by: .service)
        case "readGateways": .init("GET", "/api/v1/gateways", by: .service)
        case "createLink": .init("POST", "\(Self.job)/links", by: .customer, #"{"viewers":2,"expiresInSeconds":600}"#)
        case "createTicket": .init("POST", "/api/v1/tickets", by: .customer)
        case "revokeUser": .init("DELETE", "/api/v1/grants/users/nobody", by: .ops)
        case "revokeToken": .init("DELETE", "/api/v1/grants/tokens/none", by: .service)
        case "revokeJob": .init("DELETE", "/api/v1/grants/jobs/other", by: .ops)
        case "revokeLink":
            .init("DELETE", "/api/v1/grants/links/\(String(repeating: "0", count: 32))", by: .ops)
        case "sendEvents":
            .init(
                "POST", "/api/v1/events", by: .service,
                Self.event("e-\(round)", "created", #"{"job":"told-\#(round)","kind":"delivery","customer":"anna"}"#),
                mediaType: Self.structured)
        case "readTexts": .init("GET", "/api/v1/texts?language=de")
        case "trackingPage": .init("GET", "/track/visit-1")
        case "riderPage": .init("GET", "/rider")
        case "operationsPage": .init("GET", "/ops")
        case "readManifest": .init("GET", "/manifest.webmanifest?page=rider")
        case "readIcon": .init("GET", "/favicon.ico")
        case "readWorker": .init("GET", "/worker.js")
        case "readReference": .init("GET", "/docs")
        case "readTile": .init("GET", "/assets/tiles/1/1/0")
        case "readAsset": .init("GET", "/assets/track.css")
        case "navigate": .init("GET", "\(Self.job)/navigation?to=vendor", by: .rider)
        case "createSignInCode": .init("POST", "/api/v1/sign-ins", by: .rider, #"{"expiresInSeconds":300}"#)
        case "redeemSignInCode":
            .init("POST", "/api/v1/sign-ins/redeem", by: nil, #"{"code":"\#(String(repeating: "0", count: 32))"}"#)
        case "streets": .init("GET", "/assets/streets.geojson")
        case "leafletScript": .init("GET", "/assets/leaflet/leaflet.js")
        case "leafletStyle": .init("GET", "/assets/leaflet/leaflet.css")
        case "openAPI": .init("GET", "/openapi.json")
        case "asyncAPI": .init("GET", "/asyncapi.json")
        default: throw NoSampleRequest(operation: id)
        }
    }
}

/// A new operation needs a case of `SampleRequest.good`.
struct NoSampleRequest: Error {
    let operation: String
}
