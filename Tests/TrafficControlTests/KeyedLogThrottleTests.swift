import NIOCore
import Testing

@testable import TrafficControl

/// The rate of log messages about one subject.
@Suite struct KeyedLogThrottleTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private let interval = KeyedLogThrottle<String>.interval

    @Test func `a subject is logged once a minute, with the number of occurrences`() {
        var throttle = KeyedLogThrottle<String>(maxSubjects: 10)
        #expect(throttle.record("a", now: self.start) == 0)
        for second in 1..<60 { #expect(throttle.record("a", now: self.start + .seconds(Int64(second))) == nil) }
        #expect(throttle.record("b", now: self.start + .seconds(1)) == 0)
        #expect(throttle.record("a", now: self.start + self.interval) == 59)
        #expect(throttle.record("a", now: self.start + self.interval + .seconds(1)) == nil)
    }

    @Test func `the number of subjects is limited, and old ones make room`() {
        var throttle = KeyedLogThrottle<Int>(maxSubjects: 3)
        for subject in 0..<3 { #expect(throttle.record(subject, now: self.start) == 0) }
        #expect(throttle.record(3, now: self.start + .seconds(1)) == nil)
        #expect(throttle.record(3, now: self.start + KeyedLogThrottle<Int>.interval) == 0)
    }
}
