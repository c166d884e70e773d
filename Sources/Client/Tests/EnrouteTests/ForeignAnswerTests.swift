// Tests of REST responses that do not come from a gateway: a proxy's, a redirect, or the page of a network that
// requires a sign-in.

import Foundation
import Testing

@testable import Enroute

/// Responds to every request in the same way.
private struct FixedTransport: Transport {
    let response: TransportResponse

    func connect(to url: URL, subprotocol: String) async throws -> any TransportSocket {
        throw TransportError("There is no WebSocket here.")
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse { self.response }
}

@Suite struct ForeignAnswerTests {
    private static let page = "<!DOCTYPE html><title>Sign in</title>"

    private func rest(_ status: Int, _ body: String, _ headers: [String: String] = [:]) throws -> RESTClient {
        let response = TransportResponse(status: status, headers: headers, body: Data(body.utf8))
        let gateway = try #require(URL(string: "https://track.example"))
        return EnrouteClient(.init(gateway: gateway, transport: FixedTransport(response: response)) { .token("t") })
            .rest
    }

    private func error(_ rest: RESTClient) async throws -> EnrouteError {
        let error = await #expect(throws: EnrouteError.self) {
            _ = try await rest.send("POST", "/jobs/visit-1/status", body: Data("{}".utf8))
        }
        return try #require(error)
    }

    @Test(arguments: [
        (200, page), (200, "ok"), (201, page), (202, "\u{FEFF}{"), (302, ""), (301, page), (307, "{}"), (303, ""),
    ])
    func `an answer that no gateway sends is a network error, and the request may succeed later`(
        status: Int, body: String
    ) async throws {
        let error = try await self.error(self.rest(status, body))
        #expect(error.code == .network && error.isRetryable)
        #expect(error.message.contains("HTTP \(status)"), "\(error.message)")
        let typed = await #expect(throws: EnrouteError.self) { try await self.rest(status, body).job("visit-1") }
        #expect(typed?.code == .network && typed?.isRetryable == true)
    }

    @Test(arguments: [(200, "[]"), (200, #"{"a":1}"#), (200, "7"), (204, ""), (202, ""), (304, "")])
    func `an answer with JSON or without a body is returned`(status: Int, body: String) async throws {
        let answer = try await self.rest(status, body).send("GET", "/jobs/visit-1")
        #expect(answer.status == status && answer.body == Data(body.utf8))
    }

    @Test(arguments: [408, 425, 429, 500, 502, 503, 504])
    func `after the refusal of a proxy the request may succeed later`(status: Int) async throws {
        let error = try await self.error(self.rest(status, Self.page, ["retry-after": "7"]))
        #expect(error.isRetryable && error.httpStatus == status && error.retryAfter == .seconds(7))
        #expect(error.code == (status == 429 ? .rateLimited : .internal))
    }

    @Test(arguments: [400, 401, 403, 404, 405, 413, 422])
    func `other refusals of a proxy are final`(status: Int) async throws {
        #expect(try await !self.error(self.rest(status, Self.page)).isRetryable)
    }

    @Test func `the gateway's problem document decides whether a 429 is final`() async throws {
        let problem = #"{"code":"limit_exceeded","title":"Too many","status":429,"retryable":false}"#
        let error = try await self.error(self.rest(429, problem))
        #expect(error.code == .limitExceeded && !error.isRetryable)
    }

    @Test func `the gateway's time in a problem document is read`() async throws {
        let problem = #"{"code":"future_position","title":"no","serverTime":1795248617940}"#
        #expect(try await self.error(self.rest(422, problem)).serverTime == 1_795_248_617_940)
    }

    @Test func `in the background a reading waits for the network behind a sign-in page`() {
        var client = PlayedClient.open()
        client.connection { connection, _ in connection.suspend() }
        let at = client.moment.wall
        client.change { $0.report(.at(at), jobs: ["visit-1"], battery: nil, at: $1) }
        client.change { $0.posted(.failure(.unreachable("a page")), sequence: 1, jobs: ["visit-1"], at: $1) }
        client.pass(1_000)
        #expect(client.posts.count == 2 && client.posts.last?.fixes.first?.at == Int64(at) && client.outcomes.isEmpty)
    }

    @Test func `a proxy that asks for a day of silence in the background gets ten minutes`() {
        var client = PlayedClient.open()
        client.connection { connection, _ in connection.suspend() }
        func report() {
            let at = client.moment.wall
            client.change { $0.report(.at(at), jobs: ["visit-1"], battery: nil, at: $1) }
        }
        report()
        let refusal = EnrouteError(.rateLimited, "no", isRetryable: true, retryAfter: .seconds(86_400))
        client.change { $0.posted(.failure(refusal), sequence: 1, jobs: ["visit-1"], at: $1) }
        client.pass(Reconnecting.longestNotBefore - 1)
        report()
        #expect(client.posts.count == 1)
        client.pass(1)
        #expect(client.posts.count == 2)
    }
}
