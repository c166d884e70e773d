import Access
import ETA
import EnrouteWire
import Foundation
import LiveState
import TestSupport
import Testing
import Webhooks

@testable import Gateway
@testable import HTTPValues
@testable import Jobs
@testable import Realtime
@testable import REST
@testable import TrafficControl
@testable import WebAssets
import Telemetry

/// The documents themselves. InterfaceAnswerTests compares them with the responses of a gateway.
@Suite struct InterfaceDocumentTests {
    private static func documents() throws -> [JSONValue] {
        [try JSONValue(json: InterfaceDocument.openAPI.json), try JSONValue(json: InterfaceDocument.asyncAPI.json)]
    }

    /// `value` and everything below it.
    private static func all(_ value: JSONValue) -> [JSONValue] {
        [value] + (value.array ?? []).flatMap(Self.all) + (value.object ?? [:]).values.flatMap(Self.all)
    }

    private static func routes(_ gateway: RunningGateway) -> Routes {
        let (client, settings) = (gateway.client, gateway.settings.liveState)
        let revocations = Revocations()
        let riders = Riders(ledger: client, settings: settings)
        let jobs = JobService(
            ledger: gateway.ledger, feed: gateway.feed, riders: riders, revocations: revocations,
            notes: ValidationSummaryStore(live: client, settings: settings)
        ) { _, _, _ in }
        let services = LoopServices(
            jobs: jobs, publisher: LocationPublisher(live: client, settings: settings),
            notes: ValidationSummaryStore(live: client, settings: settings),
            tickets: Tickets(live: client, settings: settings),
            signInCodes: SignInCodes(live: client, settings: settings),
            links: TrackingLinks(ledger: client, settings: settings),
            push: PushSubscriptions(live: client, settings: settings),
            precedingStops: PrecedingStops(
                stopSequences: StopSequenceStore(live: client, settings: settings), ledger: gateway.ledger),
            requests: IdempotencyRecords(writes: client, settings: settings),
            riders: RiderService(
                riders: riders, places: GeoIndex(live: client, settings: settings), jobs: jobs
            ) {},
            pool: ZonePool(ledger: client, live: client, settings: settings),
            revocationLog: RevocationLog(ledger: client, settings: settings), geocoder: nil,
            streams: AuditStreams(ledger: client, settings: settings),
            registry: GatewayRegistry(live: client, settings: settings),
            webhooks: WebhookStore(ledger: client, settings: settings),
            facts: FactsCollector(live: client, ledger: client, settings: settings, accessPages: 1, now: { 0 }),
            audit: { _ in }, isRevocationStateStale: { false })
        return Routes(
            services,
            SharedServices(
                settings: gateway.settings.realtime, pages: Pages(settings: gateway.settings.pages), topics: nil,
                quotas: Quotas(limits: Limits()), revocations: revocations, eventCounts: SharedCounts(),
                loops: LoopMap([], loops: []), operations: OperationsQueries(services), tiles: nil,
                webhookSender: WebhookSender(settings: .usual), becomeStream: { _ in false }))
    }

