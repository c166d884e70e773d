import Embedded
import Foundation
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// Executes the code blocks of README.md and of the guides in deploy/, or parses them with the program that they are for.
///
/// Shell blocks run in one session, in the order of an installation: deploy/README.md up to its last step, then the other
/// guides against that installation, then the last step. Ports are replaced by free ones, and hosts by this machine.
@Suite struct DocumentedCommandTests {
    /// A fenced block.
    private struct Block: CustomStringConvertible {
        let document: String
        let line: Int
        let language: String
        let text: String
        var description: String { "\(self.document):\(self.line)" }
    }

    /// The documents, in the order in which an operator uses them.
    private static let documents = [
        "deploy/README.md", "deploy/check.md", "deploy/observability.md", "deploy/hardening.md",
        "deploy/identity-providers.md", "deploy/sizing.md",
        "deploy/troubleshooting.md", "deploy/threats.md", "deploy/haproxy/README.md", "deploy/nginx/README.md",
        "deploy/redis/README.md", "deploy/systemd/README.md", "deploy/first-app.md", "deploy/privacy.md",
        "deploy/theming.md", "README.md", "CONTRIBUTING.md", "SECURITY.md",
    ]

    /// Guides whose shell blocks use variables of earlier ones, so that all of them run in one shell.
    private static let inOneShell: Set = ["deploy/privacy.md"]

    /// Lines that are not executed here, by the start of the line, and why.
    private static let notRun: [(document: String, line: String, reason: String)] = [
        ("README.md", "make run", "CI builds before; DemoTests executes `enroute demo`"),
        ("README.md", "make test", "CI runs it"),
        ("README.md", "make release", "a release build takes minutes; the session uses the debug build"),
        ("CONTRIBUTING.md", "make ", "CI runs it; TestTidyTests verifies the targets"),
        ("deploy/README.md", "make release", "a release build takes minutes; the session uses the debug build"),
        ("deploy/README.md", "sudo install", "needs root"),
        ("deploy/README.md", "sudo apt-get", "needs root; `make deps` installs the packages of tests"),
        ("deploy/hardening.md", "enroute revoke link", "RevokeTests; the link must exist"),
        ("deploy/redis/README.md", "apt-get ", "needs root"),
        ("deploy/redis/README.md", "install -o redis", "needs root"),
        ("deploy/redis/README.md", "systemctl ", "needs systemd"),
    ]

    /// Blocks that other suites execute, by their first line.
    private static let runElsewhere: [(document: String, line: String, suite: String)] = [
        ("deploy/redis/README.md", "# Set PASSWORD", "DeployedFilesTests"),
        ("deploy/redis/README.md", "# Set PREFIX", "DeployedFilesTests"),
        ("deploy/redis/README.md", "# Set ROLE, NAME", "SharedRedisTests"),
        ("deploy/redis/README.md", "# Set MASTER", "PlannedFailoverTests"),
        ("deploy/redis/README.md", "# Set LISTS", "Tests/Deploy/test_runbook_redis.py"),
        ("deploy/haproxy/README.md", "haproxy -c", "Tests/Deploy/test_haproxy.py"),
        ("deploy/haproxy/README.md", "echo 'set server", "Tests/Deploy/test_rolling_restart.py"),
        ("deploy/haproxy/README.md", "./rolling-restart --dry-run", "Tests/Deploy/test_rolling_restart.py"),
        ("deploy/haproxy/README.md", "./rolling-restart --start", "Tests/Deploy/test_rolling_restart.py"),
        ("deploy/nginx/README.md", "nginx -t", "Tests/Deploy/test_nginx.py"),
        ("deploy/nginx/README.md", "sed -i", "Tests/Deploy/test_nginx.py"),
        ("deploy/systemd/README.md", "make release", "Tests/Deploy/test_install.py"),
        ("deploy/systemd/README.md", "sudo", "Tests/Deploy/test_guide.py"),
        ("deploy/first-app.md", "enroute dev", "Tests/Browser/test_first_app.py"),
        ("deploy/first-app.md", "enroute job", "Tests/Browser/test_first_app.py"),
        ("deploy/first-app.md", "mkdir -p app", "Tests/Browser/test_first_app.py"),
        ("deploy/first-app.md", "<!doctype html>", "Tests/Browser/test_first_app.py"),
        ("deploy/first-app.md", "python3 -m http.server", "Tests/Browser/test_first_app.py"),
        ("deploy/first-app.md", "curl -sS -X PUT", "Tests/Browser/test_first_app.py"),
        ("deploy/identity-providers.md", "import {createPrivateKey", "IdentityProviderTests"),
        ("README.md", "import {Enroute}", "Tests/JavaScript/readme.test.mjs"),
        ("README.md", "import Enroute\n", "Sources/Client/Tests/GatewayRunTests/SampleTests.swift"),
    ]

