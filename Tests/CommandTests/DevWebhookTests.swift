import Crypto
import Foundation
import TestSupport
import Testing

@testable import enroute

/// `enroute dev --webhook`: events reach a program on this machine.
@Suite struct DevWebhookTests {
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    @Test func `a program on this machine receives signed events, and a test`() async throws {
        try await ProviderServer.running({ _ in .json("{}") }) { receiver in
            // It listens on 127.0.0.1 only, and localhost may be ::1 first.
            let url = "http://localhost:\(receiver.port)/hooks"
            _ = try await DevSession.run(["--webhook", url]) { dev in
                #expect(dev.lines.contains("# Events go to \(url)."))
                let printed = dev.lines.filter { !$0.hasPrefix("time=") }
                #expect(printed.allSatisfy { $0.count <= DevGuide.width }, "\(printed)")
                _ = try await dev.enroute(["job", "create", "visit-1", "--customer", "anna"])
                try await becomes("the event of the new job arrives") {
                    try receiver.questions.contains {
                        let event = try Self.event($0.body)
                        return event.type == "enroute.job.created" && event.subject == "visit-1"
                    }
                }
                let output = try await dev.shell(try Self.test(in: dev.lines))
                #expect(output.contains(#""delivered":true"#), "\(output)")
                let requests = receiver.questions
                #expect(requests.allSatisfy { $0.method == "POST" && $0.uri == "/hooks" })
                #expect(try requests.contains { try Self.event($0.body).type == "enroute.webhook.test" })
                let secret = dev.value("WEBHOOK_SECRET")
                for request in requests {
                    let expected = try Self.signature(of: request, with: secret)
                    #expect(request.headers["webhook-signature"] == [expected])
                }
            }
        }
    }

    @Test func `several endpoints share a given secret, and --json contains all of this`() async throws {
        let urls = ["http://127.0.0.1:1/a", "https://127.0.0.1:1/b"]
        let words = urls.flatMap { ["--webhook", $0] } + ["--webhook-secret", Self.secret, "--json"]
        _ = try await DevSession.run(words) { dev in
            struct Document: Decodable {
                var variables: [String]
                var steps: [DevGuide.Step]
                var webhooks: [DevWebhook]
            }
            let line = try #require(dev.lines.last)
            let document = try JSONDecoder().decode(Document.self, from: Data(line.utf8))
            #expect(document.webhooks.map(\.url) == urls)
            #expect(document.webhooks.allSatisfy { $0.secret == Self.secret })
            #expect(document.variables.contains(DevGuide.export("WEBHOOK_SECRET", Self.secret)))
            let tests = document.steps.filter { $0.command.contains("/test\"") }
            #expect(tests.count == 2)
            let script = (document.variables + tests.map(\.command)).joined(separator: "\n")
            let output = try await dev.shell(script)
            #expect(output.matches(of: /"delivered":false/).count == 2, "\(output)")
        }
    }

    @Test func `the receiver of the guide verifies events, even those from before it was started`() async throws {
        let guide = try String(contentsOf: Checkout.root.appending(path: "deploy/webhooks.md"), encoding: .utf8)
        let program = try #require(guide.firstMatch(of: /```python\n((?s:.+?))```/)?.1)
        let port = try await freePort()
        try #require(program.contains("3001"))
        _ = try await DevSession.run(["--webhook", "http://localhost:\(port)/hooks"]) { dev in
            try Data(program.replacing("3001", with: "\(port)").utf8)
                .write(to: URL(filePath: "\(dev.folder)/receive.py"))
            _ = try await dev.enroute(["job", "create", "visit-1", "--customer", "anna"])
            let secret = "export WEBHOOK_SECRET=\(dev.value("WEBHOOK_SECRET"))\n"
            let output = try await dev.shell(secret + "python3 receive.py", until: "enroute.job.created")
            #expect(output.contains(#""subject":"visit-1""#), "\(output)")
            let forged = """
                python3 receive.py &
                curl -sS -o /dev/null --retry 30 --retry-delay 1 --retry-connrefused http://127.0.0.1:\(port)
                curl -sS -o /dev/null -w 'forged: %{http_code}\\n' -d '{}' -H 'webhook-id: x' \
                -H "webhook-timestamp: $(date +%s)" -H 'webhook-signature: v1,x' http://127.0.0.1:\(port)
                """
            let refused = try await dev.shell(secret + forged, until: "forged: ")
            #expect(refused.contains("forged: 401"), "\(refused)")
        }
    }

    @Test func `an endpoint at a private address is refused`() async throws {
        try await RoadTests.withFolder { folder in
            try await Turns.servers.take {
                let outcome = try await CommandTests.run([
                    "dev", "--port", "0", "--folder", "\(folder.path)/dev", "--webhook", "https://10.0.0.1/",
                ])
                #expect(outcome.code == 64 && outcome.error.contains("is not public"), "\(outcome)")
                #expect(!FileManager.default.fileExists(atPath: "\(folder.path)/dev"))
            }
        }
    }

    // MARK: what arrives

    private struct Event: Decodable {
        var type: String
        var subject: String
    }

    private static func event(_ body: [UInt8]) throws -> Event {
        try JSONDecoder().decode(Event.self, from: Data(body))
    }

    /// The lines that set variables, and the command that sends a test.
    private static func test(in lines: [String]) throws -> String {
        let parts = lines.joined(separator: "\n").split(separator: "\n\n").map(String.init)
        let variables = try #require(parts.first { $0.contains("\nexport ") })
        return variables + "\n" + (try #require(parts.first { $0.contains("/test\"") }))
    }

    /// As the specification says, without Enroute's code.
    private static func signature(of request: ProviderServer.Question, with secret: String) throws -> String {
        let key = try #require(Data(base64Encoded: String(secret.dropFirst("whsec_".count))))
        let id = try #require(request.headers.first(name: "webhook-id"))
        let time = try #require(request.headers.first(name: "webhook-timestamp"))
        let code = HMAC<SHA256>.authenticationCode(
            for: Data("\(id).\(time).".utf8) + Data(request.body), using: SymmetricKey(data: key))
        return "v1," + Data(code).base64EncodedString()
    }
}
