import Logging
import Testing

@testable import enroute

/// What systemd is notified of, and when.
@Suite struct ServiceReportTests {
    private static let second: UInt64 = 1_000_000_000
    private static let starting = ServiceReport.Health(readiness: "not ready: waiting for Redis, or for the clock")
    private static let ready = ServiceReport.Health(readiness: "ready")
    private static let stuck = ServiceReport.Health(
        readiness: "not ready: an event loop is blocked", silentMilliseconds: ServiceReport.stuckMilliseconds)

    private static func serving(watchdog: UInt64? = nil) -> ServiceReport {
        var report = ServiceReport(watchdog: watchdog)
        _ = report.started(self.ready, now: self.second)
        return report
    }

    @Test func `a datagram has a line for each message`() {
        #expect(
            ServiceMessage.datagram([
                .reloading(monotonicMicroseconds: 7), .status("a"), .watchdog, .stopping,
                .extendTimeout(microseconds: 5),
                .ready,
            ]) == "RELOADING=1\nMONOTONIC_USEC=7\nSTATUS=a\nWATCHDOG=1\nSTOPPING=1\nEXTEND_TIMEOUT_USEC=5\nREADY=1")
    }

    @Test func `a status cannot contain another message, and is cut at its maximum`() {
        #expect(ServiceMessage.status("a\nREADY=1\r\n\u{0}b").line == "STATUS=a READY=1  b")
        let long = ServiceMessage.status(String(repeating: "é", count: 1000)).line
        #expect(long.utf8.count == "STATUS=".utf8.count + ServiceMessage.maxStatusBytes)
    }

    @Test func `a start that waits for Redis extends its timeout every five seconds while its loops answer`() {
        var report = ServiceReport(watchdog: nil)
        let more = ServiceMessage.extendTimeout(microseconds: 30_000_000)
        #expect(report.tick(Self.starting, now: Self.second) == [more, .status(Self.starting.readiness)])
        #expect(report.tick(Self.starting, now: 5 * Self.second).isEmpty)
        #expect(report.tick(Self.starting, now: 6 * Self.second) == [more])
        #expect(report.tick(Self.stuck, now: 20 * Self.second) == [.status(Self.stuck.readiness)])
    }

    @Test func `the watchdog is fed twice per time limit from the start, but not while an event loop is blocked`() {
        var report = Self.serving(watchdog: 20 * Self.second)
        #expect(report.tickInterval == Self.second)
        #expect(report.tick(Self.ready, now: 10 * Self.second).isEmpty)
        #expect(report.tick(Self.ready, now: 11 * Self.second) == [.watchdog])
        // Late once, and fed as soon as the loop answers.
        #expect(report.tick(Self.stuck, now: 21 * Self.second) == [.status(Self.stuck.readiness)])
        #expect(report.tick(Self.ready, now: 22 * Self.second) == [.watchdog, .status("ready")])
        for now in UInt64(23)..<60 { #expect(!report.tick(Self.stuck, now: now * Self.second).contains(.watchdog)) }
    }

    @Test func `without a watchdog nothing is fed, and a short one is fed in time`() {
        var report = Self.serving()
        #expect(report.tick(Self.ready, now: 1_000 * Self.second).isEmpty)
        #expect(ServiceReport(watchdog: 400_000_000).tickInterval == 50_000_000)
        #expect(ServiceReport(watchdog: 1).tickInterval == 10_000_000)
    }

    @Test func `a reload is bracketed, but only while the gateway serves`() {
        var report = ServiceReport(watchdog: nil)
        #expect(report.reloading(now: 1).isEmpty && report.reloaded(Self.starting).isEmpty)
        report = Self.serving()
        #expect(
            report.reloading(now: 5 * Self.second) == [
                .reloading(monotonicMicroseconds: 5_000_000), .status("reading the TLS files again"),
            ])
        #expect(report.tick(Self.ready, now: 6 * Self.second).isEmpty)
        #expect(report.reloaded(Self.ready) == [.ready, .status("ready")])
        _ = report.reloading(now: 7 * Self.second)
        #expect(report.stopping(limit: 20 * Self.second).first == .stopping)
        // READY=1 would mean that the stop was cancelled.
        #expect(report.reloaded(Self.ready).isEmpty && report.reloading(now: 8 * Self.second).isEmpty)
    }

    @Test func `a stop is reported once, with its time limit`() {
        var report = Self.serving(watchdog: Self.second)
        let messages = report.stopping(limit: 20 * Self.second)
        #expect(messages.contains(.stopping) && messages.contains(.extendTimeout(microseconds: 20_000_000)))
        #expect(report.stopping(limit: Self.second).isEmpty)
        #expect(report.tick(Self.stuck, now: 100 * Self.second).isEmpty)
        #expect(report.started(Self.ready, now: 100 * Self.second).isEmpty)
    }

    @Test(
        arguments: [
            (["NOTIFY_SOCKET": "/run/n", "WATCHDOG_USEC": "20000000"], "/run/n", 20_000_000_000),
            (["NOTIFY_SOCKET": "@n", "WATCHDOG_USEC": "1", "WATCHDOG_PID": "42"], "@n", 1_000),
            (["NOTIFY_SOCKET": "@n", "WATCHDOG_USEC": "1", "WATCHDOG_PID": "43"], "@n", nil),
            (["NOTIFY_SOCKET": "@n", "WATCHDOG_USEC": "0"], "@n", nil),
            (["NOTIFY_SOCKET": "@n", "WATCHDOG_USEC": "18446744073709551615"], "@n", nil),
            (["NOTIFY_SOCKET": "@n", "WATCHDOG_USEC": "soon"], "@n", nil),
            (["NOTIFY_SOCKET": "", "WATCHDOG_USEC": "20000000"], nil, nil), (["WATCHDOG_USEC": "20000000"], nil, nil),
            ([:], nil, nil),
        ] as [([String: String], String?, UInt64?)])
    func `the watchdog is used only if it is for this process`(
        variables: [String: String], socket: String?, limit: UInt64?
    ) {
        let environment = ServiceManagerEnvironment(variables, process: 42)
        #expect(environment.socket == socket && environment.watchdog == limit)
    }

    @Test(arguments: ["vsock:2:1234", "relative", "/" + String(repeating: "n", count: 108)])
    func `an address that cannot be a unix socket is refused`(name: String) {
        #expect(throws: ServiceManagerSocket.Failure.self) { try ServiceManagerSocket(name) }
    }

    @Test func `a log line has the priority of its level if it goes to the journal, and only then`() {
        #expect(
            Logger.Level.allCases.map(JournalPriority.prefix) == ["<7>", "<7>", "<6>", "<5>", "<4>", "<3>", "<2>"])
        #expect(JournalPriority.names("8:1234", file: "socket:[1234]"))
        for stream in [nil, "", "8:1235", "1234", "8"] {
            #expect(!JournalPriority.names(stream, file: "socket:[1234]"))
        }
        #expect(!JournalPriority.names("8:1234", file: "/dev/null") && !JournalPriority.names("8:1234", file: nil))
    }
}
