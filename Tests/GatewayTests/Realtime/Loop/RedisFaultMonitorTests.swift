import LiveState
import Logging
import NIOCore
import Redis
import Telemetry
import Testing

@testable import Realtime

@Suite struct RedisFaultMonitorTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    @Test func `B35: a refused write is an outage until a write succeeds or the refusal expires`() {
        let clock = ManualTime(self.start)
        let faults = RedisFaultMonitor(
            .live, keyspace: Keyspace(), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ) {
            clock.now
        }
        #expect(faults.refusingSince == nil)
        faults.failed(RedisError.refused(code: "ERR", message: "ERR unknown command"))
        #expect(faults.refusingSince == nil)
        faults.failed(RedisError.refused(code: "OOM", message: "OOM command not allowed"))
        clock.now = self.start + .seconds(11)
        #expect(faults.refusingSince == self.start)
        faults.failed(RedisError.refused(code: "OOM", message: "OOM command not allowed"))
        clock.now = self.start + .seconds(22)
        #expect(faults.refusingSince == self.start && faults.isRefusingWrites)
        faults.wrote()
        #expect(faults.refusingSince == nil && !faults.isRefusingWrites)
        faults.failed(RedisError.refused(code: "MISCONF", message: "MISCONF no disk"))
        clock.now = self.start + .seconds(34)
        #expect(faults.refusingSince == nil && !faults.isRefusingWrites)
        #expect(faults.metrics[.outOfMemory, .live] == 2 && faults.metrics[.diskRefused, .live] == 1)
        #expect(faults.metrics[.other, .live] == 1 && faults.metrics[.outOfMemory, .ledger] == 0)
    }

    @Test func `failed attempts to connect are all counted, and logged once a minute for each reason`() {
        let (clock, lines) = (ManualTime(self.start), RecordedLines())
        let faults = RedisFaultMonitor(.live, keyspace: Keyspace(), logger: lines.logger) { clock.now }
        let refused = RedisError.authenticationRefused(address: "a:1", reason: "WRONGPASS")
        for _ in 0..<13 {
            faults.observed(.connectionEnded(.connectionLost, at: "a:1"))
            faults.observed(.attemptFailed(refused, at: "a:1"))
        }
        faults.observed(.attemptFailed(.unreachable(address: "a:1", reason: "Connection refused"), at: "a:1"))
        faults.observed(.attemptFailed(.tooManyClients(address: "a:1"), at: "a:1"))
        faults.observed(.masterSwitched(to: "a:2"))
        #expect(faults.metrics[.notSignedIn, .live] == 13 && faults.metrics[.unreachable, .live] == 2)
        #expect(
            lines.all.map(\.message) == [
                "redis connection ended", "redis connection failed", "redis connection failed",
                "redis connection failed", "sentinels switched the master",
            ])
        #expect(lines.all.map(\.level) == [.warning, .error, .warning, .warning, .notice])
        #expect(lines.all.allSatisfy { $0.metadata["role"] == "live" && $0.metadata["count"] == nil })
        #expect(lines.all[1].metadata["redis"] == "a:1" && lines.all[1].metadata["reason"] == "\(refused)")
        clock.now = self.start + .seconds(60)
        faults.observed(.attemptFailed(refused, at: "a:1"))
        #expect(lines.all.count == 6 && lines.all.last?.metadata["count"] == "12")
    }

    @Test func `the reasons that are logged within a minute are bounded`() {
        let lines = RecordedLines()
        let faults = RedisFaultMonitor(.ledger, keyspace: Keyspace(), logger: lines.logger)
        for number in 0..<(2 * RedisFaultMonitor.maxEvents) {
            faults.observed(.attemptFailed(.unreachable(address: "a:1", reason: "reason \(number)"), at: "a:1"))
        }
        #expect(lines.all.count == RedisFaultMonitor.maxEvents)
        #expect(faults.metrics[.unreachable, .ledger] == 2 * RedisFaultMonitor.maxEvents)
    }

    @Test func `an outage has the reason of the last error that explains it, and its end has none`() {
        let (clock, lines) = (ManualTime(self.start), RecordedLines())
        let monitors = RedisFaultMonitors(keyspace: Keyspace(), logger: lines.logger, clock: { clock.now })
        #expect(monitors.reasons(of: [.redisLive, .redisLedger]) == "no reply in time")
        monitors.ledger.failed(
            .refused(code: "OOM", message: "OOM command not allowed when used memory > 'maxmemory'."))
        monitors.ledger.failed(.refused(code: "NOPERM", message: "NOPERM this user has no permissions"))
        monitors.live.observed(.attemptFailed(.unreachable(address: "a:1", reason: "Connection refused"), at: "a:1"))
        monitors.live.failed(.disconnected)
        #expect(monitors.reasons(of: [.redisLedger]) == "Redis replied OOM")
        let both = monitors.reasons(of: [.redisLive, .redisLedger])
        #expect(both.hasPrefix("Redis at a:1 cannot be reached: Connection refused. "))
        #expect(both.hasSuffix(" Redis replied OOM"))
        monitors.outages.started(["role": "ledger", "reason": "Redis replied OOM"])
        monitors.outages.ended()
        let told = lines.all.filter {
            $0.message.hasPrefix("redis unavailable") || $0.message.hasPrefix("redis available")
        }
        #expect(told.map(\.metadata) == [["role": "ledger", "reason": "Redis replied OOM"], ["role": "ledger"]])
        clock.now = self.start + RedisFaultMonitor.refusalLifetime
        #expect(monitors.reasons(of: [.redisLedger]) == "no reply in time")
    }

    @Test func `an outage is logged when the first event loop notices it, and its end when the last one has resynced`()
    {
        let lines = RecordedLines()
        let outages = OutageLog(logger: lines.logger)
        for _ in 0..<2 {
            outages.started(["role": "live"])
            outages.started(["role": "live,ledger"])
            outages.ended()
            #expect(lines.all.last?.message == "redis unavailable or refusing writes")
            outages.ended()
            #expect(lines.all.last?.message == "redis available again; followed jobs resynced")
        }
        #expect(lines.all.count == 4 && lines.all.allSatisfy { $0.metadata == ["role": "live"] })
    }
}

/// A clock that the test controls.
private final class ManualTime: @unchecked Sendable {
    var now: NIODeadline
    init(_ now: NIODeadline) { self.now = now }
}
