import Foundation
import Subprocess
import TestSupport
import Testing

@testable import enroute

/// `enroute job` and `enroute rider` with a running gateway.
@Suite struct ClientCommandTests {
    private static func json(_ outcome: CommandTests.Outcome) throws -> [String: Any] {
        try #require(
            try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any], "\(outcome.all)")
    }

    @Test func `in the folder of enroute dev every command works without an option`() async throws {
        _ = try await DevSession.run { dev in
            let created = try await dev.enroute([
                "job", "create", "visit-1", "--customer", "anna", "--rider", "rider-1", "--zone", "dev",
                "--destination", "-33.9,18.4", "--vehicle", "bicycle",
            ])
            #expect(created.code == 0 && created.output.contains(/(?m)^status +assigned$/), "\(created)")
            #expect(created.output.contains(/(?m)^destination +lat -33.9, lon 18.4$/), "\(created)")
            let shown = try await Self.json(dev.enroute(["job", "show", "visit-1", "--json", "--as", "customer"]))
            #expect(shown["status"] as? String == "assigned")
            #expect((shown["display"] as? [String: Any])?["vehicle"] as? String == "bicycle", "\(shown)")
            let changed = try await dev.enroute(["job", "status", "visit-1", "on_the_way"])
            #expect(changed.code == 0 && changed.output == "visit-1 is on_the_way.\n", "\(changed)")
            let log = try await dev.enroute(["job", "status", "visit-1"])
            #expect(log.output.matches(of: /(?m)^\S+Z  (assigned|on_the_way)$/).count == 2, "\(log)")
            let link = try await dev.enroute(["job", "link", "visit-1", "--viewers", "2", "--expires-in", "60"])
            #expect(link.output.hasPrefix("\(dev.url)/track/visit-1#"), "\(link)")
            let document = try await Self.json(dev.enroute(["job", "link", "visit-1", "--json"]))
            #expect(document["viewers"] as? Int == 5)

            let busy = try await dev.enroute(["rider", "offline"])
            #expect(busy.code == 1 && busy.error.contains("Active task (409). "), "\(busy)")
            #expect(busy.error.contains("Active tasks: visit-1."), "\(busy)")
            let online = try await dev.enroute(["rider", "online"])
            #expect(online.code == 0 && online.output.contains(/(?m)^status +online$/), "\(online)")
            let own = try await Self.json(dev.enroute(["rider", "show", "--json"]))
            #expect(own["rider"] as? String == "rider-1")
            let rider = try await dev.enroute(["rider", "show", "rider-1"])
            #expect(rider.output.contains(/(?m)^zone +dev$/), "\(rider)")
        }
    }

    @Test func `with --json, commands that change something print the gateway's response`() async throws {
        _ = try await DevSession.run { dev in
            let create = ["job", "create", "visit-1", "--customer", "anna", "--json"]
            let created = try await Self.json(dev.enroute(create))
            #expect(created["status"] as? String == "assigned" && created["epoch"] is String, "\(created)")
            let changed = try await Self.json(dev.enroute(["job", "status", "visit-1", "on_the_way", "--json"]))
            #expect(changed["status"] as? String == "on_the_way" && changed["id"] is String, "\(changed)")
            let log = try await Self.json(dev.enroute(["job", "status", "visit-1", "--json"]))
            let events = try #require(log["events"] as? [[String: Any]], "\(log)")
            #expect(events.map { $0["status"] as? String } == ["assigned", "on_the_way"])
            #expect(events.last?["id"] as? String == changed["id"] as? String)
            for status in ["online", "offline"] {
                let declared = try await Self.json(dev.enroute(["rider", status, "--json"]))
                #expect(
                    declared["status"] as? String == status && declared["rider"] as? String == "rider-1", "\(declared)")
            }
        }
    }

    @Test func `refusals repeat the problem document, each with its exit code`() async throws {
        _ = try await DevSession.run { dev in
            _ = try await dev.enroute(["job", "create", "visit-1", "--customer", "anna"])
            for (words, code, reason) in [
                (["job", "create", "visit-1", "--customer", "anna"], 1, "Conflict (409). "),
                (["job", "show", "nothing"], 1, "Not found (404). "),
                (["job", "status", "visit-1", "completed"], 1, "(409). "),
                (["job", "status", "visit-1", "work_in_progress", "--as", "customer"], 77, "Forbidden (403). "),
                (["job", "create", "x", "--customer", "anna", "--destination", "99,0"], 1, "Unprocessable (422). "),
                (["rider", "show", "nobody"], 1, "Not found (404). "),
                (["job", "follow", "nothing"], 1, "Not found (404). "),
                (
                    ["job", "show", "visit-1", "--url", "http://127.0.0.1:9"], 78,
                    "No token is set for http://127.0.0.1:9"
                ),
                (["job", "show", "visit-1", "--url", "http://evil.example"], 78, "No token is set"),
                (["job", "show", "visit-1", "--ca", "/nowhere.pem"], 78, "/nowhere.pem contains no PEM certificate"),
                (["job", "show", "a b"], 64, "is not a job id"), (["rider", "show", "a b"], 64, "is not a user id"),
                (["job", "status", "visit-1", "on_the_wey"], 64, "Did you mean on_the_way?"),
                (["job", "create", "x", "--customer", "a", "--destination", "41.9"], 64, "--destination must be"),
                (["job", "create", "x", "--customer", "a", "--kind", "parcel"], 64, "is not a kind of job"),
                (["job", "create", "x", "--customer", "a", "--vehicle", "ship"], 64, "--vehicle must be one of foot"),
            ] as [([String], Int32, String)] {
                let outcome = try await dev.enroute(words)
                #expect(outcome.code == code && outcome.error.contains(reason), "\(words): \(outcome)")
                #expect(outcome.output.isEmpty, "\(words): \(outcome)")
            }
        }
    }

    @Test func `the URL and the token come from the environment or from files`() async throws {
        _ = try await DevSession.run { dev in
            _ = try await dev.enroute(["job", "create", "visit-1", "--customer", "anna"])
            let token = dev.value("SERVICE")
            let file = "\(dev.folder)/token"
            try Data("\(token)\n".utf8).write(to: URL(filePath: file))
            let url = ["ENROUTE_CLIENT_URL": dev.url + "/"]
            // Run outside the folder.
            let show = ["job", "show", "visit-1"]
            for (words, settings) in [
                (show, url.merging(["ENROUTE_CLIENT_TOKEN": token]) { $1 }),
                (show, url.merging(["ENROUTE_CLIENT_TOKEN_FILE": file]) { $1 }),
                (show + ["--url", dev.url, "--token-file", file], [:]),
                (show, ["ENROUTE_CLIENT_FOLDER": "\(dev.folder)/\(DevFolder.name)"]),
            ] as [([String], [String: String])] {
                let outcome = try await CommandTests.run(words, environment: settings)
                #expect(outcome.code == 0 && outcome.output.contains("assigned"), "\(settings.keys): \(outcome)")
            }
            for (settings, code, reason) in [
                ([:], 78, "No gateway is named."), (url, 78, "No token is set."),
                (url.merging(["ENROUTE_CLIENT_TOKEN": "x.y.z"]) { $1 }, 77, "(401). The token was rejected."),
                (
                    ["ENROUTE_CLIENT_URL": "http://gateway.example", "ENROUTE_CLIENT_TOKEN": token], 78,
                    "must start with https://"
                ),
                (["ENROUTE_CLIENT_URL": "ftp://a", "ENROUTE_CLIENT_TOKEN": token], 78, "must be https://"),
                (
                    ["ENROUTE_CLIENT_URL": "https://127.0.0.1:73979", "ENROUTE_CLIENT_TOKEN": token], 78,
                    "with a port from 1 to 65535"
                ),
                (["ENROUTE_CLIENT_URL": "http://[::1", "ENROUTE_CLIENT_TOKEN": token], 78, "must be https://"),
                (["ENROUTE_CLIENT_URL": "http://127.0.0.1:9", "ENROUTE_CLIENT_TOKEN": token], 69, "No response from"),
                (
                    ["ENROUTE_CLIENT_URL": "http://127.0.0.1:9/shop/", "ENROUTE_CLIENT_TOKEN": token], 69,
                    "No response from http://127.0.0.1:9/shop:"
                ),
                (["ENROUTE_CLIENT_URL": "https://a/shop/v1", "ENROUTE_CLIENT_TOKEN": token], 78, "but not /v1"),
                (
                    url.merging(["ENROUTE_CLIENT_TOKEN": token, "ENROUTE_CLIENT_CA_FILE": "/no.pem"]) { $1 }, 78,
                    "/no.pem"
                ),
            ] as [([String: String], Int32, String)] {
                let outcome = try await CommandTests.run(show, environment: settings)
                #expect(outcome.code == code && outcome.error.contains(reason), "\(settings.keys): \(outcome)")
                #expect(!outcome.all.contains(token))
            }
        }
    }

    @Test func `following reconnects, resumes and ends with the job`() async throws {
        _ = try await DevSession.run { dev in
            let port = try #require(dev.url.split(separator: ":").last.flatMap { Int($0) })
            _ = try await dev.enroute(["job", "create", "visit-1", "--customer", "anna"])
            try await LossyProxy.running(to: .tcp(port: port)) { proxy in
                let proxyPort = try #require(proxy.endpoint.port)
                let settings = [
                    "ENROUTE_CLIENT_URL": "http://127.0.0.1:\(proxyPort)",
                    "ENROUTE_CLIENT_TOKEN": dev.value("CUSTOMER"),
                ]
                async let followed = CommandTests.run(["job", "follow", "visit-1"], environment: settings)
                try await becomes("it follows") { try await proxy.connectionCount == 2 }
                try await proxy.cut()
                try await becomes("it follows again") { try await proxy.connectionCount >= 3 }
                for status in ["on_the_way", "work_in_progress", "completed"] {
                    _ = try await dev.enroute(["job", "status", "visit-1", status])
                }
                let outcome = try await followed
                #expect(outcome.code == 0, "\(outcome)")
                #expect(outcome.error.contains("Reconnecting."))
                #expect(outcome.output.contains("assigned, tracking waiting"), "\(outcome)")
                #expect(outcome.output.contains("  completed\n"), "\(outcome)")
            }
            // A job that has ended is shown once.
            let ended = try await dev.enroute(["job", "follow", "visit-1", "--json"])
            #expect(ended.code == 0)
            let types = try ended.output.split(separator: "\n").map { line in
                try (JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])?["type"] as? String ?? ""
            }
            #expect(types.contains("subscribed"), "\(types)")
        }
    }

    @Test func `a gateway with its own CA is used over TLS only when the CA is named`() async throws {
        try await RoadTests.withFolder { folder in
            try await withServer { redis in
                let ca = folder.appending(path: "certificate.pem").path
                try await RoadTests.withGateway(folder, redis) { port, _ in
                    let token = try await CommandTests.run(
                        ["token", "--role", "service", "orders"],
                        environment: ["ENROUTE_TOKEN_SECRET": RoadTests.secret])
                    let settings = [
                        "ENROUTE_CLIENT_URL": "https://localhost:\(port)",
                        "ENROUTE_CLIENT_TOKEN": token.output.trimmingCharacters(in: .whitespacesAndNewlines),
                    ]
                    let create = ["job", "create", "visit-1", "--customer", "anna"]
                    let refused = try await CommandTests.run(create, environment: settings)
                    #expect(refused.code == 69 && refused.error.contains("No response from"), "\(refused)")
                    let created = try await CommandTests.run(create + ["--ca", ca], environment: settings)
                    #expect(created.code == 0 && created.output.contains("assigned"), "\(created)")
                    let trusting = settings.merging(["ENROUTE_CLIENT_CA_FILE": ca]) { $1 }
                    let cancelled = try await CommandTests.run(
                        ["job", "status", "visit-1", "cancelled"], environment: trusting)
                    #expect(cancelled.code == 0, "\(cancelled)")
                    let followed = try await CommandTests.run(["job", "follow", "visit-1"], environment: trusting)
                    #expect(followed.code == 0 && followed.output.contains("cancelled"), "\(followed)")
                }
            }
        }
    }

    @Test func `no token is in the arguments of a process`() async throws {
        _ = try await DevSession.run { dev in
            _ = try await dev.enroute(["job", "create", "visit-1", "--customer", "anna"])
            let tokens = ["CUSTOMER", "RIDER", "SERVICE", "OPERATIONS"].map(dev.value)
            let output = try await dev.shell(
                """
                \(CommandTests.binary) job follow visit-1 > followed & pid=$!
                until grep -q assigned followed; do kill -0 $pid; done
                tr '\\0' ' ' < /proc/$pid/cmdline
                """)
            #expect(output.contains("job follow") && tokens.allSatisfy { !$0.isEmpty && !output.contains($0) })
        }
    }
}
