// One timer for all Redis connections of an event loop. A loop has a dozen connections, and previously each had a timer
// that fired 20 times a second.

internal import NIOCore
internal import NIOPosix
internal import Resilience

/// Calls the links of one event loop at regular intervals. Confined to its event loop.
final class LinkTicker {
    /// The ticker of the thread's event loop, shared by its links. Safe, because each thread has its own value.
    private nonisolated(unsafe) static let current = ThreadSpecificVariable<LinkTicker>()

    private let eventLoop: any EventLoop
    private var links: [RedisLink] = []
    private var timer: LoopTimer?
    private var stalls: StallWatch

    private init(eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        self.stalls = StallWatch(now: NIODeadline.now().uptimeNanoseconds)
    }

    /// The ticker of an event loop. Call it on that loop.
    static func of(_ eventLoop: any EventLoop) -> LinkTicker {
        eventLoop.preconditionInEventLoop()
        if let ticker = self.current.currentValue, ticker.eventLoop === eventLoop { return ticker }
        let ticker = LinkTicker(eventLoop: eventLoop)
        self.current.currentValue = ticker
        return ticker
    }

    func add(_ link: RedisLink) {
        guard !self.links.contains(where: { $0 === link }) else { return }
        self.links.append(link)
        if self.timer == nil {
            self.stalls = StallWatch(now: NIODeadline.now().uptimeNanoseconds)
            self.timer = LoopTimer(eventLoop: self.eventLoop, interval: RedisTiming.tick) { [unowned self] now in
                self.tick(now)
            }
        }
        self.timer?.start()
    }

    func remove(_ link: RedisLink) {
        self.links.removeAll { $0 === link }
        guard self.links.isEmpty else { return }
        self.timer?.cancel()
        self.timer = nil
    }

    /// Returns since when a command that was sent at `requestedAt` is certainly unanswered, rather than its reply
    /// unread because the loop was blocked.
    func waitingSince(_ requestedAt: NIODeadline, now: NIODeadline) -> NIODeadline {
        .uptimeNanoseconds(
            self.stalls.waitingSince(requestedAt.uptimeNanoseconds, now: now.uptimeNanoseconds))
    }

    private func tick(_ now: NIODeadline) {
        self.stalls.tick(now: now.uptimeNanoseconds)
        // A tick may add and remove links.
        for link in self.links { link.tick(now) }
    }
}
