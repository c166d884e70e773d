import NIOCore
import Testing

@testable import TrafficControl

/// How often the same failure is said.
@Suite struct SaidLatelyTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private let silence = KeyedLogThrottle<String>.silence

    @Test func `the same is said once, and after a while again with how often it happened`() {
        var said = KeyedLogThrottle<String>(most: 10)
        #expect(said.say("a", now: self.start) == 0)
        for second in 1..<60 { #expect(said.say("a", now: self.start + .seconds(Int64(second))) == nil) }
        #expect(said.say("b", now: self.start + .seconds(1)) == 0)
        #expect(said.say("a", now: self.start + self.silence) == 59)
        #expect(said.say("a", now: self.start + self.silence + .seconds(1)) == nil)
    }

    @Test func `no more subjects are remembered than may be, and old ones make room`() {
        var said = KeyedLogThrottle<Int>(most: 3)
        for subject in 0..<3 { #expect(said.say(subject, now: self.start) == 0) }
        #expect(said.say(3, now: self.start + .seconds(1)) == nil)
        #expect(said.say(3, now: self.start + KeyedLogThrottle<Int>.silence) == 0)
    }
}
