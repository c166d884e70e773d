// Tests of the client with a gateway whose limits are low, and with a network that redirects its requests.

import EnrouteNIO
import Foundation
import Subprocess
import Testing

@testable import Enroute

@Suite(.enabled(if: Stage.isBuilt), .serialized, .timeLimit(.minutes(5))) struct ClientNetworkTests {
    @Test func `with lowered limits many jobs are followed over one connection`() async throws {
        let limits = ["ENROUTE_LIMIT_MESSAGES_PER_SECOND": "5", "ENROUTE_LIMIT_MESSAGES_BURST": "10"]
        try await Stage.open(limits) { stage in
            let service = try await stage.client(role: "service", "orders")
            let jobs = (0..<40).compactMap { JobID("visit-\($0)") }
            for job in jobs { try await service.rest.createJob(.init(job, kind: .service, customer: "anna")) }
            try await until("it is open") { await service.connectionState.isOpen }
            let closes = Task {
                for await state in service.connectionStates {
                    if case .waiting(_, let close?) = state { return close.code }
                }
                return 0
            }
            var views: [Seen<JobView>] = []
            for job in jobs { views.append(await Seen(service.job(job))) }
            for view in views { try await until("each job is seen") { await view.last != nil } }
            #expect(await service.connectionState.isOpen)
            closes.cancel()
            #expect(await closes.value == 0)
        }
    }

    /// An HTTP server that redirects every POST, and responds to the request that follows with JSON.
    private static let redirecting = """
        from http.server import BaseHTTPRequestHandler, HTTPServer

        class Redirecting(BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"] or 0))
                self.answer(302, b"", {"Location": "/page"})

            def do_GET(self):
                self.answer(200, b"{}", {})

            def answer(self, status, body, headers):
                self.send_response(status)
                for name, value in {"Content-Length": len(body), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = HTTPServer(("127.0.0.1", 0), Redirecting)
        print(server.server_port, flush=True)
        server.serve_forever()
        """

    @Test func `no transport follows a redirect, and the request may succeed later`() async throws {
        _ = try await Subprocess.run(
            .name("python3"), arguments: ["-c", Self.redirecting], input: .none, output: .sequence, error: .discarded
        ) { server in
            defer { try? server.send(signal: .kill) }
            var lines = server.standardOutput.strings().makeAsyncIterator()
            let port = try #require(try await lines.next()).trimmingCharacters(in: .whitespacesAndNewlines)
            try await Self.expectNoRedirect(from: try #require(URL(string: "http://127.0.0.1:\(port)")))
        }
    }

    private static func expectNoRedirect(from gateway: URL) async throws {
        let transports: [any Transport] = [URLSessionTransport(), NIOTransport()]
        for transport in transports {
            let request = TransportRequest(method: "POST", url: gateway.appending(path: "x"), body: Data("{}".utf8))
            #expect(try await transport.send(request).status == 302, "\(transport)")
            let client = EnrouteClient(.init(gateway: gateway, transport: transport) { .token("t") })
            let error = await #expect(throws: EnrouteError.self) {
                _ = try await client.rest.send("POST", "/jobs/visit-1/status", body: Data("{}".utf8))
            }
            #expect(error?.code == .network && error?.isRetryable == true, "\(transport)")
        }
    }
}
