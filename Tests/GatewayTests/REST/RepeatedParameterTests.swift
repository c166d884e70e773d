import Testing

@testable import Gateway
@testable import REST

/// Queries that contain a parameter more than once.
@Suite struct RepeatedParameterTests {
    @Test(
        arguments: [
            ([], nil), ([""], nil), (["a", "b"], nil), (["a", "aa", "A"], nil), (["a", "", "", "b", ""], nil),
            (["a", "a"], "a"), (["b", "a", "c", "a", "b"], "a"), (["status", "st%61tus"], "status"),
            (["%C3%A4", "%c3%a4"], "ä"),
        ] as [([Substring], String?)])
    func `the first name that occurs again is found, percent-encoded or not`(names: [Substring], name: String?) {
        #expect(RepeatedParameters.first(of: names) == name)
    }

    private static func run(_ body: @escaping @Sendable (RunningGateway) async throws -> Void) async throws {
        try await within { try await RunningGateway.run(isSecure: false, { $0.limits.allowManyMessages() }, body) }
    }

    @Test(arguments: [
        ("jobs?zone=rome&status=assigned&status=cancelled", "status"), ("jobs?zone=rome&zone=milan", "zone"),
        ("jobs?customer=anna&limit=1&limit=2", "limit"), ("zones/rome/jobs?tracking=live&tracking=stale", "tracking"),
        ("zones/rome/riders/available?near=1,2&near=3,4", "near"), ("zones/rome/audit?limit=1&limit=1", "limit"),
        ("zones?unknown=1&unknown=2", "unknown"), ("texts?language=de&language=en", "language"),
    ])
    func `a repeated parameter of the REST interface is 400 and named`(path: String, name: String) async throws {
        try await Self.run { gateway in
            let answer = try await gateway.rest("GET", "/api/v1/\(path)", by: "olga", .ops)
            #expect(answer.status == 400 && answer.member("code") == "bad_request", "\(answer)")
            let detail: String = answer.member("detail") ?? ""
            #expect(detail.hasPrefix("The query contains \(name) more than once."), "\(detail)")
        }
    }

    @Test func `a repeated parameter changes nothing, and its name is repeated only if it can be one`() async throws {
        try await Self.run { gateway in
            let body = #"{"job":"job-1","kind":"service","customer":"anna"}"#
            let refused = try await gateway.rest(
                "POST", "/api/v1/jobs?%3Cb%3E=1&%3Cb%3E=2", by: "orders", .service, body)
            #expect(refused.status == 400 && !refused.text.contains("<b>"), "\(refused)")
            #expect(refused.text.contains("The query contains a parameter more than once."))
            #expect(try await gateway.rest("GET", "/api/v1/jobs/job-1", by: "orders", .service).status == 404)
            let several = try await gateway.rest(
                "GET", "/api/v1/jobs?zone=rome&status=assigned,cancelled", by: "olga", .ops)
            #expect(several.status == 200, "\(several)")
        }
    }

    @Test func `pages ignore repeated parameters, which other sites may have added`() async throws {
        try await Self.run { gateway in
            let page = try await gateway.rest("GET", "/ops?lang=de&lang=en&ref=a&ref=b", as: nil)
            #expect(page.status == 200)
        }
    }
}
