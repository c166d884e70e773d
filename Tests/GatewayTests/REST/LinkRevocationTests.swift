import EnrouteWire
import LiveState
import TestSupport
import Testing

/// `DELETE /api/v1/grants/links/{id}`: a person who finds a leaked URL knows the secret, not the id.
@Suite struct LinkRevocationTests {
    private static func link(
        of job: JobID, _ gateway: RunningGateway
    ) async throws -> (secret: String, id: String) {
        let made = try await gateway.rest("POST", "/api/v1/jobs/\(job)/links", by: "orders", .service, "{}")
        return (try #require(made.member("link") as String?), try #require(made.member("id") as String?))
    }

    private static func revoke(_ text: String, _ gateway: RunningGateway) async throws -> RESTResponse {
        try await gateway.rest("DELETE", "/api/v1/grants/links/\(text)", by: "orders", .service)
    }

    private static func revoked(_ gateway: RunningGateway) async throws -> [RevocationLog.Entry] {
        try await RevocationLog(ledger: gateway.client, settings: gateway.settings.liveState).read(from: "-").get()
    }

    @Test func `a link is revoked by its id or its secret, and Redis never stores the secret`() async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let job = try await gateway.travellingJob()
                for isSecret in [false, true] {
                    let link = try await Self.link(of: job, gateway)
                    #expect(try await Self.revoke(isSecret ? link.secret : link.id, gateway).status == 204)
                    let entry = try #require(try await Self.revoked(gateway).last)
                    #expect(entry.revocation?.subject.id == link.id)
                    // Repeating the request has the same result.
                    #expect(try await Self.revoke(isSecret ? link.secret : link.id, gateway).status == 204)
                    #expect(try await Self.revoked(gateway).allSatisfy { !$0.fields.contains(link.secret) })
                }
            }
        }
    }

    @Test(arguments: ["x", String(repeating: "A", count: 32), String(repeating: "0", count: 31)])
    func `an id in another form is refused, and the answer says where the id is`(text: String) async throws {
        try await within {
            try await RunningGateway.run(isSecure: false) { gateway in
                let answer = try await Self.revoke(text, gateway)
                #expect(answer.status == 400)
                let detail = try #require(answer.member("detail") as String?)
                #expect(detail.contains("32 hexadecimal digits in lower case"), "\(detail)")
                #expect(detail.contains("The response that created the link contains it."), "\(detail)")
                #expect(try await Self.revoked(gateway).isEmpty)
            }
        }
    }
}
