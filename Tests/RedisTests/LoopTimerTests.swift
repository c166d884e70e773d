import NIOCore
import NIOEmbedded
import Testing

@testable import Redis

/// A repeating timer without promises.
@Suite struct LoopTimerTests {
    private final class Owner { var calls = 0 }

    @Test func `the closure is called once per interval until the timer is cancelled`() {
        let (loop, owner) = (EmbeddedEventLoop(), Owner())
        let timer = LoopTimer(eventLoop: loop, interval: .milliseconds(50)) { _ in owner.calls += 1 }
        loop.advanceTime(by: .milliseconds(500))
        #expect(owner.calls == 0)
        timer.start()
        timer.start()
        for _ in 0..<10 { loop.advanceTime(by: .milliseconds(50)) }
        #expect(owner.calls == 10)
        timer.cancel()
        timer.start()
        for _ in 0..<10 { loop.advanceTime(by: .milliseconds(50)) }
        #expect(owner.calls == 10)
    }

    @Test func `a timer that is cancelled in its closure is not called again`() {
        let (loop, owner) = (EmbeddedEventLoop(), Owner())
        var timer: LoopTimer?
        timer = LoopTimer(eventLoop: loop, interval: .milliseconds(50)) { _ in
            owner.calls += 1
            timer?.cancel()
        }
        timer?.start()
        for _ in 0..<10 { loop.advanceTime(by: .milliseconds(50)) }
        #expect(owner.calls == 1)
    }

    @Test func `cancelling releases what the closure retains`() {
        let loop = EmbeddedEventLoop()
        weak var released: Owner?
        let timer: LoopTimer
        do {
            let owner = Owner()
            released = owner
            timer = LoopTimer(eventLoop: loop, interval: .milliseconds(50)) { _ in owner.calls += 1 }
        }
        timer.start()
        #expect(released != nil)
        timer.cancel()
        #expect(released == nil)
    }
}
