import Testing

@testable import Gateway

/// The validator of responses: above all, that it refuses undocumented ones.
@Suite struct OpenAPITests {
    private static let trace = "traceresponse: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    private static let ticket = #"{"ticket":"5f0c2e7a91b34d6688e0c1a2b3d4e5f6","expiresInSeconds":60}"#
    private static let json = "content-type: application/json; charset=utf-8"

    private static func faults(_ status: Int, _ headers: [String], _ body: String) throws -> [String] {
        let operation = try #require(try OpenAPI().operation("POST", "/api/v1/tickets"))
        let head = (["HTTP/1.1 \(status) Whatever"] + headers).joined(separator: "\r\n")
        return operation.faults(of: RESTResponse(Array("\(head)\r\n\r\n\(body)".utf8)))
    }

    @Test func `a documented response has no faults`() throws {
        #expect(try Self.faults(201, [Self.trace, Self.json], Self.ticket) == [])
    }

    @Test(
        arguments: [
            (200, [trace, json], ticket, "createTicket 200 is not documented"),
            (201, [json], ticket, "the header traceresponse is missing"),
            (201, ["traceresponse: 1", json], ticket, "traceresponse: pattern is"),
            (201, [trace, json, "ETag: \"a\""], ticket, "the header ETag is not documented"),
            (201, [trace, "content-type: text/plain"], ticket, "the media type text/plain is not documented"),
            (201, [trace, json], "{", "is not JSON"),
            (201, [trace, json], #"{"expiresInSeconds":60}"#, "ticket is missing"),
            (201, [trace, json], ticket.replacing("60", with: "61"), "expiresInSeconds: maximum is"),
            (201, [trace, json], ticket.replacing("}", with: #","more":1}"#), "more is not documented"),
        ] as [(Int, [String], String, String)])
    func `the faults of an undocumented response say how it differs`(
        status: Int, headers: [String], body: String, fault: String
    ) throws {
        let faults = try Self.faults(status, headers, body)
        #expect(faults.count == 1 && faults[0].contains(fault), "\(faults)")
    }

    @Test(arguments: [
        ("PUT", "note", #"{"note":"%"}"#), ("PUT", "operations-note", #"{"text":"%"}"#),
        ("POST", "corrections", #"{"status":"in_transit","reason":"%"}"#),
    ])
    func `a text of nothing but spaces does not match its schema, and other texts do`(
        method: String, path: String, body: String
    ) throws {
        let operation = try #require(try OpenAPI().operation(method, "/api/v1/jobs/j1/\(path)"))
        func faults(_ text: String) -> [String] {
            operation.faults(ofBody: body.replacing("%", with: text), "application/json")
        }
        for text in [" ", "   ", #"\n"#, #" \n\n "#, #"\u00a0"#] { #expect(faults(text) != [], "\(text)") }
        for text in ["a", " a ", "Gate 4711, third floor"] { #expect(faults(text) == []) }
        #expect((faults(#"a\n b "#) == []) == (path != "corrections"), "a reason is one line")
        #expect((faults("") == []) == (path == "note"), "only an empty note removes the stored one")
    }

    @Test func `a request is found by its path, with any value for a parameter`() throws {
        let document = try OpenAPI()
        #expect(document.operation("GET", "/api/v1/jobs/j1?since=7")?.id == "readJob")
        #expect(document.operation("GET", "/api/v1/jobs/j1/log")?.id == "readStatusLog")
        #expect(document.operation("PATCH", "/api/v1/jobs/j1") == nil)
        #expect(document.operation("PUT", "/api/v1/jobs") == nil)
    }
}
