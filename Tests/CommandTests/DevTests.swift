import Foundation
import Subprocess
import TestSupport
import Testing

@testable import enroute

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

/// `enroute dev` from start to stop.
@Suite struct DevTests {
    @Test func `every printed line runs as printed, and does what its comment says`() async throws {
        let ended = try await DevSession.run { dev in
            #expect(dev.lines.allSatisfy { $0.count <= DevGuide.width }, "\(dev.lines)")
            #expect(Set(["CUSTOMER", "RIDER", "SERVICE", "OPERATIONS"].map(dev.value)).count == 4)
            // Each comment and the command after it. The lines before the first command set variables.
            let parts = dev.lines.joined(separator: "\n").split(separator: "\n\n").map(String.init)
            let commands = parts.filter { $0.contains("\ncurl ") || $0.contains("\nnode ") }
            #expect(commands.count == 7 && commands.filter { $0.contains("\ncurl ") }.count == 6, "\(parts)")
            let variables = try #require(parts.first { $0.contains("\nexport ") })
            let endless = commands.filter { $0.contains("Ctrl-C") }
            let steps = commands.filter { !endless.contains($0) }
            #expect(endless.count == 2)
            let output = try await dev.shell(([variables] + steps).joined(separator: "\n\n"))
            #expect(!output.contains("urn:enroute:problem"), "\(output)")
            for expected in [
                #""status":"assigned""#, #""job":"visit-1""#, #""status":"on_the_way""#, #""active":true"#,
                #""accepted":["visit-1"]"#,
            ] {
                #expect(output.contains(expected), "no \(expected) in \(output)")
            }
            let events = try await dev.shell("\(variables)\n\n\(endless[0])", until: "41.9028")
            #expect(events.contains(#""type":"subscribed""#) && events.contains("41.9028"), "\(events)")
            let node = try await dev.shell("\(variables)\n\n\(endless[1])", until: "41.9028")
            #expect(node.contains("on_the_way, ") && node.contains("41.9028, 12.4964"), "\(node)")
        }
        #expect(ended.left.isEmpty)
        // The gateway's log, on standard error, may end later.
        let printed = ended.lines.filter { !$0.hasPrefix("time=") }
        #expect(printed.last?.contains("stopped") == true, "\(ended.lines)")
    }

    @Test(arguments: [Signal.interrupt, .terminate, .kill])
    func `no process is left however it is stopped, and no folder unless it is killed`(signal: Signal) async throws {
        var folder = ""
        let ended = try await DevSession.run(["--seed-jobs", "1"], ending: signal) { dev in
            folder = "\(dev.folder)/\(DevFolder.name)"
            #expect(try DemoTests.processes(naming: dev.folder).count == 1, "its redis-server")
            let modes = try await dev.shell(
                "stat -c %a .enroute-dev .enroute-dev/client.json .enroute-dev/signing.json")
            #expect(modes == "700\n600\n600\n")
        }
        #expect(ended.left.isEmpty)
        #expect(!folder.isEmpty)
        #expect(ended.lines.contains { $0.contains("seed-1") })
    }

    @Test func `enroute token makes and explains tokens for other people in the folder of enroute dev`() async throws {
        _ = try await DevSession.run { dev in
            let made = try await dev.enroute(["token", "rider-2", "--role", "rider", "--lifetime", "60"])
            #expect(made.code == 0, "\(made)")
            let token = made.output.trimmingCharacters(in: .whitespacesAndNewlines)
            let request = "curl -sS -H 'Authorization: Bearer \(token)' \(dev.url)/api/v1/jobs?rider=me"
            #expect(try await dev.shell(request).contains(#""jobs":[]"#))
            let explained = try await dev.enroute(["token", "inspect", token])
            #expect(explained.code == 0 && explained.output.contains("rider-2"), "\(explained)")
            // Settings with a key take precedence.
            let other = try await dev.enroute(
                ["token", "inspect", token], environment: ["ENROUTE_TOKEN_SECRET": RoadTests.secret])
            #expect(other.code == 65, "\(other)")
            // Outside the folder there is no secret, unless the folder is named.
            let make = ["token", "rider-2", "--role", "rider"]
            let outside = try await CommandTests.run(make)
            #expect(outside.code == 78 && outside.error.contains("run `enroute dev` in this folder"), "\(outside)")
            let named = try await CommandTests.run(
                make, environment: ["ENROUTE_CLIENT_FOLDER": "\(dev.folder)/\(DevFolder.name)"])
            #expect(named.code == 0, "\(named)")
            for (words, advice) in [
                (["explain", "visit-1"], "GET /api/v1/jobs/<job>/explanation"), (["webhooks", "list"], "--webhook"),
                (["revoke", "user", "anna"], "DELETE /api/v1/grants/users/<user>"),
                (["audit"], "GET /api/v1/zones/<zone>/audit"),
            ] {
                let refused = try await dev.enroute(words)
                #expect(refused.code == 78 && refused.error.contains("With `enroute dev`, "), "\(refused)")
                #expect(refused.error.contains(advice), "\(words): \(refused)")
            }
        }
    }

    @Test func `with --seed-jobs riders move`() async throws {
        _ = try await DevSession.run(["--seed-jobs", "2"]) { dev in
            for job in ["seed-1", "seed-2"] {
                try await becomes("\(job) has a position") {
                    let shown = try await dev.enroute(["job", "show", job, "--as", "customer"])
                    return shown.code == 0 && shown.output.contains("position") && shown.output.contains("on_the_way")
                }
            }
        }
    }

