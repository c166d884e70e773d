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
}

/// A clock that the test controls.
private final class ManualTime: @unchecked Sendable {
    var now: NIODeadline
    init(_ now: NIODeadline) { self.now = now }
}