    /// Languages that are not code: output of programs, diagrams.
    private static let notCode: Set = ["text", "mermaid"]

    private static func blocks(_ language: String? = nil) throws -> [Block] {
        try self.documents.flatMap { document in
            let text = try String(contentsOf: Checkout.root.appending(path: document), encoding: .utf8)
            var (blocks, open): ([Block], (line: Int, language: String, lines: [Substring])?) = ([], nil)
            for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
                let trimmed = line.drop { $0 == " " }
                if trimmed.hasPrefix("```") {
                    if let block = open {
                        blocks.append(
                            Block(
                                document: document, line: block.line, language: block.language,
                                text: block.lines.joined(separator: "\n")))
                        open = nil
                    } else {
                        open = (index + 2, String(trimmed.dropFirst(3)), [])
                    }
                } else {
                    open?.lines.append(line)
                }
            }
            #expect(open == nil, "\(document): a block is not closed")
            return blocks
        }.filter { language == nil || $0.language == language }
    }

    private static func suite(of block: Block) -> String? {
        self.runElsewhere.first { $0.document == block.document && block.text.hasPrefix($0.line) }?.suite
    }

    @Test func `every block has a language that is executed or parsed, and no exception is unused`() throws {
        let blocks = try Self.blocks()
        let known = Self.notCode.union(["sh", "js", "swift", "json", "yaml", "ini", "conf", "redis", "html", "css"])
        for block in blocks { #expect(known.contains(block.language), "\(block): \(block.language)") }
        for entry in Self.notRun {
            let isUsed = blocks.contains { block in
                block.document == entry.document
                    && block.text.split(separator: "\n").contains { $0.hasPrefix(entry.line) }
            }
            #expect(isUsed, "\(entry.document) has no line \(entry.line)")
        }
        for entry in Self.runElsewhere {
            #expect(
                blocks.contains { $0.document == entry.document && $0.text.hasPrefix(entry.line) },
                "\(entry.document) has no block \(entry.line)")
        }
        for block in blocks where ["js", "swift", "html"].contains(block.language) {
            #expect(Self.suite(of: block) != nil, "\(block)")
        }
    }

    @Test func `CSS blocks are balanced, and use custom properties of the pages`() throws {
        let styles = try String(
            contentsOf: Checkout.root.appending(path: "Sources/WebAssets/web/page.css"), encoding: .utf8)
        let blocks = try Self.blocks("css")
        #expect(!blocks.isEmpty)
        for block in blocks {
            #expect(block.text.count { $0 == "{" } == block.text.count { $0 == "}" }, "\(block)")
            for property in block.text.matches(of: /--[a-z-]+/) {
                #expect(styles.contains("\(property.output):"), "\(block): \(property.output)")
            }
        }
    }

    @Test func `JSON blocks are JSON`() throws {
        let blocks = try Self.blocks("json")
        #expect(blocks.count >= 2)
        for block in blocks {
            #expect(throws: Never.self, "\(block)") {
                try JSONSerialization.jsonObject(with: Data(block.text.utf8), options: .fragmentsAllowed)
            }
        }
    }

    @Test func `ini blocks with settings are configurations that the program reads`() async throws {
        let blocks = try Self.blocks("ini")
        let settings = blocks.filter { !$0.text.hasPrefix("[") }
        #expect(settings.count >= 2)
        for block in settings {
            try await TemporaryFolder.holding("enroute-documented") { folder in
                try Data(block.text.utf8).write(to: URL(filePath: "\(folder)/gateway.env"))
                let outcome = try await CommandTests.run(["check", "--config", "\(folder)/gateway.env"])
                let isRead = !outcome.all.contains("not a setting") && !outcome.all.contains("gateway.env, line")
                #expect(isRead, "\(block): \(outcome.all)")
            }
        }
    }

    /// deploy/configuration.md is generated from the table of settings.
    @Test func `every setting that a document names exists`() throws {
        let reference = try String(
            contentsOf: Checkout.root.appending(path: "deploy/configuration.md"), encoding: .utf8)
        // A shell variable, a variable that Kubernetes sets, and one for building.
        let others: Set = ["ENROUTE_USER", "ENROUTE_SERVICE_HOST", "ENROUTE_BUILD_REVISION"]
        var named: Set<String> = []
        for document in Self.documents {
            let text = try String(contentsOf: Checkout.root.appending(path: document), encoding: .utf8)
            for name in Set(text.matches(of: /ENROUTE_[A-Z0-9_]*[A-Z0-9]/).map { String($0.0) }).subtracting(others) {
                #expect(reference.contains("`\(name)`"), "\(document): \(name)")
                named.insert(name)
            }
        }
        #expect(named.count > 50)
    }

    @Test func `the unit of a gateway starts a command and options that exist`() async throws {
        let path = Checkout.root.appending(path: "deploy/systemd/enroute@.service")
        let unit = try String(contentsOf: path, encoding: .utf8)
        let start = try #require(unit.firstMatch(of: /ExecStart=\S*\/enroute (\w+)([^\n]*)/))
        let help = try await CommandTests.run([String(start.1), "--help"])
        #expect(help.code == 0)
        for option in start.2.matches(of: /--[a-z-]+/) { #expect(help.output.contains(option.0)) }
    }

    @Test func `lines of Redis configurations are directives that Redis has`() async throws {
        let blocks = try Self.blocks("conf")
        #expect(blocks.count >= 5)
        try await withServer { server in
            for block in blocks {
                for line in block.text.split(separator: "\n") {
                    let name = String(line.prefix { $0 != " " })
                    guard name != "include" else { continue }
                    let found = try await Self.redis(server.socketPath, ["CONFIG", "GET", name])
                    #expect(found.hasPrefix(name), "\(block): \(line)")
                }
            }
        }
    }

    @Test func `blocks of Redis commands run on the deployed ledger`() async throws {
        let blocks = try Self.blocks("redis")
        #expect(blocks.count >= 2)
        try await TemporaryFolder.holding("enroute-documented") { folder in
            let list = "\(folder)/ledger.acl"
            try DeployedRedis.ledger.writeAccessList(to: URL(filePath: list))
            let options = ["--aclfile", list, "--dir", folder]
            try await withServer(configuration: DeployedRedis.ledger.configurationPath, options: options) { server in
                for block in blocks {
                    for line in block.text.split(separator: "\n") where !line.hasPrefix("#") {
                        let words = line.replacing("<OLD", with: "<\(DeployedRedis.password)").split(separator: " ")
                            .map(String.init)
                        let answer = try await Self.redis(server.socketPath, as: "admin", words)
                        #expect(!answer.hasPrefix("ERR") && !answer.hasPrefix("NO"), "\(block): \(line): \(answer)")
                    }
                }
            }
        }
    }

    private static func redis(_ socket: String, as user: String? = nil, _ words: [String]) async throws -> String {
        let account = user.map { ["--user", $0, "--pass", DeployedRedis.password, "--no-auth-warning"] } ?? []
        let outcome = try await Subprocess.run(
            .name("redis-cli"), arguments: Arguments(["-s", socket] + account + words), output: .string(limit: 65_536),
            error: .combinedWithOutput)
        return outcome.standardOutput
    }

    // MARK: the session

    @Test(.timeLimit(.minutes(15)))
    func `the commands of the guides bring up an installation, use it and stop it`() async throws {
        try await Turns.servers.take {
            try await TemporaryFolder.holding("enroute-documented") { folder in
                let script = try await Self.script(folder)
                try Data(script.utf8).write(to: URL(filePath: "\(folder)/session.sh"))
                let outcome = try await Subprocess.run(
                    .name("timeout"), arguments: ["--kill-after=5", "240", "bash", "\(folder)/session.sh"],
                    environment: .custom([
                        "PATH": "\(folder)/bin:/usr/sbin:/usr/bin:/bin", "HOME": folder,
                        "ENROUTE_DRAIN_ACCEPT_SECONDS": "0", "ENROUTE_DRAIN_SECONDS": "1",
                    ]),
                    workingDirectory: FilePath(Checkout.root.path), input: .none, output: .string(limit: 1 << 20),
                    error: .combinedWithOutput)
                let output = outcome.standardOutput
                let last = output.split(separator: "\n").last { $0.hasPrefix("@@ ") } ?? ""
                #expect(outcome.terminationStatus.isSuccess, "failed after \(last)\n\(output.suffix(4_000))")
                for expected in [
                    "errors: 0", "\"status\":\"on_the_way\"", "\"url\":\"/track/visit-1#", "\"lat\"",
                    "\"state\":\"up\"", "revoked link ", "204 visit-1",
                ] {
                    #expect(output.contains(expected), "no \(expected) in\n\(output.suffix(4_000))")
                }
                try Self.verifyMetrics(try String(contentsOfFile: "\(folder)/metrics.txt", encoding: .utf8))
            }
        }
    }

    /// All shell blocks, each after a line `@@ document:line`.
    private static func script(_ folder: String) async throws -> String {
        try FileManager.default.createDirectory(atPath: "\(folder)/bin", withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: "\(folder)/bin/enroute", withDestinationPath: CommandTests.binary)
        var ports: [String: Int] = [:]
        for port in [
            "6390", "6391", "9471", "9472", "9473", "9474", "8451", "8452", "8453", "8454", "8443", "8405",
        ] { ports[port] = try await freePort() }
        ports["9464"] = ports["9471"]
        let all = try self.blocks("sh").filter { self.suite(of: $0) == nil }
        let isStop = { (block: Block) in block.document == "deploy/README.md" && block.text.hasPrefix("kill ") }
        let stop = try #require(all.first(where: isStop))
        let installation = all.filter { $0.document == "deploy/README.md" && !isStop($0) }
        let others = all.filter { $0.document != "deploy/README.md" }
        var lines = ["set -euo pipefail", "trap 'kill -9 $(jobs -p) 2> /dev/null || true' EXIT"]
        for block in installation { lines += self.lines(of: block, ports) }
        lines += ["curl -sS http://127.0.0.1:\(ports["9464"]!)/metrics > \(folder)/metrics.txt"]
        for blocks in self.shells(others) {
            lines += ["(", "set -a; . ./gateway.env; set +a"] + blocks.flatMap { self.lines(of: $0, ports) } + [")"]
        }
        return (lines + self.lines(of: stop, ports)).joined(separator: "\n") + "\n"
    }

    /// The blocks of each shell: one block, or all blocks of a guide that needs one shell.
    private static func shells(_ blocks: [Block]) -> [[Block]] {
        blocks.reduce(into: []) { shells, block in
            if self.inOneShell.contains(block.document), shells.last?.last?.document == block.document {
                shells[shells.count - 1].append(block)
            } else {
                shells.append([block])
            }
        }
    }

    private static func lines(of block: Block, _ ports: [String: Int]) -> [String] {
        var text = block.text.split(separator: "\n", omittingEmptySubsequences: false).filter { line in
            !self.notRun.contains { $0.document == block.document && line.hasPrefix($0.line) }
        }.joined(separator: "\n")
        if block.document == "README.md" {
            text = text.replacing("gateway.env", with: "front.env")
                .replacing("PASSWORD@10.0.0.5:6379", with: "$PASSWORD@127.0.0.1:6390")
                .replacing("PASSWORD@10.0.0.6:6380", with: "$PASSWORD@127.0.0.1:6391")
                .replacing("/etc/enroute/chain.pem", with: "$PWD/tls-chain.pem")
                .replacing("/etc/enroute/key.pem", with: "$PWD/tls-key.pem")
                .replacing(
                    /(?m)^enroute serve .*$/,
                    with: {
                        """
                        unset ${!ENROUTE_*}
                        export ENROUTE_TOKEN_PUBLIC_KEY_FILES=$PWD/token-public.pem ENROUTE_MANAGEMENT_PORT=0
                        \($0.0) --port 0 > front.log 2>&1 &
                        until grep listening front.log; do kill -0 $!; sleep 0.1; done
                        kill $!; wait $!
                        """
                    })
        }
        for (documented, free) in ports {
            text = text.replacing(try! Regex("\\b\(documented)\\b"), with: "\(free)")
        }
        return ["echo; echo '@@ \(block)'"]
            + text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// Metrics that deploy/observability.md names, and their labels, are those of a running gateway.
    private static func verifyMetrics(_ text: String) throws {
        let types = Set(text.matches(of: #/(?m)^# TYPE (\S+) /#).map { String($0.1) })
        let guide = try String(contentsOf: Checkout.root.appending(path: "deploy/observability.md"), encoding: .utf8)
        let named = guide.matches(of: /\b((?:enroute|process)_[a-z_]+[a-z])(?:\{([a-z_]+[^}]*)\})?/)
        #expect(named.count > 40)
        for match in named {
            let name = String(match.1)
            #expect(types.contains(name), "\(name) is not a metric")
            guard let labels = match.2 else { continue }
            let sample = try Regex<(Substring, Substring)>("(?m)^\(name)(?:_bucket)?\\{(.*)\\} ")
            let samples = text.matches(of: sample)
            for label in labels.matches(of: /([a-z_]+)(?:=|,|$)/) where !samples.isEmpty {
                #expect(samples.allSatisfy { $0.output.1.contains("\(label.1)=\"") }, "\(name) has no label \(label.1)")
            }
        }
    }
}
