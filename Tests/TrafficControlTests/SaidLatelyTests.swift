import LiveState
import Logging
import NIOCore
import Redis
import Telemetry
import Testing

@testable import TrafficControl

/// How often the same failure is said.
@Suite struct SaidLatelyTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private let silence = SaidLately<String>.silence

    @Test func `the same is said once, and after a while again with how often it happened`() {
        var said = SaidLately<String>(most: 10)
        #expect(said.say("a", now: self.start) == 0)
        for second in 1..<60 { #expect(said.say("a", now: self.start + .seconds(Int64(second))) == nil) }
        #expect(said.say("b", now: self.start + .seconds(1)) == 0)
        #expect(said.say("a", now: self.start + self.silence) == 59)
        #expect(said.say("a", now: self.start + self.silence + .seconds(1)) == nil)
    }

    @Test func `no more subjects are remembered than may be, and old ones make room`() {
        var said = SaidLately<Int>(most: 3)
        for subject in 0..<3 { #expect(said.say(subject, now: self.start) == 0) }
        #expect(said.say(3, now: self.start + .seconds(1)) == nil)
        #expect(said.say(3, now: self.start + SaidLately<Int>.silence) == 0)
    }

    @Test func `B35: a refused write is an outage until a write is taken, or nothing more is heard of it`() {
        let clock = ManualTime(self.start)
        let faults = RedisFaults(
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

/// A clock that a test moves.
private final class ManualTime: @unchecked Sendable {
    var now: NIODeadline
    init(_ now: NIODeadline) { self.now = now }
}
