// The demo's order system. It uses the REST interface as your own back end would.

import Access
import AsyncHTTPClient
import EnrouteWire
import Foundation
import NIOCore
import NIOFoundationCompat
import NIOHTTP1
import NIOSSL

/// A client of the demo's gateways.
struct DemoOrders: Sendable {
    static let zone = "town"
    static let customer = PersonID("you")!
    /// How many browsers may open the customer's page of one order. Each reload of the stage adds one for a while.
    private static let viewers = 50
    private static let service = PersonID("dispatch")!
    private static let operations = PersonID("operations")!

    let mint: TokenMint
    /// Without a trailing slash.
    let url: String
    let client: HTTPClient
    /// The pause before a failed request is retried.
    var pause = Duration.seconds(1)
    /// Reports the first failure of a request that is then retried.
    var report: @Sendable (Refusal) -> Void = { say("enroute demo: \($0) Retrying.") }

    private static let patience = TimeAmount.seconds(5)
    /// The maximum number of attempts, over about a minute. A button of the panel may just have killed the gateway.
    static let attempts = 10
    private static let longestAnswer = 1 << 20
    private static let tokenLifetime: Int64 = 6 * 3600

    /// A request failed or was refused.
    struct Refusal: Error, CustomStringConvertible {
        let description: String
        /// Whether to retry: there was no response, or its status was 429 or 5xx.
        var isPassing = false
    }

    /// The sender of a request; each has a token of its own.
    struct Party: Sendable {
        let person: PersonID
        let role: Role

        static let service = Party(person: DemoOrders.service, role: .service)
        static let customer = Party(person: DemoOrders.customer, role: .customer)
        static let operations = Party(person: DemoOrders.operations, role: .ops)
    }

    func token(of party: Party) async throws -> String {
        try await self.mint.token(
            for: party.person, role: party.role, now: Int64(Date.now.timeIntervalSince1970),
            lifetime: Self.tokenLifetime)
    }

    /// Sends a request, and retries it. Every attempt has the same idempotency key, so it takes effect once.
    ///
    /// - Returns: the body of the response.
    /// - Throws: `Refusal`.
    @discardableResult
    func send(
        _ method: HTTPMethod, _ path: String, _ body: [String: any Sendable] = [:], by party: Party
    ) async throws -> [String: Any] {
        let key = "\(UUID())"
        for attempt in 1..<Self.attempts {
            do {
                return try await self.sendOnce(method, path, body, by: party, key: key)
            } catch let refusal as Refusal where refusal.isPassing {
                if attempt == 1 { self.report(refusal) }
                try await Task.sleep(for: self.pause)
            }
        }
        return try await self.sendOnce(method, path, body, by: party, key: key)
    }

    private func sendOnce(
        _ method: HTTPMethod, _ path: String, _ body: [String: any Sendable], by party: Party, key: String
    ) async throws -> [String: Any] {
        var request = HTTPClientRequest(url: "\(self.url)/api/v1/\(path)")
        request.method = method
        request.headers = [
            "authorization": "Bearer \(try await self.token(of: party))", "content-type": "application/json",
            "idempotency-key": key,
        ]
        if method != .GET { request.body = .bytes(try JSONSerialization.data(withJSONObject: body)) }
        let response: HTTPClientResponse
        let bytes: Data
        do {
            response = try await self.client.execute(request, timeout: Self.patience)
            bytes = Data(buffer: try await response.body.collect(upTo: Self.longestAnswer))
        } catch  where !(error is CancellationError) {
            throw Refusal(description: "\(method.rawValue) \(path) failed: \(error).", isPassing: true)
        }
        let members = try? JSONSerialization.jsonObject(with: bytes) as? [String: Any]
        guard (200..<300).contains(response.status.code) else {
            throw Refusal(
                description: "\(method.rawValue) \(path): \(response.status.code) "
                    + (members?["detail"] as? String ?? String(decoding: bytes, as: UTF8.self)),
                isPassing: response.status.code == 429 || response.status.code >= 500)
        }
        return members ?? [:]
    }

    /// Approves a rider and declares it online.
    func describe(_ rider: Party, named name: String, vehicle: String, plate: String? = nil) async throws {
        var card = ["name": name, "vehicle": vehicle]
        card["plate"] = plate
        try await self.send(
            .PUT, "riders/\(rider.person)", ["zone": Self.zone, "approved": true, "capacity": 3, "card": card],
            by: .service)
        try await self.send(.PATCH, "riders/me/status", ["status": "online"], by: rider)
    }

    func set(_ status: JobStatus, of job: JobID) async throws {
        try await self.send(.POST, "jobs/\(job)/status", ["status": status.rawValue], by: .service)
    }

    func assign(_ job: JobID, to rider: Party) async throws {
        try await self.send(.PUT, "jobs/\(job)/assignment", ["rider": rider.person.text], by: .service)
    }

    /// Performs a step of a rider's task, as the rider's page does.
    func take(_ step: String, of job: JobID, by rider: Party) async throws {
        try await self.send(.POST, "jobs/\(job)/task", ["state": step], by: rider)
    }

    /// The state of a rider's task; `nil` if the rider does not have the task, or no longer has it.
    func task(of job: JobID, rider: Party) async throws -> String? {
        let answer = try await self.send(.GET, "riders/me", by: rider)
        let tasks = answer["tasks"] as? [[String: Any]] ?? []
        return tasks.first { $0["job"] as? String == job.text }?["state"] as? String
    }

    /// The path and fragment of a job's customer page, with a new link.
    func customerPage(of job: JobID) async throws -> String {
        let link = try await self.send(.POST, "jobs/\(job)/links", ["viewers": Self.viewers], by: .service)
        guard let path = link["url"] as? String else {
            throw Refusal(description: "The response for the link has no url.")
        }
        return path
    }

    /// The path and fragment of a page, with a sign-in code that works once.
    func page(_ path: String, of party: Party) async throws -> String {
        let signIn = try await self.send(.POST, "sign-ins", ["expiresInSeconds": 600], by: party)
        guard let code = signIn["code"] as? String else {
            throw Refusal(description: "The response for the sign-in has no code.")
        }
        return "/\(path)#in.\(code)"
    }
}
