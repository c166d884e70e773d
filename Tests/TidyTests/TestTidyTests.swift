import Foundation
import Testing

/// Rules for the tests themselves, and for the scripts that run them.
@Suite struct TestTidyTests {
    /// Files that may wait: for the waiting function itself, and for time limits.
    private static let clocks: Set = [
        "Waiting.swift", "Inbox.swift", "ProxyConnection.swift", "Signal.swift", "SlowReaderRevocationTests.swift",
        "RunningGateway.swift", "TestTidyTests.swift", "TidyTests.swift",
        // Code of the client guide: it shows how long an app waits before it reconnects.
        "SwiftGuideTests.swift",
    ]

    @Test func `only one place in the tests lets time pass`() throws {
        let words = ["sleep", "scheduleTask("]
        let wait = /\.sleep\(|scheduleTask\(|Thread\.sleep|usleep\(|nanosleep\(/
        for file in try Project.files("Tests", ".swift") where !Self.clocks.contains(file.name) {
            let isTidy = !words.contains { file.contains($0) } || file.text.firstMatch(of: wait) == nil
            #expect(isTidy, "\(file.path): wait with becomes, eventually or pause")
        }
    }

    @Test func `a test that changes the environment runs in a process of its own`() throws {
        // Other tests start processes meanwhile, which copy the environment: one of them crashed the whole run.
        let change = /\b(?:(?:un)?setenv|putenv|clearenv)\(/
        for file in try Project.files("Tests", ".swift")
        where file.name != "TestTidyTests.swift" && file.contains("env(") {
            for found in file.text.matches(of: change) {
                let test = file.text[..<found.range.lowerBound].ranges(of: "@Test").last.map {
                    file.text[$0.lowerBound..<found.range.lowerBound]
                }
                #expect(test?.contains("processExitsWith:") == true, "\(file.path): \(found.0)")
            }
        }
    }

    @Test func `tests start processes with Subprocess`() throws {
        // Foundation's Process may crash while more than 1,300 files are open: it reads past the end of a directory entry
        // of /proc/self/fd (swift-corelibs-foundation, `findMaximumOpenFD`, in Swift 6.3).
        for file in try Project.files("Tests", ".swift") + Project.files("Sources", ".swift")
        where file.name != "TestTidyTests.swift" {
            #expect(!file.contains(" Process()") && !file.contains("(Process()"), "\(file.path)")
        }
    }

    @Test func `no two suites have the same name`() throws {
        let suite = /(?m)^(?:@Suite.*\s)?(?:private |fileprivate )?struct (\w+Tests)\b/
        let names = try Project.files("Tests", ".swift").flatMap { $0.text.matches(of: suite).map { String($0.1) } }
        #expect(names.count > 200)
        let twice = Dictionary(grouping: names) { $0 }.filter { $0.value.count > 1 }.keys.sorted()
        #expect(twice.isEmpty)
    }

    @Test func `unreachable code records an issue instead of expecting false`() throws {
        for file in try Project.files("Tests", ".swift") where file.name != "TestTidyTests.swift" {
            #expect(!file.contains("#expect(Bool(false)"), "\(file.path)")
        }
    }

    @Test func `every benchmark is run by the smoke test or excluded with a reason`() throws {
        let smoke = try Project.file("benchmarks/smoke.py").text
        let (runs, leftOut) = (
            try #require(smoke.firstMatch(of: /(?s)\nRUNS = \[(.*?)\n\]/)?.1),
            try #require(smoke.firstMatch(of: /(?s)\nLEFT_OUT = \{(.*?)\n\}/)?.1)
        )
        let named =
            runs.matches(of: /"([^"]+)"/).map { String($0.1) } + leftOut.matches(of: /"([^"]+)":/).map { String($0.1) }
        let sources = Project.root.appending(path: "benchmarks/Sources")
        let programs = try FileManager.default.contentsOfDirectory(atPath: sources.path).filter {
            $0.hasPrefix("enroute-")
        }
        let scripts = try Project.files("benchmarks", ".py").map { $0.path.dropFirst("benchmarks/".count) }
            .filter { !$0.contains(".build") && !$0.contains(".venv") && $0 != "smoke.py" }.map(String.init)
        let peers = Project.root.appending(path: "benchmarks/peers")
        let started = try FileManager.default.contentsOfDirectory(atPath: peers.path).filter { name in
            !name.contains(".") && FileManager.default.isExecutableFile(atPath: peers.appending(path: name).path)
        }
        .filter { name in (try? String(contentsOf: peers.appending(path: name), encoding: .utf8)) != nil }
        .map { "peers/\($0)" }
        #expect(programs.count >= 3 && scripts.count >= 5 && started.count >= 2)
        #expect(Set(named) == Set(programs + scripts + started))
        #expect(named.count == Set(named).count)
    }

    @Test func `make help lists at most fifteen targets, and every target named in a document exists`() throws {
        let (top, bench) = (try Project.file("Makefile").text, try Project.file("benchmarks/Makefile").text)
        func targets(_ text: String) -> Set<String> {
            Set(text.matches(of: #/(?m)^([a-z][a-z-]*):/#).map { String($0.1) })
        }
        let listed = top.matches(of: #/(?m)^([a-z-]+):.*##\x20/#).map { String($0.1) }
        #expect((10...15).contains(listed.count), "\(listed)")
        let documents = [
            "README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md", "benchmarks/README.md", ".ci/run",
            "deploy/README.md", "deploy/redis/README.md", "deploy/hardening.md", "deploy/sizing.md",
            "deploy/RUNBOOK.md",
        ]
        for name in documents {
            let text = try Project.file(name).text
            for match in text.matches(of: #/(?:`|\n|=1 )make ([a-z][a-z-]*)/#) {
                #expect(targets(top).contains(String(match.1)), "\(name) names `make \(match.1)`, which does not exist")
            }
            for match in text.matches(of: #/(?:`|\n)make -C ([a-z]+) ([a-z][a-z-]*)/#) {
                let folder = try Project.file("\(match.1)/Makefile").text
                #expect(
                    targets(folder).contains(String(match.2)),
                    "\(name) names `make -C \(match.1) \(match.2)`, which does not exist")
            }
            for match in text.matches(of: /make bench BENCH=([a-z]+)/) {
                #expect(
                    targets(bench).contains(String(match.1)),
                    "\(name) names `make bench BENCH=\(match.1)`, which does not exist")
            }
        }
    }
}
