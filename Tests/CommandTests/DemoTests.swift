import AsyncHTTPClient
import Foundation
import NIOCore
import NIOFoundationCompat
import NIOHTTP1
import Redis
import Subprocess
import TestSupport
import Testing

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

/// `enroute demo` from start to stop.
@Suite(.needsMachine(for: .faults)) struct DemoTests {
    /// Each starts two gateways and two Redis servers, and builds a town.
    private static let demos = Turns(3, for: .faults)

    /// A running demo.
    struct Running {
        let lines: [String]
        /// The link that it printed.
        let stage: String
        /// A folder that the command line of each of its processes contains.
        let folder: String
        let client: HTTPClient

        /// The origins of the stage and its pages, by name.
        func origins() async throws -> [String: String] {
            try await self.state()["origins"] as? [String: String] ?? [:]
        }

        func state() async throws -> [String: Any] { try await self.ask(.GET, "state") }

        @discardableResult
        func ask(_ method: HTTPMethod, _ path: String, _ body: String = "{}", header: (String, String)? = nil)
            async throws
            -> [String: Any]
        {
            var request = HTTPClientRequest(url: self.stage + path)
            request.method = method
            if method == .POST {
                request.headers.add(name: "content-type", value: "application/json")
                request.body = .bytes(Array(body.utf8))
            }
            if let header { request.headers.replaceOrAdd(name: header.0, value: header.1) }
            let answer = try await self.client.execute(request, timeout: .seconds(30))
            let bytes = Data(buffer: try await answer.body.collect(upTo: 1 << 20))
            let members = try? JSONSerialization.jsonObject(with: bytes) as? [String: Any]
            return (members ?? [:]).merging(["code": Int(answer.status.code)]) { $1 }
        }

        /// Waits until the stage's state matches.
        func shows(_ what: ([String: Any]) -> Bool) async throws -> Bool {
            let deadline = ContinuousClock.now + .seconds(60)
            while ContinuousClock.now < deadline {
                if what(try await self.state()) { return true }
                await pause(.milliseconds(100))
            }
            return false
        }
    }

    /// Runs the demo for as long as `body` takes, then stops it with a signal.
    ///
    /// - Returns: its output, the number of processes it started, and those that are still running.
    static func run(
        _ words: [String], ending signal: Signal, _ body: (Running) async throws -> Void = { _ in }
    ) async throws -> (lines: [String], started: Int, left: [String]) {
        try await Self.demos.take { try await Self.runAtOnce(words, ending: signal, body) }
    }

    private static func runAtOnce(
        _ words: [String], ending signal: Signal, _ body: (Running) async throws -> Void
    ) async throws -> (lines: [String], started: Int, left: [String]) {
        // Short, because the path of a unix socket has at most 103 bytes.
        let folder = FileManager.default.temporaryDirectory.appending(path: "enroute-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let environment = Environment.inherit.updating(["TMPDIR": folder.path])
        var platform = PlatformOptions()
        platform.teardownSequence = [.send(signal: .kill, allowedDurationToNextStep: .seconds(1))]
        let client = HTTPClient(
            configuration: .init(redirectConfiguration: .disallow, timeout: .init(connect: .seconds(30))))
        var lines: [String] = []
        var started = 0
        do {
            _ = try await Subprocess.run(
                .path(.init(CommandTests.binary)), arguments: Arguments(["demo"] + words), environment: environment,
                platformOptions: platform, input: .none, output: .sequence, error: .discarded
            ) { execution in
                for try await line in execution.standardOutput.strings() {
                    lines.append(line)
                    guard let found = line.firstMatch(of: /Open +(\S+)/) else { continue }
                    started = try Self.processes(naming: folder.path).count
                    try await body(Running(lines: lines, stage: String(found.1), folder: folder.path, client: client))
                    try execution.send(signal: signal)
                }
            }
        } catch {
            try? await client.shutdown()
            throw error
        }
        try await client.shutdown()
        // Without this, a demo that did not start would pass tests that have all their expectations in `body`.
        #expect(lines.contains { $0.contains("Open ") }, "the demo did not start: \(lines)")
        // The kernel kills them when their parent has exited, which may take a moment.
        let deadline = ContinuousClock.now + .seconds(30)
        var left = try Self.processes(naming: folder.path)
        while !left.isEmpty, ContinuousClock.now < deadline {
            await pause(.milliseconds(100))
            left = try Self.processes(naming: folder.path)
        }
        return (lines, started, left)
    }

    /// The processes whose command line contains a folder.
    static func processes(naming folder: String, _ word: String = "") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { name in
            guard Int(name) != nil, let words = FileManager.default.contents(atPath: "/proc/\(name)/cmdline") else {
                return false
            }
            let line = String(decoding: words, as: UTF8.self)
            return line.contains(folder) && (word.isEmpty || line.contains(word))
        }
    }

    @Test(arguments: [Signal.interrupt, .terminate, .kill])
    func `the demo prints one link, and leaves no process behind however it is stopped`(signal: Signal) async throws {
        let (lines, started, left) = try await Self.run(["--port", "18443"], ending: signal) { running in
            #expect(running.stage.hasPrefix("http://127.0.0.1:18"))
        }
        #expect(lines.joined(separator: "\n").matches(of: /https?:/).count == 1, "\(lines)")
        // Two gateways and two redis-servers; the path of their sockets contains the folder.
        #expect(started == 4)
        #expect(left == [])
    }

    @Test func `the stage and its three pages load, and only the stage may frame the pages`() async throws {
        _ = try await Self.run(["--port", "18543"], ending: .interrupt) { running in
            // No order has been placed, because nobody has opened the stage yet.
            #expect(try await running.ask(.GET, "open/customer")["code"] as? Int == 200)
            for path in ["", "stage.js", "stage.css"] {
                #expect(try await running.ask(.GET, path)["code"] as? Int == 200, "\(path)")
            }
            #expect(try await running.shows { $0["order"] is [String: Any] })
            let origins = try await running.origins()
            #expect(Set(origins.values).count == 4)
            for (page, path) in [("customer", "/track/order-"), ("rider", "/rider#in."), ("desk", "/ops#in.")] {
                let page = try await running.page(page)
                #expect(page.location.contains(path))
                let ancestors = "frame-ancestors \(origins["stage"] ?? "-")"
                #expect(page.policy.hasSuffix(ancestors), "\(page)")
            }
            #expect(try await running.ask(.GET, "open/nothing")["code"] as? Int == 404)
            // The order is erased.
            let order = try #require(try await running.state()["order"] as? [String: Any])
            let ledger = try #require(
                FileManager.default.enumerator(atPath: running.folder)?.compactMap { $0 as? String }
                    .first { $0.hasSuffix("ledger/redis.sock") })
            let client = try await RedisClient.started(at: try RedisAddress(url: "unix:\(running.folder)/\(ledger)"))
            _ = try await client.send(["DEL", .text("job:{\(order["job"] as? String ?? "")}")]).get()
            client.stop()
            let over = try await running.client.execute(
                HTTPClientRequest(url: running.stage + "open/customer"), timeout: .seconds(30))
            let text = String(buffer: try await over.body.collect(upTo: 1 << 20))
            #expect(over.status == .ok && text.contains("This order is over."), "\(over.status) \(text)")
        }
    }

    @Test func `the town has 40 riders and 120 orders in every state, and its riders move`() async throws {
        _ = try await Self.run(["--port", "18643"], ending: .interrupt) { running in
            #expect(try await running.shows { $0["order"] is [String: Any] })
            let desk = try await running.page("desk")
            let token = try await running.token(code: String(desk.location.split(separator: "#in.")[1]))
            var jobs: [[String: Any]] = []
            // Two requests of the 10 per second that a person may send.
            try await becomes("120 orders, of 40 riders", within: .seconds(120), every: .milliseconds(500)) {
                jobs = try await running.jobs(token)
                return jobs.count == 120 && Set(jobs.compactMap { $0["rider"] as? String }).count == 40
            }
            let states = Set(jobs.compactMap { $0["status"] as? String })
            #expect(states.isSuperset(of: ["accepted", "preparing", "in_transit"]), "\(states)")
            let received = try #require(try await running.state()["received"] as? Int)
            #expect(try await running.shows { ($0["received"] as? Int ?? 0) > received + 50 })
            let gateways = try await running.read("gateways", token)["gateways"] as? [[String: Any]] ?? []
            let names = gateways.compactMap { ($0["health"] as? [String: Any])?["name"] as? String }
            #expect(names.sorted() == ["gateway-A", "gateway-B"], "the names of the stage")
        }
    }

    @Test func `if a port is in use, the demo uses the next ones, and prints that`() async throws {
        let taken = try PortInUse(from: 19443)
        let outcome = try await Self.run(["--no-tls", "--port", "\(taken.port)"], ending: .interrupt) { running in
            #expect(!running.stage.contains(":\(taken.port)/"))
        }
        #expect(outcome.lines.contains { $0.contains("port \(taken.port) or one of the next three is in use") })
    }

    /// With TLS: a killed gateway closes connections without a TLS alert.
    @Test func `the demo's buttons kill servers, each reports its measurement, and locations arrive again`()
        async throws
    {
        _ = try await Self.run(["--tls", "--port", "20443"], ending: .interrupt) { running in
            #expect(try await running.shows { $0["p95Ms"] is Double })
            #expect(try await running.ask(.POST, "set", #"{"speed":400}"#)["speed"] as? Double == 8)
            // Only one fault at a time: of several simultaneous requests, at least one arrives while the first fault lasts.
            let codes = try await withThrowingTaskGroup(of: Int?.self) { group in
                for _ in 0..<6 { group.addTask { try await running.ask(.POST, "faults/redis")["code"] as? Int } }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(codes == [204, 409])
            _ = try await running.result(of: "redis")
            #expect(try await running.ask(.POST, "faults/gateway")["code"] as? Int == 204)
            let gateway = try await running.result(of: "gateway")
            #expect(gateway.contains(/received locations again after \d+\.\d s/), "\(gateway)")
            #expect(
                try await running.shows { state in
                    (state["gateways"] as? [[String: Any]])?.allSatisfy { $0["isUp"] as? Bool == true } == true
                })
            #expect(try await running.ask(.POST, "faults/redis")["code"] as? Int == 204)
            let redis = try await running.result(of: "redis")
            #expect(redis.contains("no follower was disconnected"), "\(redis)")
            // A gateway that exits unexpectedly is restarted too.
            let process = try #require(try DemoTests.processes(naming: running.folder, "demo-gateway").first)
            kill(try #require(pid_t(process)), SIGKILL)
            let again = try #require(try await running.state()["received"] as? Int)
            #expect(try await running.shows { ($0["received"] as? Int ?? 0) > again + 50 })
            #expect(try await running.ask(.POST, "faults/nothing")["code"] as? Int == 404)
        }
    }

    /// Without a browser, the demo itself acts as the rider's phone.
    @Test func `your order is delivered, and once more starts another one`() async throws {
        _ = try await Self.run(["--port", "20643", "--speed", "8"], ending: .interrupt) { running in
            #expect(try await running.shows { ($0["order"] as? [String: Any])?["isUnderway"] as? Bool == true })
            #expect(try await running.ask(.POST, "again")["code"] as? Int == 409, "the order is not over")
            #expect(try await running.ask(.POST, "faults/phone")["code"] as? Int == 204)
            let phone = try await running.result(of: "phone")
            #expect(phone.contains("The second phone"), "\(phone)")
            #expect(try await running.shows { ($0["order"] as? [String: Any])?["isOver"] as? Bool == true })
            #expect(try await running.ask(.POST, "again")["code"] as? Int == 204)
            #expect(try await running.shows { ($0["order"] as? [String: Any])?["number"] as? Int == 2 })
        }
    }

    @Test func `your rider moves along streets, even after its page was closed on the way`() async throws {
        _ = try await Self.run(["--port", "20743", "--speed", "2"], ending: .interrupt) { running in
            // The stage reports that it has the rider's page, until the rider is on the way.
            var order: [String: Any] = [:]
            try await becomes("the rider is on the way", within: .seconds(120), every: .milliseconds(500)) {
                order = try await running.ask(.GET, "state?phone=1")["order"] as? [String: Any] ?? [:]
                return order["isUnderway"] as? Bool == true
            }
            let desk = try await running.page("desk")
            let token = try await running.token(code: String(desk.location.split(separator: "#in.")[1]))
            let job = try #require(order["job"] as? String)
            try await becomes("followers see the rider, with a route", within: .seconds(60), every: .milliseconds(500))
            {
                _ = try await running.state()
                let job = try await running.job(job, token)
                let eta = job["eta"] as? [String: Any]
                return job["tracking"] as? String == "live" && eta?["source"] as? String == "streets"
                    && eta?["route"] is [String: Any]
            }
        }
    }

    @Test func `pages of other sites cannot press the demo's buttons, not even with DNS rebinding`() async throws {
        _ = try await Self.run(["--port", "21443"], ending: .interrupt) { running in
            for (name, value) in [("origin", "https://elsewhere.example"), ("host", "elsewhere.example")] {
                let answer = try await running.ask(.POST, "faults/redis", header: (name, value))
                #expect(answer["code"] as? Int == 403, "\(name)")
            }
            #expect(try await running.state()["redisRestarts"] as? Int == 0)
        }
    }
}

