import Foundation
import TestSupport
import Testing

@testable import OutboundHTTP

/// The client against misbehaving servers on loopback.
@Suite struct OutboundHTTPTests {
    private static func answer(
        from behaviour: @escaping ProviderServer.Behaviour, wait: Duration = longestSettling, bytes: Int = 1000,
        to question: (String) -> OutboundRequest = { OutboundRequest(url: $0) }
    ) async throws -> (Result<OutboundResponse, OutboundFailure>, questions: [ProviderServer.Question]) {
        try await ProviderServer.running(behaviour) { server in
            let http = try OutboundHTTP(longestWait: wait, longestAnswer: bytes)
            do throws(OutboundFailure) {
                return (.success(try await http.send(question(server.url))), server.questions)
            } catch {
                return (.failure(error), server.questions)
            }
        }
    }

    @Test func `a response is complete, with status and headers`() async throws {
        let (result, questions) = try await Self.answer(
            from: { _ in .json("{}", status: 404, headers: ["Retry-After": "7"]) },
            to: { OutboundRequest(method: .post, url: "\($0)/a?b", headers: ["x-key": "secret"], body: [1, 2]) })
        let answer = try result.get()
        #expect(answer.status == 404 && answer.body == Array("{}".utf8) && answer.header("retry-after") == "7")
        let question = try #require(questions.first)
        #expect(question.method == "POST" && question.uri == "/a?b" && question.body == [1, 2])
        #expect(question.headers["x-key"] == ["secret"] && question.headers["user-agent"] == ["enroute"])
    }

    @Test func `a redirect is returned like any other response and not followed`() async throws {
        let (result, questions) = try await Self.answer(from: { _ in
            .json("", status: 302, headers: ["Location": "http://127.0.0.1:1/"])
        })
        #expect(try result.get().status == 302)
        #expect(questions.count == 1)
    }

    @Test func `a response that is too long is rejected with its status`() async throws {
        let (result, _) = try await Self.answer(from: { _ in .bytes(1001) })
        #expect(throws: OutboundFailure.tooLong(status: 200)) { try result.get() }
        #expect(try await Self.answer(from: { _ in .bytes(1000) }).0.get().body.count == 1000)
    }

    @Test(arguments: [ProviderServer.Answer.silence, .stuck("begun")])
    func `a server that never answers or stops halfway times out`(answer: ProviderServer.Answer) async throws {
        let (result, questions) = try await Self.answer(from: { _ in answer }, wait: .milliseconds(200))
        #expect(throws: OutboundFailure.late) { try result.get() }
        #expect(questions.count <= 1)
    }

    @Test(arguments: [ProviderServer.Answer.stuck("begun", status: 503), .json("{}", status: 503)])
    func `the status of a response does not depend on the rest of it`(answer: ProviderServer.Answer) async throws {
        try await ProviderServer.running({ _ in answer }) { server in
            let http = try OutboundHTTP(longestWait: longestSettling, longestAnswer: 1)
            #expect(try await http.status(of: OutboundRequest(url: server.url)) == 503)
        }
    }

    @Test(arguments: [ProviderServer.Answer.silence, .hangUp])
    func `a server that sends no status fails`(answer: ProviderServer.Answer) async throws {
        try await ProviderServer.running({ _ in answer }) { server in
            let http = try OutboundHTTP(longestWait: .milliseconds(200), longestAnswer: 1)
            await #expect(throws: OutboundFailure.self) { try await http.status(of: OutboundRequest(url: server.url)) }
        }
    }

