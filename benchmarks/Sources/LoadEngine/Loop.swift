// One thread, one epoll: everything in the generator happens here, so that its cost is one number. Sockets are level-triggered;
// before each wait, the time of the next scheduled work is computed with nanosecond precision (epoll_pwait2).

internal import CLibssl
internal import Glibc

/// Times of the run: ns of the monotonic clock, ms of the wall clock.
public enum Clock {
    public static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    public static var wallMicroseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }
}

/// A socket in the loop.
protocol Pollable: AnyObject {
    func ready(_ events: UInt32)
}

/// Work with its own schedule.
protocol Ticker: AnyObject {
    /// Does the work that is due, and returns the time of the next work, in ns of the monotonic clock.
    func tick(_ now: UInt64) -> UInt64
}

/// Confined to the thread that created it.
public final class Loop {
    static let readable = UInt32(EPOLLIN.rawValue)
    static let writable = UInt32(EPOLLOUT.rawValue)
    static let failed = UInt32(EPOLLERR.rawValue | EPOLLHUP.rawValue)

    /// Buffers for one `recv` and for libssl's output. Shared by all connections: nothing remains in them.
    let input = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 64)
    let plain = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 64)

    private let poll: Int32
    private var sockets: [(pollable: (any Pollable)?, generation: UInt32)] = []
    private var tickers: [any Ticker] = []
    private let events = UnsafeMutableBufferPointer<epoll_event>.allocate(capacity: 512)

    public init() throws {
        signal(SIGPIPE, SIG_IGN)
        self.poll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard self.poll >= 0 else { throw LoadError("epoll_create1: \(LoadError.reason(errno))") }
    }

    deinit {
        close(self.poll)
        self.input.deallocate()
        self.plain.deallocate()
        self.events.deallocate()
    }

    func add(_ pollable: any Pollable, _ descriptor: Int32, _ events: UInt32) {
        while self.sockets.count <= Int(descriptor) { self.sockets.append((nil, 0)) }
        self.sockets[Int(descriptor)].pollable = pollable
        self.control(EPOLL_CTL_ADD, descriptor, events)
    }

    func change(_ descriptor: Int32, _ events: UInt32) { self.control(EPOLL_CTL_MOD, descriptor, events) }

    /// Must be called before closing the descriptor. Later events of the same batch are skipped.
    func remove(_ descriptor: Int32) {
        self.control(EPOLL_CTL_DEL, descriptor, 0)
        self.sockets[Int(descriptor)].pollable = nil
        self.sockets[Int(descriptor)].generation &+= 1
    }

    private func control(_ operation: Int32, _ descriptor: Int32, _ events: UInt32) {
        let name = UInt64(self.sockets[Int(descriptor)].generation) << 32 | UInt64(UInt32(descriptor))
        var event = epoll_event(events: events, data: epoll_data_t(u64: name))
        let result = epoll_ctl(self.poll, operation, descriptor, &event)
        precondition(result == 0, "epoll_ctl: \(LoadError.reason(errno))")
    }

    func add(_ ticker: any Ticker) { self.tickers.append(ticker) }
    func remove(_ ticker: any Ticker) { self.tickers.removeAll { $0 === ticker } }

    /// Runs until the deadline, or until the condition holds, which is checked at least every 20 ms.
    ///
    /// - Returns: whether it ended because of the condition.
    @discardableResult
    public func run(until deadline: UInt64, while condition: () -> Bool = { true }) -> Bool {
        while condition() {
            let now = Clock.now
            guard now < deadline else { return false }
            var next = min(deadline, now + 20_000_000)
            for ticker in self.tickers { next = min(next, ticker.tick(now)) }
            self.wait(until: next)
        }
        return true
    }

    @discardableResult
    public func run(seconds: Double, while condition: () -> Bool = { true }) -> Bool {
        self.run(until: Clock.now + UInt64(seconds * 1e9), while: condition)
    }

    private func wait(until next: UInt64) {
        let now = Clock.now
        var timeout = timespec()
        if next > now {
            timeout.tv_sec = Int((next - now) / 1_000_000_000)
            timeout.tv_nsec = Int((next - now) % 1_000_000_000)
        }
        let count = epoll_pwait2(self.poll, self.events.baseAddress!, Int32(self.events.count), &timeout, nil)
        guard count > 0 else { return }
        for index in 0..<Int(count) {
            let event = self.events[index]
            let descriptor = Int(UInt32(truncatingIfNeeded: event.data.u64))
            guard self.sockets[descriptor].generation == UInt32(event.data.u64 >> 32) else { continue }
            self.sockets[descriptor].pollable?.ready(event.events)
        }
    }
}

/// Why there are no results.
public struct LoadError: Error, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }

    static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}
