// The part of InterfaceAnswerTests about refusals and errors that are the same for many operations.

import EnrouteWire
import LiveState
import TestSupport
import Testing

@testable import Gateway
@testable import REST

extension InterfaceAnswerTests {
    /// Refusals that are the same for many operations.
    static func refuseAlike(_ conversation: DocumentedClient) async throws {
        for operation in conversation.openAPI.operations {
            let good = try SampleRequest.good(operation.id)
            try await conversation.ask(400, good.with { $0.path += good.path.contains("?") ? "&token=x" : "?token=x" })
            if operation.statuses.contains(415) {
                // The body is read only with a key if the operation has none.
                let compressed = good.with { $0.headers = ["Content-Encoding: gzip", SampleRequest.key] }
                let refused = try await conversation.ask(415, compressed)
                #expect(refused.headers["accept-encoding"] == "identity", "\(operation.id) \(refused)")
            }
            guard operation.needsToken else { continue }
            try await conversation.ask(401, good.with { $0.role = nil })
            if operation.statuses.contains(403) {
                try await conversation.ask(403, good.with { $0.role = good.role == .customer ? .rider : .customer })
            }
            if operation.statuses.contains(404) {
                // A token restricted to one job may not read riders or webhooks; these do not exist.
                let isOfRider = good.path.contains("/riders/") || good.path.contains("/webhooks/")
                if isOfRider { try await conversation.ask(403, good.with { $0.onlyFor = JobID("visit-1") }) }
                try await conversation.ask(404, good.with { if !isOfRider { $0.onlyFor = JobID("another") } })
            }
            if operation.path.contains("{") {
                let bad = zip(
                    ["visit-1", "/new-0", "/nobody", "/none", "/other", "000", "rider-1", "zones/rome", "wh_1"],
                    ["visit.1", "/new.0", "/no.body", "/%01", "/o.ther", "G", "rider.1", "zones/r.ome", "wh.1"]
                ).reduce(good.path) { $0.replacing($1.0, with: $1.1) }
                try await conversation.ask(400, good.with { $0.path = bad })
            }
            guard operation.hasBody else { continue }
            try await conversation.ask(400, good.with { $0.body = "{" })
            let long = try await conversation.ask(
                413, good.with { $0.body = String(repeating: " ", count: Routes.maxBodyBytes + 1) })
            #expect(long.member("code") == "content_too_large", "B11: \(operation.id) \(long)")
        }
    }

    @Test func `every operation that needs Redis answers malformed data with the documented 500`() async throws {
        try await Self.run { conversation in
            let operations = conversation.openAPI.operations.filter { $0.statuses.contains(503) }
            for operation in operations {
                let request = try await Self.request(thatReadsAKey: operation, conversation)
                try await Self.spoilKeys(of: operation, conversation)
                let answer = try await conversation.ask(500, request)
                #expect(answer.member("code") == "internal", "\(operation.id) \(answer)")
            }
            let given = await conversation.exercised
            let documented = conversation.documented { $0 == 500 }
            #expect(documented.count == operations.count && documented.subtracting(given).isEmpty)
        }
    }

    /// Returns a request that reads a key. Creating a ticket or a code reads only the response to an earlier request.
    private static func request(
        thatReadsAKey operation: OpenAPI.Operation, _ conversation: DocumentedClient
    ) async throws -> SampleRequest {
        var request = try SampleRequest.good(operation.id)
        switch operation.id {
        case "trackingPage": request.role = .customer
        case "createTicket", "createSignInCode":
            request.headers = [SampleRequest.key]
            try await conversation.ask(201, request)
        case "redeemSignInCode":
            let made = try await conversation.ask(201, .good("createSignInCode"))
            request.body = #"{"code":"\#(try #require(made.member("code", as: String.self)))"}"#
        default: break
        }
        return request
    }

    /// Replaces the keys that an operation reads with a type that Enroute never uses.
    private static func spoilKeys(of operation: OpenAPI.Operation, _ conversation: DocumentedClient) async throws {
        let (client, keyspace) = (conversation.gateway.client, conversation.gateway.settings.liveState.keyspace)
        let (rider, zone) = (PersonID("rider-1")!, ZoneID("rome")!)
        var keys = ["visit-1", "new-0", "told-0"].map { keyspace.job(JobID($0)!) }
        keys += [
            keyspace.travel(of: JobID("visit-1")!), keyspace.home(of: rider), keyspace.jobs(ofRider: rider),
            keyspace.zones, keyspace.zonesOfJobs, keyspace.jobs(in: zone), keyspace.changeLog(of: zone),
            keyspace.available(in: zone), keyspace.places(in: zone), keyspace.placesSeen(in: zone), keyspace.webhooks,
            keyspace.webhook("wh_1"),
        ]
        for pattern in ["idempotency:*", "signin:*"] {
            keys += try await client.run("KEYS", pattern).array?.compactMap(\.text) ?? []
        }
        // The gateway itself reads the revocations continuously.
        _ = try await client.run("DEL", keyspace.control)
        if operation.id.hasPrefix("revoke") { keys.append(keyspace.control) }
        for key in keys {
            _ = try await client.run("DEL", key)
            _ = try await client.run("RPUSH", key, "x")
        }
    }
}