    @Test func `--json prints one line with everything that scripts need`() async throws {
        let ended = try await DevSession.run(["--json"]) { dev in
            let line = try #require(dev.lines.last)
            let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            let tokens = try #require(object["tokens"] as? [String: String])
            #expect(Set(tokens.keys) == ["customer", "rider", "service", "ops"])
            let (url, variables) = (object["url"] as? String, object["variables"] as? [String])
            #expect(url?.hasPrefix("http://127.0.0.1:") == true && (object["steps"] as? [Any])?.count == 7)
            let script = try #require(variables).joined(separator: "\n") + "\necho \"$SERVICE\""
            let (printed, token) = (try await dev.shell(script), try #require(tokens["service"]))
            #expect(printed == token + "\n")
        }
        #expect(ended.lines.filter { !$0.hasPrefix("time=") }.count == 1, "\(ended.lines)")
    }

    @Test func `pages of this machine may connect, and no others`() async throws {
        _ = try await DevSession.run { dev in
            let origins = [
                ("http://localhost:3000", "101"), ("https://127.0.0.1", "101"), ("http://[::1]:8000", "101"),
                (dev.url, "101"), ("https://evil.example", "403"), ("http://localhost.evil.example", "403"),
                ("null", "403"),
            ]
            // Run concurrently, because curl waits for the end of each connection.
            let requests = origins.map { origin, _ in
                """
                curl -sS -m 20 -o /dev/null -w '\(origin) is %{http_code}\\n' --http1.1 -H 'Origin: \(origin)' \
                -H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' \
                -H 'Sec-WebSocket-Protocol: enroute.v1' -H 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==' \
                \(dev.url)/v1 2> /dev/null &
                """
            }
            let output = try await dev.shell((requests + ["wait"]).joined(separator: "\n"))
            for (origin, status) in origins { #expect(output.contains("\(origin) is \(status)\n"), "\(output)") }
        }
    }

    @Test func `a port in use, a missing redis-server and a folder of another program are reported`() async throws {
        _ = try await DevSession.run { dev in
            let port = try #require(dev.url.split(separator: ":").last.map(String.init))
            let taken = try await dev.enroute(["dev", "--port", port, "--folder", "other"])
            #expect(taken.code == 69 && taken.error.contains("Port \(port) is in use"), "\(taken)")
            let missing = try await dev.enroute(
                ["dev", "--port", "0", "--folder", "other"], environment: ["PATH": dev.folder])
            #expect(missing.code == 69 && missing.error.contains("redis-server could not be started"), "\(missing)")
            try Data().write(to: URL(filePath: "\(dev.folder)/file"))
            for folder in ["file", "."] {
                let refused = try await dev.enroute(["dev", "--port", "0", "--folder", folder])
                #expect(refused.code == 78 && refused.error.contains("--folder"), "\(refused)")
            }
        }
    }

    @Test func `a folder that enroute dev did not create keeps every file`() async throws {
        let files = FileManager.default
        let folder = files.temporaryDirectory.appending(path: "app \(UUID().uuidString.prefix(8))").path
        defer { try? files.removeItem(atPath: folder) }
        let (app, empty) = ("\(folder)/app", "\(folder)/empty")
        for path in [app, empty] { try files.createDirectory(atPath: path, withIntermediateDirectories: true) }
        // The names include those of files that enroute dev writes.
        let own = ["client.json": #"{"id":"app"}"#, "package.json": #"{"name":"app"}"#, "main.mjs": ""]
        for (name, text) in own { try Data(text.utf8).write(to: URL(filePath: "\(app)/\(name)")) }
        _ = try await DevSession.run(["--folder", empty]) { dev in
            let refused = try await dev.enroute(["dev", "--port", "0", "--folder", app])
            #expect(refused.code == 78 && refused.error.contains("did not create it"), "\(refused)")
            #expect(try files.contentsOfDirectory(atPath: empty).contains(DevFolder.marker))
            try Data().write(to: URL(filePath: "\(empty)/notes"))
        }
        #expect(try files.contentsOfDirectory(atPath: empty) == ["notes"])
        #expect(try files.contentsOfDirectory(atPath: app).sorted() == own.keys.sorted())
        for (name, text) in own { #expect(files.contents(atPath: "\(app)/\(name)") == Data(text.utf8)) }
    }

    @Test func `a second enroute dev in the same folder is refused, and harms nothing`() async throws {
        _ = try await DevSession.run { dev in
            let files = FileManager.default
            let path = "\(dev.folder)/\(DevFolder.name)"
            let names = try files.contentsOfDirectory(atPath: path).sorted()
            let contents = names.map { files.contents(atPath: "\(path)/\($0)") }
            let second = try await dev.enroute(["dev", "--port", "0"])
            #expect(second.code == 78 && second.error.contains("Another enroute dev uses "), "\(second)")
            #expect(try files.contentsOfDirectory(atPath: path).sorted() == names)
            #expect(names.map { files.contents(atPath: "\(path)/\($0)") } == contents)
        }
    }

    @Test func `a folder of an enroute dev that was killed is used again, and removed`() async throws {
        let files = FileManager.default
        let path = files.temporaryDirectory.appending(path: "dev \(UUID().uuidString.prefix(8))").path
        defer { try? files.removeItem(atPath: path) }
        _ = try await DevSession.run(["--folder", path], ending: .kill)
        #expect(try files.contentsOfDirectory(atPath: path).contains(DevFolder.marker))
        _ = try await DevSession.run(["--folder", path])
        #expect(!files.fileExists(atPath: path))
    }

    @Test func `values with quotes survive the shell, at any length`() async throws {
        let value = String(repeating: #"a"b$c`d\e' "#, count: 40)
        let script = DevGuide.export("X", value) + "\nprintf %s \"$X\""
        #expect(script.split(separator: "\n").allSatisfy { $0.count <= DevGuide.width })
        let outcome = try await CommandTests.run(["-c", script], binary: "/bin/sh")
        #expect(outcome.output == value)
    }
}
