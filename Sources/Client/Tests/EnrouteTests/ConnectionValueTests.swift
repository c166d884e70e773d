// Tests of the values that decide for a connection: its back-off, its queue, its timers, and the network of the device.

import Testing

@testable import Enroute

@Suite struct ConnectionValueTests {
    @Test func `only a stable session starts the back-off over`() {
        var backoff = ReconnectBackoff()
        func delay(at now: Double) -> Double { backoff.delay(afterClose: 1006, at: now) { 1 } }
        #expect([delay(at: 0), delay(at: 0), delay(at: 0)] == [3_000, 2_000, 4_000])
        backoff.opened(at: 0)
        #expect(delay(at: Reconnecting.stableAfter - 1) == 8_000)
        backoff.opened(at: 20_000)
        #expect(delay(at: 20_000 + Reconnecting.stableAfter) == 3_000)
    }

    @Test func `an expired token is renewed at once, but not twice in a row`() {
        var backoff = ReconnectBackoff()
        #expect(backoff.delay(afterClose: Reconnecting.tokenExpired, at: 0) { 1 } == 0)
        #expect(backoff.delay(afterClose: Reconnecting.tokenExpired, at: 0) { 1 } > 0)
    }

    @Test func `the time in a goaway counts once`() {
        var backoff = ReconnectBackoff()
        #expect(backoff.goAway(in: 5_000, at: 1_000) == 6_000)
        #expect(backoff.delay(afterClose: 4000, at: 2_000) { 0 } == 4_000)
        #expect(backoff.delay(afterClose: 4000, at: 2_000) { 0 } == 0)
        #expect(backoff.goAway(in: .infinity, at: 1_000) == 1_000)
    }

    @Test func `a full queue accepts only messages that end a subscription`() {
        var queue = MessageQueue()
        for number in 0..<MessageBudget.mostWaiting {
            #expect(queue.append("\(number)", endsSubscription: false) == true)
        }
        #expect(queue.append("more", endsSubscription: false) == false)
        #expect(queue.append("end", endsSubscription: true) == true)
        #expect(queue.withdraw("end") == true)
        #expect(queue.withdraw("end") == false)
        #expect(queue.next(at: 0) == .send("0"))
    }

    @Test func `a connection is congested while a message waits or much is not sent`() {
        var queue = MessageQueue()
        #expect(!queue.isCongested)
        #expect(queue.append("a", endsSubscription: false) == true)
        #expect(queue.isCongested)
        #expect(queue.next(at: 0) == .send("a"))
        #expect(!queue.isCongested)
        queue.transmitted(String(repeating: "a", count: MessageQueue.congestedFrom + 1))
        #expect(queue.isCongested)
        queue.sent(characters: 1)
        #expect(!queue.isCongested)
    }

    @Test func `timers that are due fire by time, and at the same time in a fixed order`() {
        var timers = ConnectionTimers()
        (timers[.drain], timers[.answer], timers[.connect], timers[.look]) = (1, 2, 2, 3)
        #expect(timers.next == 1)
        #expect((0..<4).map { _ in timers.removeDue(at: 2) } == [.drain, .connect, .answer, nil])
        #expect(timers[.look] == 3)
        timers.clear()
        #expect(timers.next == nil)
    }

    @Test func `an offline report is ignored after the device is back online, or when messages keep arriving`() {
        var network = DeviceNetwork()
        network.offline(at: 0)
        network.messageArrived(at: DeviceNetwork.offlineDoubtedAfter)
        #expect(network.isOffline)
        network.messageArrived(at: DeviceNetwork.offlineDoubtedAfter + 1)
        #expect(!network.isOffline)
        network.offline(at: 0)
        network.online()
        #expect(network.isOffline)
        network.messageArrived(at: 1)
        #expect(!network.isOffline)
    }
}
