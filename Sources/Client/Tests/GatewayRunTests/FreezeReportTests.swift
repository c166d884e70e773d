// What both clients report while a real gateway is frozen, in real time. It takes minutes: `make test-long LONG=freeze`.

import Foundation
import Subprocess
import SystemPackage
import Testing

@testable import Enroute

#if canImport(Glibc)
    import Glibc
#endif

/// How long the gateway is frozen, in s.
private let freezeSeconds = ProcessInfo.processInfo.environment["ENROUTE_FREEZE_SECONDS"].flatMap(Double.init)

@Suite(
    .enabled(if: Stage.isBuilt && freezeSeconds != nil, "make test-long LONG=freeze runs it"),
    .timeLimit(.minutes(10))) struct FreezeReportTests
{
    private static let job: JobID = "visit-1"

    /// An event of a client: when, and what.
    private struct Event {
        let at: Double
        let text: String

        /// From `<ms since the epoch> <event>`.
        init?(_ line: Substring) {
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let at = Double(parts[0]) else { return nil }
            (self.at, self.text) = (at, String(parts[1]))
        }
    }

    private static func text(_ state: ConnectionState) -> String {
        switch state {
        case .open(let isDegraded, let isSilent): "open" + (isDegraded ? " degraded" : "") + (isSilent ? " silent" : "")
        case .waiting(_, let close): "waiting after \(close?.code ?? 0)"
        case .refused: "refused"
        case .connecting: "connecting"
        case .background: "background"
        case .stopped: "stopped"
        }
    }

    private static func note(_ lines: Lines, _ text: String) {
        lines.add("\(Int(Date().timeIntervalSince1970 * 1000)) \(text)")
    }

    private static func events(_ lines: [Substring]) -> [Event] { lines.compactMap { Event($0) } }

    @Test func `both clients notice that a gateway is frozen, and follow again when it thaws`() async throws {
        let seconds = try #require(freezeSeconds)
        try await Stage.open { stage in
            let service = try await stage.client(role: "service", "orders").rest
            try await service.createJob(.init(Self.job, kind: .service, customer: "anna"))
            let token = try await stage.token("customer", "anna")

            // enroute.js, in its own process, which writes to a file.
            let file = FileManager.default.temporaryDirectory.appending(path: "enroute-freeze-\(UUID())")
            #expect(FileManager.default.createFile(atPath: file.path, contents: nil))
            defer { try? FileManager.default.removeItem(at: file) }
            let output = try FileDescriptor.open(FilePath(file.path), .writeOnly)
            let words = [
                Stage.repository.appending(path: "Tests/JavaScript/freeze-report.mjs").path, stage.url.absoluteString,
                token, Self.job.rawValue,
            ]
            let node = Task {
                try await Subprocess.run(
                    .name("node"), arguments: Arguments(words), input: .none,
                    output: .fileDescriptor(output, closeAfterSpawningProcess: true))
            }
            defer { node.cancel() }
            func script() -> [Event] {
                Self.events((try? String(contentsOf: file, encoding: .utf8))?.split(separator: "\n") ?? [])
            }

            let lines = Lines()
            let client = await stage.client { .token(token) }
            let states = Task { for await state in client.connectionStates { Self.note(lines, Self.text(state)) } }
            let views = Task {
                var status: JobStatus?
                for try await view in client.job(Self.job) {
                    if view.status != status { Self.note(lines, "sees \(view.status.rawValue)") }
                    status = view.status
                }
            }
            defer {
                states.cancel()
                views.cancel()
            }
            func swift() -> [Event] { Self.events(lines.all.map { $0[...] }) }
            func bothSaw(_ text: String, after time: Double = 0) -> Bool {
                [script(), swift()].allSatisfy { $0.contains { $0.text == text && $0.at > time } }
            }

            try await until("both follow") { bothSaw("sees assigned") }
            let begin = Date().timeIntervalSince1970 * 1000
            stage.signal(SIGSTOP)
            let end = ContinuousClock.now + .seconds(seconds)
            try await until("the freeze is over", seconds: seconds + 60) { ContinuousClock.now >= end }
            stage.signal(SIGCONT)
            let thawed = Date().timeIntervalSince1970 * 1000
            try await until("both are connected again") { bothSaw("open", after: thawed) }
            try await service.changeStatus(of: Self.job, to: .cancelled)
            try await until("both see the new status") { bothSaw("sees cancelled", after: thawed) }

            let reports = [script(), swift()].map { $0.filter { $0.at >= begin } }
            Self.show(reports, from: begin, thawed: thawed)
            for report in reports {
                func first(_ text: String) -> Double { ((report.first { $0.text == text }?.at ?? 0) - begin) / 1000 }
                // 20 s after the last message a ping is sent, and its pong is due within 4 s.
                #expect((20...26).contains(first("open silent")))
                #expect((36...42).contains(first("waiting after 1006")))
                #expect(!report.contains { $0.text == "open" && $0.at < thawed })
            }
        }
    }

    /// Prints both reports side by side, by the seconds since the freeze began.
    private static func show(_ reports: [[Event]], from begin: Double, thawed: Double) {
        var rows = reports.enumerated().flatMap { column, events in events.map { ($0.at, column, $0.text) } }
        rows.append((thawed, 2, "SIGCONT"))
        print("      s  enroute.js            Swift")
        for (at, column, text) in rows.sorted(by: { ($0.0, $0.1) < ($1.0, $1.1) }) {
            let time = String(format: "%7.1f", (at - begin) / 1000)
            print(time + "  " + (column == 1 ? String(repeating: " ", count: 22) : "") + text)
        }
    }
}
