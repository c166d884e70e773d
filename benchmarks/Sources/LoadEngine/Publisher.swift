// Publishes on schedule: everything due is sent, however late the loop is; nothing waits for a response.

internal import Histogram

/// How a message gets into a peer.
protocol Publisher: AnyObject {
    /// Whether it is connected.
    var isReady: Bool { get }
    /// Why it will never be connected.
    var failure: String? { get }
    /// Messages that the peer has not confirmed yet; 0 if it confirms nothing.
    var unconfirmed: Int { get }
    func publish(channel: Int, id: UInt64, at: Int64)
    /// After the last message of a batch.
    func flush()
    func close()
}

/// Publishes every message of a schedule at its time.
final class Pacer: Ticker {
    private let schedule: Schedule
    private let publisher: any Publisher
    private(set) var next = 0
    /// The delay of messages after their scheduled time, ns: if large, the generator lacked CPU time.
    private(set) var lateness = Histogram<UInt64>(
        lowestDiscernibleValue: 1000, highestTrackableValue: 120_000_000_000, numberOfSignificantValueDigits: .three)

    init(_ schedule: Schedule, _ publisher: any Publisher) {
        (self.schedule, self.publisher) = (schedule, publisher)
    }

    var isDone: Bool { self.next >= self.schedule.count }

    func tick(_ now: UInt64) -> UInt64 {
        let first = self.next
        // A limit, so that reading continues when the generator is behind.
        let last = min(self.schedule.count, first + 256)
        while self.next < last, case let due = self.schedule.due(self.next), due <= now {
            self.publisher.publish(
                channel: self.next % self.schedule.channels, id: self.schedule.base + UInt64(self.next),
                at: self.schedule.captureTime(self.next))
            if self.next >= self.schedule.firstMeasured { self.lateness.record(min(now - due, 119_000_000_000)) }
            self.next += 1
        }
        if self.next > first { self.publisher.flush() }
        return self.isDone ? .max : self.schedule.due(self.next)
    }
}

/// A publisher on a plain socket that sends any number of messages without waiting: Redis, NATS, HTTP with pipelining. They
/// differ in the bytes around a message, and in how responses are counted.
final class StreamPublisher: Publisher, TransportOwner {
    private var templates: [MessageTemplate]
    private let greeting: [UInt8]
    private var answers: any AnswerCounter
    private var transport: Transport?
    private var batch: [UInt8] = []
    private(set) var isReady = false
    private(set) var failure: String?
    private var sent = 0

    init(
        _ dial: Dial, loop: Loop, greeting: String = "", templates: [MessageTemplate], answers: any AnswerCounter
    ) throws {
        (self.templates, self.greeting, self.answers) = (templates, Array(greeting.utf8), answers)
        let transport = try Transport(dial, source: 0, loop: loop)
        transport.owner = self
        self.transport = transport
    }

    var unconfirmed: Int { self.answers.countsEveryMessage ? self.sent - self.answers.count : 0 }

    func publish(channel: Int, id: UInt64, at: Int64) {
        self.templates[channel].set(id: id, at: at)
        self.batch.append(contentsOf: self.templates[channel].bytes)
        self.sent += 1
    }

    func flush() {
        self.transport?.write(self.batch)
        self.batch.removeAll(keepingCapacity: true)
    }

    func close() { self.transport?.close() }

    func opened() {
        self.transport?.write(self.greeting)
        self.isReady = true
    }

    func received(_ bytes: UnsafeMutableRawBufferPointer) {
        if let refusal = self.answers.take(UnsafeRawBufferPointer(bytes)) { self.failure = refusal }
    }

    func closed(_ reason: String) {
        self.transport = nil
        self.failure = self.failure ?? reason
    }
}

/// Counts the responses to published messages.
protocol AnswerCounter {
    var count: Int { get }
    /// Whether every message gets a response.
    var countsEveryMessage: Bool { get }
    /// - Returns: the text of a refusal.
    mutating func take(_ bytes: UnsafeRawBufferPointer) -> String?
}

/// Redis: a line for each PUBLISH, `:<receivers>`. NATS: only `+OK`, `PING` and errors.
struct LineCounter: AnswerCounter {
    let refusal: UInt8
    let countsEveryMessage: Bool
    private(set) var count = 0
    private var isAtStart = true
    private var refusing: [UInt8]?

    init(refusal: Character, countsEveryMessage: Bool) {
        (self.refusal, self.countsEveryMessage) = (refusal.asciiValue!, countsEveryMessage)
    }

    mutating func take(_ bytes: UnsafeRawBufferPointer) -> String? {
        for byte in bytes {
            if self.isAtStart, byte == self.refusal { self.refusing = [] }
            self.refusing?.append(byte)
            self.isAtStart = byte == 10
            guard self.isAtStart else { continue }
            if let refusing { return String(decoding: refusing, as: UTF8.self) }
            self.count += 1
        }
        return nil
    }
}
