import Access
import EnrouteWire
import Foundation
import LiveState
import Routing
import TestSupport
import Testing
import Webhooks

@testable import Gateway
@testable import Realtime
@testable import REST

/// Exercises every documented status of every operation on a running gateway. Each response must match the document, and a
/// documented response that was never received is a failure too.
@Suite(.needsMachine(for: .faults)) struct InterfaceAnswerTests {
    /// A gateway with all optional features, and without limits that are irrelevant here.
    static func run(
        _ change: @escaping @Sendable (inout GatewaySettings) -> Void = { _ in },
        _ body: @escaping @Sendable (DocumentedClient) async throws -> Void
    ) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { settings in
                (settings.limits.requestsPerPersonPerSecond, settings.limits.requestsPerPersonBurst) = (10_000, 10_000)
                settings.webhooks.resolver = HostResolver(rule: AddressRule(allowed: [AddressRange("127.0.0.0/8")!]))
                settings.push = Self.push
                settings.streets = Array(#"{"type":"FeatureCollection","features":[]}"#.utf8)
                change(&settings)
            } _: { gateway in
                try await body(try DocumentedClient(with: gateway))
            }
        }
    }

    @Test func `a healthy gateway gives every documented response`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-leaflet-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let picture = Array("RIFF....WEBP".utf8)
        try await ProviderServer.running({ $0.uri == "/1/1/0" ? .raw(picture) : .json("", status: 404) }) { server in
            let source = try TileSource(template: "\(server.url)/{z}/{x}/{y}")
            try await Self.askAll(folder, TileSettings(source: source, attribution: "somebody"))
        }
    }

    private static func askAll(_ folder: URL, _ tiles: TileSettings) async throws {
        try await Self.run {
            ($0.leafletFolder, $0.tiles) = (folder.path, tiles)
        } _: { conversation in
            // First, because a rider who goes online gets the open jobs of the time before as tasks.
            try await Self.ride(conversation)
            try await Self.makeAndChange(conversation)
            try await Self.travel(conversation)
            try await Self.grant(conversation)
            try await Self.useWebhooks(conversation)
            try await Self.sendEvents(conversation)
            try await Self.load(conversation, folder)
            try await Self.signIn(conversation)
            try await Self.refuseAlike(conversation)
            let (given, wanted) = (
                await conversation.exercised, conversation.documented { ![202, 429, 500, 503].contains($0) }
            )
            #expect(wanted.subtracting(given) == ["streets 204"])
        }
    }

    private static func makeAndChange(_ conversation: DocumentedClient) async throws {
        let job = SampleRequest(
            "POST", "/api/v1/jobs", by: .service,
            #"{"job":"visit-1","kind":"service","customer":"anna","rider":"rider-1","zone":"rome","#
                + #""destination":{"lat":41.9,"lon":12.5},"vendor":{"lat":41.8,"lon":12.4,"name":"Da Gino","address":"Via Appia 1"}}"#
        )
        try await conversation.ask(201, job)
        try await conversation.ask(409, job)
        try await conversation.ask(422, job.with { $0.body = #"{"job":"visit-2"}"# })
        let put = SampleRequest(
            "PUT", "/api/v1/jobs/visit-2", by: .service, #"{"kind":"service","customer":"anna","rider":"rider-1"}"#)
        try await conversation.ask(201, put)
        try await conversation.ask(200, put.with { $0.body = #"{"kind":"service","zone":"rome"}"# })
        try await conversation.ask(422, put.with { $0.body = #"{"kind":"delivery"}"# })
        let read = try await conversation.ask(200, try .good("readJob"))
        let tag = try #require(read.headers["etag"])
        try await conversation.ask(304, try .good("readJob").with { $0.headers = ["If-None-Match: \(tag)"] })
        try await conversation.ask(200, try .good("readStatusLog"))
        try await conversation.ask(200, try .good("listJobs"))
        try await conversation.ask(201, try .good("createJob"))
        for status in [204, 404] { try await conversation.ask(status, try .good("eraseJob")) }
        try await conversation.ask(
            200, try .good("readStatusLog").with { ($0.role, $0.person) = (.customer, "anna") })
        let navigate = try SampleRequest.good("navigate")
        try await conversation.ask(200, navigate)
        try await conversation.ask(422, navigate.with { $0.path = "/api/v1/jobs/visit-2/navigation?to=vendor" })
        let status = SampleRequest("POST", "\(SampleRequest.job)/status", by: .service, #"{"status":"on_the_way"}"#)
        try await conversation.ask(409, try .good("startTravel"))
        try await conversation.ask(200, status.with { $0.headers = ["If-Match: \(tag)", "Idempotency-Key: r-1"] })
        try await conversation.ask(412, status.with { $0.headers = ["If-Match: \"1-1\""] })
        try await conversation.ask(409, status.with { $0.body = #"{"status":"completed"}"# })
        try await conversation.ask(422, status.with { $0.body = #"{"status":"flying"}"# })
        let correct = try SampleRequest.good("correctStatus")
        try await conversation.ask(200, correct)
        try await conversation.ask(409, correct)
        try await conversation.ask(412, correct.with { $0.headers = ["If-Match: \"1-1\""] })
        try await conversation.ask(422, correct.with { $0.body = #"{"status":"flying","reason":"No."}"# })
        try await conversation.ask(200, correct.with { $0.body = #"{"status":"on_the_way","reason":"It has left."}"# })
        try await conversation.ask(200, try .good("readStatusLog"))

        try await self.askAsCustomer(conversation)

        try await self.writeNote(conversation)
        let assign = SampleRequest("PUT", "/api/v1/jobs/visit-2/assignment", by: .service)
        let unassign = SampleRequest("DELETE", "/api/v1/jobs/visit-2/assignment", by: .service)
        try await conversation.ask(200, assign.with { $0.body = #"{"rider":"rider-2","insteadOf":"rider-1"}"# })
        try await conversation.ask(200, unassign)
        try await conversation.ask(200, assign.with { $0.body = #"{"rider":"rider-1"}"# })
        try await conversation.ask(422, try .good("assignJob").with { $0.body = "{}" })
        try await conversation.ask(
            200,
            SampleRequest(
                "POST", "/api/v1/jobs/visit-2/status", by: .service,
                #"{"status":"cancelled","occurredAt":"2026-11-21T17:45:00.250Z"}"#))
        // The job has ended.
        let stream = SampleRequest("GET", "/api/v1/jobs/visit-2/events", by: .customer)
        let events = try await conversation.ask(200, stream)
        let last = try #require(events.text.firstMatch(of: /id: ([^\n]+)/)?.1)
        try await conversation.ask(204, stream.with { $0.headers = ["Last-Event-ID: \(last)"] })
        try await conversation.ask(409, put.with { $0.body = #"{"kind":"service","zone":"milan"}"# })
        try await conversation.ask(409, assign.with { $0.body = #"{"rider":"rider-3"}"# })
        try await conversation.ask(409, unassign)
        try await conversation.ask(409, SampleRequest.good("writeNote").with { $0.path = "/api/v1/jobs/visit-2/note" })
        try await conversation.ask(409, navigate.with { $0.path = "/api/v1/jobs/visit-2/navigation" })
        try await conversation.ask(409, SampleRequest("POST", "/api/v1/jobs/visit-2/links", by: .customer))
    }

    private static func travel(_ conversation: DocumentedClient) async throws {
        let report = try SampleRequest.good("reportLocations")
        try await conversation.ask(403, report)
        try await conversation.ask(200, try .good("startTravel"))
        try await conversation.ask(422, try .good("startTravel").with { $0.body = #"{"device":"no name"}"# })
        try await conversation.ask(
            200, report.with { $0.body = #"{"seq":1,"jobs":["visit-9"],"fixes":[\#(SampleRequest.fix())]}"# })
        let read = try await conversation.ask(200, try .good("readJob"))
        #expect(read.text.contains(#""tracking":"live""#))
        try await conversation.ask(422, report.with { $0.body = #"{"fixes":[]}"# })
        let other = #"{"device":"phone-2","fixes":[\#(SampleRequest.fix())]}"#
        try await conversation.ask(409, report.with { $0.body = other })
        let unavailable = try SampleRequest.good("reportUnavailable")
        try await conversation.ask(204, unavailable)
        try await conversation.ask(422, unavailable.with { $0.body = #"{"reason":"midnight"}"# })
        try await conversation.ask(409, unavailable.with { $0.body = #"{"reason":"hidden","device":"phone-2"}"# })
        try await conversation.ask(200, try .good("readVerdicts"))
        try await conversation.ask(200, try .good("explainJob"))
        try await conversation.ask(200, try .good("stopTravel"))
    }

    /// A rider in Rome with a capacity of one task. Before this, the rider does not exist.
    private static func ride(_ conversation: DocumentedClient) async throws {
        let (declare, force) = (try SampleRequest.good("declareStatus"), try SampleRequest.good("forceOffline"))
        let offline = declare.with { $0.body = #"{"status":"offline"}"# }
        for id in ["readMe", "readRider", "removeRider", "forceOffline", "changeTask"] {
            try await conversation.ask(404, try .good(id))
        }
        try await conversation.ask(201, try .good("describeRider"))
        try await conversation.ask(200, try .good("describeRider"))
        try await conversation.ask(422, try .good("describeRider").with { $0.body = #"{"zone":"rome"}"# })
        try await conversation.ask(200, declare.with { $0.body = #"{"status":"online","device":"phone-1"}"# })
        try await conversation.ask(422, declare.with { $0.body = #"{"status":"asleep"}"# })
        try await conversation.ask(204, try .good("updatePresence"))
        try await conversation.ask(409, try .good("updatePresence").with { $0.body = #"{"device":"phone-2"}"# })
        try await conversation.ask(422, try .good("updatePresence").with { $0.body = #"{"lat":41.9}"# })
        let nearest = try await conversation.ask(200, try .good("readPool"))
        #expect(nearest.text.contains(#""rider":"rider-1""#))
        try await conversation.ask(200, try .good("readPool").with { $0.path = "/api/v1/zones/rome/riders/available" })
        for id in [
            "readZones", "readZoneJobs", "readZoneRiders", "readZoneVerdicts", "readZoneAudit", "readGateways",
            "explainRider",
        ] {
            try await conversation.ask(200, try .good(id))
        }

        let order = #"{"job":"order-1","kind":"delivery","customer":"anna","rider":"rider-1"}"#
        try await conversation.ask(201, SampleRequest("POST", "/api/v1/jobs", by: .service, order))
        for refused in [offline, force, try .good("removeRider")] { try await conversation.ask(409, refused) }
        try await conversation.ask(
            409, try .good("describeRider").with { $0.body = #"{"zone":"milan","approved":true}"# })
        let step = SampleRequest("POST", "/api/v1/jobs/order-1/task", by: .rider)
        try await conversation.ask(200, step.with { $0.body = #"{"state":"accepted"}"# })
        for id in ["readMe", "readRider"] {
            let rider = try await conversation.ask(200, try .good(id))
            #expect(rider.text.contains(#""tasks":[{"job":"order-1","state":"accepted"}]"#))
        }
        try await conversation.ask(409, step.with { $0.body = #"{"state":"in_transit"}"# })
        try await conversation.ask(422, step.with { $0.body = #"{"state":"lost"}"# })
        try await conversation.ask(200, step.with { $0.body = #"{"state":"cancelled"}"# })
        try await conversation.ask(200, offline)
        try await conversation.ask(200, force)
        try await conversation.ask(422, force.with { $0.body = #"{"status":"online"}"# })
        try await conversation.ask(204, try .good("removeRider"))
    }

    private static func grant(_ conversation: DocumentedClient) async throws {
        try await conversation.ask(201, try .good("createLink"))
        try await conversation.ask(201, try .good("createLink").with { $0.body = nil })
        try await conversation.ask(422, try .good("createLink").with { $0.body = #"{"viewers":1000}"# })
        try await conversation.ask(201, try .good("createTicket"))
        // With an idempotency key that was used for another request, and with one whose request is still being processed.
        let ticket = try SampleRequest.good("createTicket").with { $0.headers = [SampleRequest.key] }
        try await conversation.ask(201, ticket)
        try await conversation.ask(422, ticket.with { $0.body = "{}" })
        try await conversation.ask(
            413, ticket.with { $0.body = String(repeating: " ", count: Routes.maxBodyBytes + 1) })
        try await Self.whileInProgress(ticket, conversation)
        for kind in ["User", "Token", "Job", "Link"] { try await conversation.ask(204, try .good("revoke\(kind)")) }
    }

    private static func sendEvents(_ conversation: DocumentedClient) async throws {
        let created = try SampleRequest.good("sendEvents")
        try await conversation.ask(200, created)
        let early = SampleRequest.event("e-8", "status", #"{"job":"nowhere","status":"accepted"}"#)
        let next = SampleRequest.event("e-9", "status", #"{"job":"told-0","status":"accepted"}"#)
        let batch = created.with {
            $0.mediaType = "application/cloudevents-batch+json"
            $0.body = "[\(created.body ?? ""),\(early),\(next)]"
        }
        let answer = try await conversation.ask(200, batch)
        #expect(answer.text.contains("refused") && answer.text.contains("statusId"))
        try await conversation.ask(409, created.with { $0.body = early })
        try await conversation.ask(
            422, created.with { $0.body = SampleRequest.event("e-7", "lost", #"{"job":"told-0"}"#) })
        let other = try await conversation.ask(415, created.with { $0.mediaType = "text/plain" })
        #expect(other.member("code") == "unsupported_media_type", "B11: \(other)")
        let both = created.with {
            $0.body = created.body?.replacing(#""data":"#, with: #""data_base64":"e30=","data":"#)
        }
        let refused = try await conversation.ask(400, both)
        #expect(refused.member("code") == "bad_request" && refused.text.contains("not both"), "B11: \(refused)")
    }

    private static func signIn(_ conversation: DocumentedClient) async throws {
        let (make, redeem) = (try SampleRequest.good("createSignInCode"), try SampleRequest.good("redeemSignInCode"))
        try await conversation.ask(422, make.with { $0.body = #"{"expiresInSeconds":601}"# })
        try await Self.whileInProgress(make, conversation)
        try await conversation.ask(201, make.with { $0.body = nil })
        let code: String = try #require(try await conversation.ask(201, make).member("code"))
        try await conversation.ask(200, redeem.with { $0.body = #"{"code":"\#(code)"}"# })
        try await conversation.ask(404, redeem)
        try await conversation.ask(422, redeem.with { $0.body = "{}" })
        try await conversation.ask(400, redeem.with { $0.body = "{" })
        try await conversation.ask(
            413, redeem.with { $0.body = String(repeating: " ", count: Routes.maxBodyBytes + 1) })
    }

    private static func load(_ conversation: DocumentedClient, _ leaflet: URL) async throws {
        for id in ["readTexts", "trackingPage", "riderPage", "operationsPage", "streets", "readManifest", "readTile"] {
            try await conversation.ask(200, try .good(id))
        }
        for (id, file) in [("leafletScript", "leaflet.js"), ("leafletStyle", "leaflet.css")] {
            try await conversation.ask(404, try .good(id))
            try Data("/* leaflet */".utf8).write(to: leaflet.appending(path: file))
            try await conversation.ask(200, try .good(id))
        }
        try await conversation.ask(
            200,
            try .good("trackingPage").with {
                $0.role = .customer; $0.person = "anna"
            })
        try await conversation.ask(
            404,
            try .good("trackingPage").with {
                $0.role = .rider; $0.person = "rider-9"
            })
        try await conversation.ask(401, try .good("trackingPage").with { $0.token = "none" })
        try await conversation.ask(204, try .good("readTile").with { $0.path = "/assets/tiles/2/1/0" })
        try await conversation.ask(404, try .good("readTile").with { $0.path = "/assets/tiles/21/1/0" })
        try await conversation.ask(404, try .good("readManifest").with { $0.path = "/manifest.webmanifest?page=none" })
        try await conversation.ask(404, try .good("readAsset").with { $0.path = "/assets/none.css" })
        for id in [
            "openAPI", "asyncAPI", "readAsset", "readIcon", "readWorker", "readReference", "streets", "leafletScript",
            "leafletStyle",
        ] {
            let answer = try await conversation.ask(200, try .good(id))
            try await conversation.ask(
                304, try .good(id).with { $0.headers = ["If-None-Match: \(answer.headers["etag"] ?? "")"] })
        }
    }

    @Test func `every operation with a token answers guessing with a retry time`() async throws {
        try await Self.run { settings in
            settings.streets = nil
            (settings.limits.tilesPerAddressPerSecond, settings.limits.tilesPerAddressBurst) = (1, 1)
            (settings.limits.refusedTokensPerAddressPerSecond, settings.limits.refusedTokensPerAddressBurst) = (1, 1)
        } _: { conversation in
            while try await conversation.ask(nil, try .good("readTile")).status != 429 {}
            while try await conversation.ask(nil, try .good("redeemSignInCode")).status != 429 {}
            while try await conversation.ask(nil, try .good("trackingPage").with { $0.token = "guess" }).status != 429 {
            }
            for operation in conversation.openAPI.operations where operation.needsToken {
                let guess = try SampleRequest.good(operation.id).with { $0.token = "guess" }
                while try await conversation.ask(nil, guess).status != 429 {}
            }
            try await conversation.ask(204, try .good("streets"))
            let given = await conversation.exercised
            #expect(conversation.documented { $0 == 429 }.subtracting(given).isEmpty)
        }
    }

    @Test func `every operation that needs Redis gives the documented response without it`() async throws {
        try await Self.run { conversation in
            try await Self.makeAndChange(conversation)
            let redis = try #require(conversation.gateway.redis)
            kill(redis.processID, SIGKILL)
            for operation in conversation.openAPI.operations where operation.statuses.contains(503) {
                var request = try SampleRequest.good(operation.id)
                if operation.id == "trackingPage" { request.role = .customer }
                let answer = try await conversation.ask(503, request)
                #expect(answer.headers["retry-after"] != nil)
            }
            let given = await conversation.exercised
            #expect(conversation.documented { $0 == 503 }.subtracting(given).isEmpty)
        }
    }

    @Test func `without replicas every change reports that it may be lost`() async throws {
        let port = try await freePort()
        // The master must not drop its replica during the test.
        try await RestartableRedis.running(port: port, options: ["--repl-timeout", "3600"]) { master in
            try await RestartableRedis.running(options: ["--replicaof", "127.0.0.1 \(port)"]) { replica in
                try await becomes("the replica is in step") {
                    try await ReplicationState(of: master.endpoint).replicaCount == 1
                }
                let address = try master.address
                try await within {
                    try await RunningGateway.run(
                        isSecure: false, at: (address, address), { $0.limits.availabilityPerMinute = 10_000 }
                    ) {
                        gateway in
                        try await Self.doubt(try DocumentedClient(with: gateway), replica)
                    }
                }
            }
        }
    }

    private static func doubt(_ conversation: DocumentedClient, _ replica: RestartableRedis) async throws {
        let job = try SampleRequest.good("describeJob")
        try await conversation.ask(201, job.with { $0.body = #"{"kind":"delivery","customer":"anna"}"# })
        let status = try SampleRequest.good("changeStatus")
        for name in ["accepted", "preparing"] {
            try await conversation.ask(200, status.with { $0.body = #"{"status":"\#(name)"}"# })
        }
        try await replica.freeze()
        // The gateway checks every second whether there are replicas.
        for operation in conversation.openAPI.operations where operation.statuses.contains(202) {
            var round = 0
            try await becomes("\(operation.id) is answered 202") {
                round += 1
                // The job needs a rider or a note that can be removed.
                let before = ["unassignJob": "assignJob", "removeOperationsNote": "writeOperationsNote"]
                if let id = before[operation.id] { try await conversation.ask(nil, try .good(id, round: round)) }
                // The rider must exist and be online.
                if operation.path.contains("riders/"), operation.id != "describeRider" {
                    try await conversation.ask(nil, try .good("describeRider", round: round))
                    if operation.id == "forceOffline" { try await conversation.ask(nil, try .good("declareStatus")) }
                }
                return try await conversation.ask(nil, try .good(operation.id, round: round)).status == 202
            }
        }
        try await replica.thaw()
        let given = await conversation.exercised
        #expect(conversation.documented { $0 == 202 }.subtracting(given).isEmpty)
    }
}
