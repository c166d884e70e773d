// What is particular about a peer: how a follower gets in, how its messages are told apart, and how one is published.
// A value, so that every peer gets the same work from the same code.

/// A server to be measured.
public struct Target {
    /// What the report calls it.
    public var name: String
    /// Path and query of the upgrade. Like every text of a target it may hold `{job}`, `{token}` and `{index}`.
    public var path: String
    public var subprotocol: String?
    /// Lines of the upgrade request, without their ends.
    public var headers: [String]
    /// Sent in this order as soon as the upgrade is answered.
    public var greetings: [String]
    /// What is answered to a message that begins so: protocols with a sign-in or pings of their own.
    public var replies: [(beginning: String, answer: String)]
    /// The opcode of what is sent.
    public var isBinary: Bool
    /// What a message holds that says: from here on nothing is missed. `nil` where the upgrade itself says so.
    public var subscribed: String?
    /// What a message holds that refuses something.
    public var refusal: String?
    /// What stands before the number of a message that was published, and only of such.
    public var marker: String
    public var numbering: Numbering

    public enum Numbering: Sendable {
        /// The digits after the marker are the message's place in the schedule plus the base.
        case sequence
        /// They are the time it was scheduled for, in ms since the epoch: where the peer numbers messages itself.
        case captureTime
    }

    public init(
        name: String, path: String, subprotocol: String? = nil, headers: [String] = [], greetings: [String] = [],
        replies: [(beginning: String, answer: String)] = [], isBinary: Bool = false, subscribed: String? = nil,
        refusal: String? = nil, marker: String = #""id":""#, numbering: Numbering = .sequence
    ) {
        (self.name, self.path, self.subprotocol, self.headers) = (name, path, subprotocol, headers)
        (self.greetings, self.replies, self.isBinary) = (greetings, replies, isBinary)
        (self.subscribed, self.refusal, self.marker, self.numbering) = (subscribed, refusal, marker, numbering)
    }
}

/// Who one connection is: fills the placeholders of a target.
public struct Identity {
    public var index: Int
    /// Place of its job in the schedule.
    public var channel: Int
    public var job: String
    public var token: String

    public init(index: Int, channel: Int, job: String, token: String = "") {
        (self.index, self.channel, self.job, self.token) = (index, channel, job, token)
    }

    func fill(_ text: String) -> String {
        guard text.contains("{") else { return text }
        var result = ""
        var rest = Substring(text)
        while let open = rest.firstIndex(of: "{") {
            result += rest[..<open]
            rest = rest[open...]
            let names: [(String, String)] = [
                ("{job}", self.job), ("{token}", self.token), ("{index}", String(self.index)),
            ]
            if let (name, value) = names.first(where: { rest.hasPrefix($0.0) }) {
                result += value
                rest = rest.dropFirst(name.count)
            } else {
                result.append(rest.removeFirst())
            }
        }
        return result + rest
    }

    /// The request for the upgrade (RFC 6455, 4.1).
    func upgrade(_ target: Target, host: String) -> String {
        var lines = [
            "GET \(target.path) HTTP/1.1", "Host: \(host)", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13",
        ]
        if let subprotocol = target.subprotocol { lines.append("Sec-WebSocket-Protocol: \(subprotocol)") }
        lines += target.headers
        return self.fill(lines.joined(separator: "\r\n") + "\r\n\r\n")
    }
}

/// When each message is due: evenly spread or in bursts, fixed before the run, whatever becomes of the messages before it.
/// Message `k` goes to channel `k % channels`.
public struct Schedule: Sendable {
    /// ns of the monotonic clock.
    public let start: UInt64
    /// The same moment, ms since the epoch.
    public let wallStart: Int64
    public let perSecond: Double
    public let channels: Int
    /// So many messages are due at once; 1 spreads them evenly.
    public let burst: Int
    public let count: Int
    /// Messages before this one are sent and not measured.
    public let firstMeasured: Int
    /// The number of message 0: µs since the epoch, so that numbers grow from run to run.
    public let base: UInt64

    public init(start: UInt64, perSecond: Double, channels: Int, burst: Int = 1, warmup: Double, seconds: Double) {
        self.start = start
        let lead = Int64(start / 1000) - Int64(Clock.now / 1000)
        let wallMicroseconds = Clock.wallMicroseconds + lead
        self.wallStart = wallMicroseconds / 1000
        self.base = UInt64(wallMicroseconds)
        (self.perSecond, self.channels, self.burst) = (perSecond, channels, burst)
        self.firstMeasured = Int(warmup * perSecond)
        self.count = Int((warmup + seconds) * perSecond)
    }

    public func due(_ message: Int) -> UInt64 { self.start + UInt64(self.seconds(before: message) * 1e9) }
    /// ms since the epoch.
    public func captureTime(_ message: Int) -> Int64 { self.wallStart + Int64(self.seconds(before: message) * 1e3) }

    @inline(__always)
    private func seconds(before message: Int) -> Double {
        Double(self.burst == 1 ? message : message / self.burst * self.burst) / self.perSecond
    }

    /// The message with this number, if it is one of this run.
    @inline(__always)
    func message(numbered number: UInt64, _ numbering: Target.Numbering, channel: Int) -> Int? {
        let message: Int
        switch numbering {
        case .sequence:
            guard number >= self.base else { return nil }
            message = Int(number - self.base)
        case .captureTime:
            // To the half millisecond and the burst; a channel's messages are further apart than that.
            let place =
                (Double(Int64(number) - self.wallStart) + 0.5) * self.perSecond / 1e3 + Double(self.burst - 1) / 2
            message = Int(((place - Double(channel)) / Double(self.channels)).rounded()) * self.channels + channel
        }
        return message >= 0 && message < self.count && message % self.channels == channel ? message : nil
    }

    /// How many messages go to this channel.
    func messages(to channel: Int) -> Int { (self.count - channel + self.channels - 1) / self.channels }
}