extension DemoTests.Running {
    /// The URL of a page of the stage, and its content security policy.
    func page(_ name: String) async throws -> (location: String, policy: String) {
        let answer = try await self.client.execute(
            HTTPClientRequest(url: self.stage + "open/\(name)"), timeout: .seconds(30))
        let location = answer.headers.first(name: "location") ?? ""
        let page = String(location.split(separator: "#").first ?? "")
        let loaded = try await self.client.execute(HTTPClientRequest(url: page), timeout: .seconds(30))
        #expect(loaded.status == .ok, "\(name)")
        return (location, loaded.headers.first(name: "content-security-policy") ?? "")
    }

    /// Redeems a sign-in code.
    func token(code: String) async throws -> String {
        var request = HTTPClientRequest(url: "\(try await self.origins()["desk"] ?? "")/api/v1/sign-ins/redeem")
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/json")
        request.body = .bytes(Array(#"{"code":"\#(code)"}"#.utf8))
        let answer = try await self.client.execute(request, timeout: .seconds(30))
        let bytes = Data(buffer: try await answer.body.collect(upTo: 1 << 20))
        let members = try JSONSerialization.jsonObject(with: bytes)
        return try #require((members as? [String: Any])?["token"] as? String)
    }

    /// One job as operations see it.
    func job(_ job: String, _ token: String) async throws -> [String: Any] {
        try await self.read("jobs/\(job)", token)
    }

    /// A REST response as operations see it.
    func read(_ path: String, _ token: String) async throws -> [String: Any] {
        let desk = try await self.origins()["desk"] ?? ""
        var request = HTTPClientRequest(url: "\(desk)/api/v1/\(path)")
        request.headers.add(name: "authorization", value: "Bearer \(token)")
        let answer = try await self.client.execute(request, timeout: .seconds(30))
        let bytes = Data(buffer: try await answer.body.collect(upTo: 1 << 20))
        return try JSONSerialization.jsonObject(with: bytes) as? [String: Any] ?? [:]
    }

    /// The open jobs of the town, on pages of at most 100.
    func jobs(_ token: String) async throws -> [[String: Any]] {
        let desk = try await self.origins()["desk"] ?? ""
        let open = "pending_vendor_acceptance,accepted,preparing,ready_for_pickup,in_transit"
        var (jobs, cursor): ([[String: Any]], String?) = ([], nil)
        repeat {
            let after = cursor.map { "&cursor=\($0)" } ?? ""
            var request = HTTPClientRequest(url: "\(desk)/api/v1/jobs?zone=town&limit=100&status=\(open)\(after)")
            request.headers.add(name: "authorization", value: "Bearer \(token)")
            let answer = try await self.client.execute(request, timeout: .seconds(30))
            let bytes = Data(buffer: try await answer.body.collect(upTo: 1 << 20))
            let members = try JSONSerialization.jsonObject(with: bytes)
            let page = members as? [String: Any] ?? [:]
            jobs += page["jobs"] as? [[String: Any]] ?? []
            cursor = page["next"] as? String
        } while cursor != nil
        return jobs
    }

    /// Waits for the measurement of a button.
    func result(of fault: String) async throws -> String {
        var result = ""
        _ = try await self.shows { state in
            let faults = state["faults"] as? [[String: Any]] ?? []
            result = faults.first { $0["id"] as? String == fault }?["result"] as? String ?? ""
            return !result.isEmpty && !faults.contains { $0["isRunning"] as? Bool == true }
        }
        return result
    }
}

/// A port on loopback that is in use as long as this value exists.
private final class PortInUse {
    let port: Int
    private let descriptor: Int32

    init(from first: Int) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.descriptor = descriptor
        for port in first..<first + 100 {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(UInt16(port)).bigEndian
            address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
            let isBound = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
            if isBound, listen(descriptor, 1) == 0 {
                self.port = port
                return
            }
        }
        throw CommandTests.Crashed()
    }

    deinit { close(self.descriptor) }
}
