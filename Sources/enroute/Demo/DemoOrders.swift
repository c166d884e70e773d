// The order system of the demonstration: what a team's own backend does, by the same REST interface, with tokens of its own.

import Access
import AsyncHTTPClient
import EnrouteWire
import Foundation
import NIOCore
import NIOFoundationCompat
import NIOHTTP1
import NIOSSL

/// Asks the demonstration's gateways.
struct DemoOrders: Sendable {
    static let job = JobID("demo")!
    static let zone = "demo"
    static let customer = PersonID("customer")!
    static let rider = PersonID("technician")!
    private static let service = PersonID("dispatch")!
    private static let operations = PersonID("operations")!

    let mint: TokenMint
    /// Without a slash at its end.
    let url: String
    let client: HTTPClient
    /// Before a request that was not carried out is sent again.
    var pause = Duration.seconds(1)

    private static let patience = TimeAmount.seconds(5)
    /// Times a request is sent: a button of the panel may just have killed what would answer it. About a minute.
    static let attempts = 10
    private static let longestAnswer = 1 << 20
    private static let tokenLifetime: Int64 = 6 * 3600

    /// What a gateway would not do.
    struct Refusal: Error, CustomStringConvertible {
        let description: String
        /// Nobody answered, or the answer says that it is a matter of time.
        var isPassing = false
    }

    /// Who asks; each has a token of its own.
    enum Party {
        case service, customer, rider, operations

        fileprivate var person: PersonID {
            switch self {
            case .service: DemoOrders.service
            case .customer: DemoOrders.customer
            case .rider: DemoOrders.rider
            case .operations: DemoOrders.operations
            }
        }

        fileprivate var role: Role {
            switch self {
            case .service: .service
            case .customer: .customer
            case .rider: .rider
            case .operations: .ops
            }
        }
    }

    func token(of party: Party) async throws -> String {
        try await self.mint.token(
            for: party.person, role: party.role, now: Int64(Date.now.timeIntervalSince1970),
            lifetime: Self.tokenLifetime)
    }

    /// Asks, and asks again while nobody answers. Every attempt has the same idempotency key, so nothing is done twice.
    ///
    /// - Returns: the answer's body.
    /// - Throws: `Refusal`.
    @discardableResult
    func ask(
        _ method: HTTPMethod, _ path: String, _ body: [String: any Sendable] = [:], by party: Party
    ) async throws -> [String: Any] {
        let key = "\(UUID())"
        for attempt in 1..<Self.attempts {
            do {
                return try await self.askOnce(method, path, body, by: party, key: key)
            } catch let refusal as Refusal where refusal.isPassing {
                if attempt == 1 { say("enroute demo: \(refusal) Trying again.") }
                try await Task.sleep(for: self.pause)
            }
        }
        return try await self.askOnce(method, path, body, by: party, key: key)
    }

    private func askOnce(
        _ method: HTTPMethod, _ path: String, _ body: [String: any Sendable], by party: Party, key: String
    ) async throws -> [String: Any] {
        var request = HTTPClientRequest(url: "\(self.url)/api/v1/\(path)")
        request.method = method
        request.headers = [
            "authorization": "Bearer \(try await self.token(of: party))", "content-type": "application/json",
            "idempotency-key": key,
        ]
        if method != .GET { request.body = .bytes(try JSONSerialization.data(withJSONObject: body)) }
        let answer: HTTPClientResponse
        let bytes: Data
        do {
            answer = try await self.client.execute(request, timeout: Self.patience)
            bytes = Data(buffer: try await answer.body.collect(upTo: Self.longestAnswer))
        } catch  where !(error is CancellationError) {
            throw Refusal(description: "\(method.rawValue) \(path) was not answered: \(error).", isPassing: true)
        }
        let members = try? JSONSerialization.jsonObject(with: bytes) as? [String: Any]
        guard (200..<300).contains(answer.status.code) else {
            throw Refusal(
                description: "\(method.rawValue) \(path): \(answer.status.code) "
                    + (members?["detail"] as? String ?? String(decoding: bytes, as: UTF8.self)),
                isPassing: answer.status.code == 429 || answer.status.code >= 500)
        }
        return members ?? [:]
    }

    /// The visit, and who makes it.
    func prepare(destination: Coordinate?) async throws {
        try await self.ask(
            .PUT, "riders/\(Self.rider)", ["zone": Self.zone, "approved": true, "capacity": 3], by: .service)
        try await self.ask(.PATCH, "riders/me/status", ["status": "online"], by: .rider)
        var visit: [String: any Sendable] = [
            "job": Self.job.text, "kind": "service", "customer": Self.customer.text, "zone": Self.zone,
        ]
        if let destination { visit["destination"] = ["lat": destination.latitude, "lon": destination.longitude] }
        try await self.ask(.POST, "jobs", visit, by: .service)
        try await self.ask(.PUT, "jobs/\(Self.job)/assignment", ["rider": Self.rider.text], by: .service)
    }

    func set(_ status: String) async throws {
        try await self.ask(.POST, "jobs/\(Self.job)/status", ["status": status], by: .service)
    }

    /// The customer's page, by a new link.
    func customerPage() async throws -> String {
        let link = try await self.ask(.POST, "jobs/\(Self.job)/links", by: .service)
        guard let path = link["url"] as? String else { throw Refusal(description: "The link has no url.") }
        return self.url + path
    }

    /// A page for who signs in, by a code that is good once.
    func page(_ path: String, of party: Party) async throws -> String {
        let signIn = try await self.ask(.POST, "sign-ins", ["expiresInSeconds": 600], by: party)
        guard let code = signIn["code"] as? String else { throw Refusal(description: "The sign-in has no code.") }
        return "\(self.url)/\(path)#in.\(code)"
    }
}