    @Test func `the routes of the router and the paths of the document are the same`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let documented = try OpenAPI().operations.map { "\($0.method) \($0.path)" }
                let routes = Self.routes(gateway).router().routes.map { "\($0.method.rawValue) \($0.path)" }
                #expect(Set(routes) == Set(documented))
                #expect(routes.count == documented.count)
            }
        }
    }

    @Test func `everybody can read both documents, and a client that has one gets 304`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                for (path, document) in [
                    ("/openapi.json", InterfaceDocument.openAPI), ("/asyncapi.json", InterfaceDocument.asyncAPI),
                ] {
                    let first = try await gateway.rest("GET", path, as: nil)
                    #expect(first.status == 200 && first.text == String(decoding: document.json, as: UTF8.self))
                    #expect(first.headers["content-type"] == "application/json")
                    #expect(first.headers["cache-control"] == "max-age=300")
                    let tag = try #require(first.headers["etag"])
                    let second = try await gateway.rest("GET", path, as: nil, headers: ["If-None-Match: \(tag)"])
                    #expect(second.status == 304 && second.text.isEmpty && second.headers["etag"] == tag)
                }
            }
        }
    }

    @Test func `a request with an unsupported method gets 405 with the supported ones`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                for (method, path, allowed) in [
                    ("PATCH", "/api/v1/jobs/j1", "DELETE, GET, HEAD, PUT"), ("PUT", "/api/v1/jobs", "GET, HEAD, POST"),
                    ("DELETE", "/openapi.json", "GET, HEAD"), ("POST", "/api/v1/grants/users/anna", "DELETE"),
                ] {
                    let answer = try await gateway.rest(method, path, as: nil)
                    #expect(answer.status == 405 && answer.headers["allow"] == allowed, "\(method) \(path): \(answer)")
                    // B11: this error has its own code.
                    if method != "HEAD" { #expect(answer.text.contains(#""method_not_allowed""#), "\(answer)") }
                    #expect(answer.headers["content-type"] == Problem.mediaType)
                }
                // The last of these paths got 405 with its own method in Allow; found by Tests/Hostile.
                for path in ["/", "/api/v1", "/api/v1/jobs/j1/none", "/api/v1/jobs/j1/log/more", "/assets/leaflet"] {
                    let answer = try await gateway.rest("GET", path, as: nil)
                    #expect(answer.status == 404 && answer.headers["allow"] == nil, "\(path): \(answer)")
                }
            }
        }
    }

    @Test func `every reference resolves, and every schema, parameter, header and response is used`() throws {
        for document in try Self.documents() {
            let references = Set(Self.all(document).compactMap { $0["$ref"]?.text })
            for reference in references { #expect(document.at(reference) != nil, "\(reference)") }
            for (kind, named) in document["components"]?.object ?? [:] where kind != "securitySchemes" {
                for name in named.object?.keys ?? [:].keys where !Self.isShared(name, document) {
                    #expect(references.contains("#/components/\(kind)/\(name)"), "\(kind)/\(name) is not used")
                }
            }
        }
    }

    /// Whether one of the two documents has it for the other, because schemas.json is part of both.
    private static func isShared(_ name: String, _ document: JSONValue) -> Bool {
        [
            "PersonID", "ZoneID", "Location", "Fix", "EndReason", "UnavailableReason", "ProximityState", "RiderChange",
            "ZoneVersion",
        ].contains(name)
    }

    @Test func `every example matches its schema`() throws {
        for document in try Self.documents() {
            let schema = JSONSchema(document: document, isClosed: true)
            var count = 0
            for value in Self.all(document) where value["type"] != nil || value["pattern"] != nil {
                for example in value["examples"]?.array ?? [] {
                    #expect(schema.faults(of: example, by: value) == [], "\(example)")
                    count += 1
                }
            }
            #expect(count > 8)
        }
    }

    @Test func `the package of the client library has the gateway's version`() throws {
        let manifest = Checkout.root.appending(path: "Sources/JavaScript/package.json")
        let package = try JSONValue(json: Array(Data(contentsOf: manifest)))
        #expect(package["version"] == .text(EnrouteVersion.current))
    }

    @Test func `every member that is a duration has its unit at the end of its name`() throws {
        let duration =
            /(?i)(age|delay|duration|every|expires|interval|lag|last|latency|lifetime|median|p95|retry|timeout|wait)(in)?$/
        let saidInWords = /(?i)(^|, |so many )(ms|milliseconds|s|seconds)\b/
        var durations: Set<String> = []
        for document in try Self.documents() {
            for properties in Self.all(document).compactMap({ $0["properties"]?.object }) {
                for (name, schema) in properties {
                    let types = schema["type"]?.text.map { [$0] } ?? schema["type"]?.texts ?? []
                    guard types.contains(where: ["integer", "number"].contains) else { continue }
                    if name.hasSuffix("Ms") || name.lowercased().hasSuffix("seconds") { durations.insert(name) }
                    #expect(name.firstMatch(of: duration) == nil, "\(name) does not name its unit")
                    let words = schema["description"]?.text ?? ""
                    let isSpeed = words.contains("m/s")
                    #expect(isSpeed || words.firstMatch(of: saidInWords) == nil, "\(name) says its unit elsewhere")
                }
            }
        }
        #expect(durations.isSuperset(of: ["expiresInSeconds", "intervalSeconds", "loopLagMs", "retryInMs"]))
    }

    @Test func `names, limits and lists are those of the code`() throws {
        for document in try Self.documents() {
            let schemas = try #require(document.at("#/components/schemas"))
            for name in ["JobID", "PersonID", "ZoneID"] {
                #expect(schemas[name]?["maxLength"] == .number(Double(JobID.longest)))
                #expect(schemas[name]?["pattern"] == .text("^[A-Za-z0-9_-]{1,\(JobID.longest)}$"))
            }
            #expect(schemas["JobStatus"]?["enum"]?.texts == JobStatus.allCases.map(\.rawValue))
            #expect(schemas["JobKind"]?["enum"]?.texts == JobKind.allCases.map(\.rawValue))
            #expect(schemas["TrackingState"]?["enum"]?.texts == TrackingState.allCases.map(\.rawValue))
            #expect(schemas["EndReason"]?["enum"]?.texts == EndReason.allCases.map(\.rawValue))
            #expect(schemas["ErrorCode"]?["enum"]?.texts == ErrorCode.allCases.map(\.rawValue))
            #expect(schemas["Milliseconds"]?["minimum"] == .number(Double(Fix.times.lowerBound)))
            #expect(schemas["Milliseconds"]?["maximum"] == .number(Double(Fix.times.upperBound - 1)))
            #expect(document.at("#/info/version") == .text(EnrouteVersion.current))
        }
        let rest = try #require(try Self.documents()[0].at("#/components/schemas"))
        #expect(rest["JobTracking"]?["enum"]?.texts == JobTracking.allCases.map(\.rawValue))
        let events = LedgerEvent.Kind.allCases
        #expect(rest["OutgoingEventType"]?["enum"]?.texts == events.map(\.rawValue))
        #expect(rest["WebhookEventType"]?["enum"]?.texts == events.filter { $0 != .test }.map(\.rawValue))
        #expect(rest.at("#/LocationBatch/properties/fixes/maxItems") == .number(Double(LocationReport.maxFixes)))
        #expect(rest.at("#/LocationBatch/properties/jobs/maxItems") == .number(Double(LocationReport.maxJobs - 1)))
        #expect(
            rest.at("#/LinkRequest/properties/viewers/maximum") == .number(Double(TrackingLinks.viewers.upperBound)))
        #expect(rest.at("#/LinkRequest/properties/viewers/default") == .number(Double(TrackingLinks.defaultViewers)))
        let lifetime = TrackingLinks.maxLifetime.components.seconds
        #expect(rest.at("#/LinkRequest/properties/expiresInSeconds/maximum") == .number(Double(lifetime)))
        let ticketLifetime = Double(Tickets.lifetime.components.seconds)
        #expect(rest.at("#/Ticket/properties/expiresInSeconds/maximum") == .number(ticketLifetime))
        let (limits, answers) = (Limits(), try #require(try Self.documents()[0].at("#/components/responses")))
        let tooMany = try #require(answers["TooManyRequests"]?["description"]?.text)
        #expect(
            tooMany.contains(
                "\(limits.requestsPerPersonPerSecond) per second and person, burst \(limits.requestsPerPersonBurst);"))
        #expect(
            tooMany.contains(
                "(\(limits.refusedTokensPerAddressPerSecond) per second, burst \(limits.refusedTokensPerAddressBurst))")
        )
        let longest = Routes.maxBodyBytes
        #expect(
            answers["TooLarge"]?["description"]?.text?.contains("\(longest / 1000),\(longest % 1000) bytes") == true)
        let problems = ErrorCode.allCases.map { "urn:enroute:problem:\($0.rawValue)" }
        #expect(rest.at("#/Problem/properties/type/enum")?.texts == problems)
        let session = try #require(try Self.documents()[1].at("#/components/messages/report/payload/properties"))
        #expect(session.at("#/fixes/maxItems") == .number(Double(LocationReport.maxFixes)))
        #expect(session.at("#/jobs/maxItems") == .number(Double(LocationReport.maxJobs)))
    }
}