    @Test func `a server that disconnects is queried only once`() async throws {
        let (result, questions) = try await Self.answer(from: { _ in .hangUp })
        #expect {
            try result.get()
        } throws: {
            if case .unreachable? = $0 as? OutboundFailure { true } else { false }
        }
        #expect(questions.count == 1)
    }

    @Test func `the loggable reason of a failure reveals nothing about the request`() async throws {
        let http = try OutboundHTTP(longestWait: longestSettling, longestAnswer: 1)
        do {
            // Nothing listens on port 1 of loopback.
            _ = try await http.send(OutboundRequest(url: "http://127.0.0.1:1/secret?key=secret"))
            Issue.record("something listens on port 1")
        } catch OutboundFailure.unreachable(_, let withoutAddress) {
            #expect(withoutAddress == "Connection refused")
        }
        #expect("\(OutboundRequest(url: "https://secret"))" == "<a request to another service>")
        #expect(Mirror(reflecting: OutboundRequest(url: "https://secret")).children.isEmpty)
    }

    @Test func `the reason for a failure is a response that is not HTTP`() async throws {
        try await FakePort.running(greeting: "", answer: "not HTTP\r\n\r\n") { port in
            let http = try OutboundHTTP(longestWait: longestSettling, longestAnswer: 1)
            let reason = "the response is not valid HTTP"
            await #expect(throws: OutboundFailure.unreachable(reason: reason, withoutAddress: reason)) {
                try await http.send(OutboundRequest(url: "http://127.0.0.1:\(port)/"))
            }
        }
    }

    @Test func `connections reopen for the next request after a shutdown`() async throws {
        try await ProviderServer.running({ _ in .json("{}") }) { server in
            let connections = OutboundConnections(
                try OutboundHTTP(longestWait: longestSettling, longestAnswer: 1000))
            for _ in 0..<2 {
                #expect(try await connections.send(OutboundRequest(url: server.url)).status == 200)
                await connections.shutdown()
            }
        }
    }

    /// AsyncHTTPClient ends a debug build in which a client is released before its shutdown.
    @Test func `connections that a request has opened after the shutdown are closed with their owner`() async throws {
        try await ProviderServer.running({ _ in .json("{}") }) { server in
            weak var released: OutboundConnections?
            do {
                let connections = OutboundConnections(
                    try OutboundHTTP(longestWait: longestSettling, longestAnswer: 1000))
                released = connections
                await connections.shutdown()
                #expect(try await connections.send(OutboundRequest(url: server.url)).status == 200)
            }
            try await becomes("the connections are released") { released == nil }
        }
    }

    @Test func `a pinned client connects to the given address, and resolves no name`() async throws {
        try await ProviderServer.running({ _ in .json("{}") }) { server in
            let port = server.url.split(separator: ":").last ?? ""
            let http = try OutboundHTTP(longestWait: longestSettling, longestAnswer: 1000)
                .pinned("receiver.invalid", to: ["127.0.0.1"], connections: 1)
            let answer = try await http.send(OutboundRequest(url: "http://receiver.invalid:\(port)/"))
            #expect(answer.status == 200)
            #expect(server.questions.first?.headers["host"] == ["receiver.invalid:\(port)"])
        }
    }

    @Test func `a request goes to the first address that accepts a connection, and the next one starts there`()
        async throws
    {
        try await ProviderServer.running({ _ in .json("{}") }) { server in
            let http = try OutboundHTTP(longestWait: longestSettling, longestAnswer: 1000)
                .pinned("receiver.invalid", to: ["127.0.0.2", "127.0.0.1", "127.0.0.3"], connections: 1)
            let request = OutboundRequest(url: "http://receiver.invalid:\(server.port)/")
            #expect(try await http.send(request).status == 200)
            #expect(try await http.status(of: request) == 200)
            let connections = OutboundConnections(http)
            for _ in 0..<2 { #expect(try await connections.send(request).status == 200) }
            #expect(server.questions.count == 4 && server.connections == 3)
            await connections.shutdown()
        }
    }

    @Test func `an address where TLS gets no response leaves time for the next one`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-outbound-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let authority = try TestAuthority()
        let files = try authority.issue(.server(name: "receiver.invalid"), into: folder, as: "receiver")
        let authorities = try authority.write(into: folder)
        try await FakePort.running(greeting: "") { port in
            try await ProviderServer.running(
                host: "127.0.0.2", port: port, { _ in .json("{}") }, certificate: files
            ) { server in
                let connections = OutboundConnections(
                    try OutboundHTTP(authorities: authorities, longestWait: .seconds(6), longestAnswer: 1000)
                        .pinned("receiver.invalid", to: ["127.0.0.1", "127.0.0.2"], connections: 1))
                let request = OutboundRequest(url: "https://receiver.invalid:\(port)/")
                #expect(try await connections.send(request, within: longestSettling).status == 200)
                #expect(server.questions.count == 1)
                await connections.shutdown()
            }
        }
    }

    @Test func `a request that may have arrived is not sent to another address`() async throws {
        try await ProviderServer.running({ _ in .hangUp }) { first in
            try await ProviderServer.running(host: "127.0.0.2", port: first.port, { _ in .json("{}") }) { second in
                let http = try OutboundHTTP(longestWait: longestSettling, longestAnswer: 1000)
                    .pinned("receiver.invalid", to: ["127.0.0.1", "127.0.0.2"], connections: 1)
                await #expect(throws: OutboundFailure.self) {
                    try await http.send(OutboundRequest(url: "http://receiver.invalid:\(first.port)/"))
                }
                #expect(first.questions.count == 1 && second.questions.isEmpty)
            }
        }
    }

    @Test func `the error for a CA file without a certificate contains its path`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "none-\(UUID()).pem").path
        #expect {
            try OutboundHTTP(authorities: path, longestWait: .seconds(1), longestAnswer: 1)
        } throws: {
            ($0 as? NoCertificates)?.path == path
        }
    }
}
