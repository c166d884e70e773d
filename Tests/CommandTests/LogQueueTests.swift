import Embedded
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import enroute

/// Log lines whose reader stalls, or whose disk is full.
@Suite struct LogQueueTests {
    /// A pipe that holds one page.
    private final class SmallPipe: Sendable {
        static let bytes = 4096
        let (reader, writer): (Int32, Int32)

        init() throws {
            var ends: [Int32] = [-1, -1]
            try #require(pipe(&ends) == 0)
            (self.reader, self.writer) = (ends[0], ends[1])
            // F_SETPIPE_SZ, which Glibc does not export.
            try #require(fcntl(self.writer, 1031, Int32(Self.bytes)) == Self.bytes)
        }

        func lines(until last: String) async throws -> [Substring] {
            try await self.text(until: last).split(separator: "\n")
        }

        /// Reads on a thread of its own until a line contains `last`.
        func text(until last: String) async throws -> String {
            try await blocking { [self] in
                var text = ""
                while !text.contains(last) || !text.hasSuffix("\n") {
                    var chunk = [UInt8](repeating: 0, count: Self.bytes)
                    let count = read(self.reader, &chunk, chunk.count)
                    try #require(count > 0)
                    text += String(decoding: chunk[..<count], as: UTF8.self)
                }
                return text
            }
        }

        /// The number of bytes that nobody has read yet.
        var waiting: Int32 {
            var count: Int32 = 0
            return ioctl(self.reader, UInt(FIONREAD), &count) == 0 ? count : 0
        }

        deinit { close(self.reader) }
    }

    private static func line(_ number: Int) -> String { "line \(number) " + String(repeating: ".", count: 100) + "\n" }

    @Test func `lines arrive in the order in which they were appended`() async throws {
        let pipe = try SmallPipe()
        let queue = LogQueue(descriptor: pipe.writer)
        for number in 0..<1000 { queue.append(Self.line(number)) }
        let lines = try await pipe.lines(until: "line 999 ")
        #expect(lines.map { $0.split(separator: " ")[1] } == (0..<1000).map { "\($0)" })
    }

    @Test(arguments: LogFormat.allCases)
    func `if a reader stalls, lines are lost, and one line reports their number in their place`(format: LogFormat)
        async throws
    {
        let pipe = try SmallPipe()
        let queue = LogQueue(descriptor: pipe.writer, maxBytes: 20_000)
        let appended = 10_000
        for number in 0..<appended { queue.append(Self.line(number), format: format) }
        let lines = try await pipe.lines(until: "log lines lost")
        let kept = lines.dropLast()
        #expect(kept.map { $0.split(separator: " ")[1] } == kept.indices.map { "\($0)" })
        // The bound of the queue, and the capacity of the pipe.
        #expect(kept.count > 100 && kept.count < 300, "\(kept.count)")
        let report = try #require(lines.last)
        let count = format == .json ? "\"count\":\"\(appended - kept.count)\"" : "count=\(appended - kept.count) "
        #expect(report.contains(count) && report.contains("warning"), "\(report)")
        queue.append("later\n")
        #expect(try await pipe.lines(until: "later") == ["later"])
    }

    @Test func `a reader that stalls delays the exit of the process by only one second`() async throws {
        let pipe = try SmallPipe()
        let queue = LogQueue(descriptor: pipe.writer)
        for number in 0..<1000 { queue.append(Self.line(number)) }
        let took = try await blocking { ContinuousClock().measure { queue.flush() } }
        #expect(took >= .milliseconds(900) && took < .seconds(20), "\(took)")
        _ = try await pipe.lines(until: "line 999 ")
        queue.flush()
    }

    @Test func `lines that a full disk refuses are counted once there is space`() async throws {
        let pipe = try SmallPipe()
        let descriptor = open("/dev/full", O_WRONLY)
        defer { close(descriptor) }
        let queue = LogQueue(descriptor: descriptor, patience: .seconds(60))
        for number in 0..<3 {
            queue.append(Self.line(number))
            try await blocking { queue.flush() }
        }
        #expect(dup2(pipe.writer, descriptor) == descriptor)
        queue.append("there is space\n")
        let lines = try await pipe.lines(until: "log lines lost")
        #expect(lines.first == "there is space" && lines.count == 2)
        #expect(lines.last?.contains("count=3 ") == true, "\(lines)")
    }

    /// As when a disk is full for a while. Here the reader of the first pipe disappears.
    @Test func `after a line that was written only in part, the next one starts on a line of its own`() async throws {
        signal(SIGPIPE, SIG_IGN)
        var broken: SmallPipe? = try SmallPipe()
        let descriptor = dup(try #require(broken).writer)
        close(try #require(broken).writer)
        defer { close(descriptor) }
        let queue = LogQueue(descriptor: descriptor, patience: .seconds(60))
        queue.append(String(repeating: "x", count: 2 * SmallPipe.bytes) + "\n")
        try await becomes("the pipe is full") { broken?.waiting == Int32(SmallPipe.bytes) }
        broken = nil
        try await blocking { queue.flush() }
        let pipe = try SmallPipe()
        #expect(dup2(pipe.writer, descriptor) == descriptor)
        queue.append("there is space\n")
        let text = try await pipe.text(until: "log lines lost")
        #expect(text.hasPrefix("\nthere is space\n") && text.contains("count=1 "), "\(text)")
        #expect(text.filter { $0 == "\n" }.count == 3, "\(text)")
        queue.append("again\n")
        #expect(try await pipe.text(until: "again") == "again\n")
    }

    @Test func `flushing waits for every line that was appended before`() async throws {
        try await TemporaryFolder.holding("enroute-log") { folder in
            let path = "\(folder)/log"
            let descriptor = open(path, O_WRONLY | O_CREAT, 0o600)
            let queue = LogQueue(descriptor: descriptor, patience: .seconds(60))
            for number in 0..<5000 { queue.append(Self.line(number)) }
            try await blocking { queue.flush() }
            let text = try String(contentsOfFile: path, encoding: .utf8)
            #expect(text.split(separator: "\n").count == 5000)
        }
    }
}
