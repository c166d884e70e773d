// The differences between peers: how a follower subscribes, how its messages are recognized, and how one is published.
// A value, so that every peer gets the same load from the same code.

/// A server to measure.
public struct Target {
    /// Its name in the report.
    public var name: String
    /// Path and query of the upgrade. Like every text of a target it may contain `{job}`, `{token}` and `{index}`.
    public var path: String
    public var subprotocol: String?
    /// Header lines of the upgrade request, without line ends.
    public var headers: [String]
    /// Sent in this order as soon as the upgrade is answered.
    public var greetings: [String]
    /// Replies to messages that start with a text: for protocols with their own sign-in or pings.
    public var replies: [(beginning: String, answer: String)]
    /// The opcode of sent messages.
    public var isBinary: Bool
    /// A text in the message that confirms the subscription: from then on nothing is missed. `nil` if the upgrade confirms it.
    public var subscribed: String?
    /// A text in messages that refuse something.
    public var refusal: String?
    /// The text before the number of a published message, found only in those.
    public var marker: String
    /// How a published message begins, where others may contain the marker too.
    public var beginning = ""
    public var numbering: Numbering

    public enum Numbering: Sendable {
        /// The digits after the marker are the message's index in the schedule plus the base.
        case sequence
        /// They are the scheduled time, in ms since the epoch: for peers that number messages themselves.
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

/// The identity of one connection: fills the placeholders of a target.
public struct Identity {
    public var index: Int
    /// Index of its job in the schedule.
    public var channel: Int
    public var job: String
    public var token: String

    public init(index: Int, channel: Int, job: String, token: String = "") {
        (self.index, self.channel, self.job, self.token) = (index, channel, job, token)
    }

    /// - Parameter more: placeholders of this text only, and their values.
    func fill(_ text: String, also more: [(String, String)] = []) -> String {
        guard text.contains("{") else { return text }
        var result = ""
        var rest = Substring(text)
        while let open = rest.firstIndex(of: "{") {
            result += rest[..<open]
            rest = rest[open...]
            let names: [(String, String)] =
                [
                    ("{job}", self.job), ("{token}", self.token), ("{index}", String(self.index)),
                ] + more
            if let (name, value) = names.first(where: { rest.hasPrefix($0.0) }) {
                result += value
                rest = rest.dropFirst(name.count)
            } else {
                result.append(rest.removeFirst())
            }
        }
        return result + rest
    }

    /// The upgrade request (RFC 6455, 4.1).
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

/// When each message is due: evenly spread or in bursts, fixed before the run, whatever happens to earlier messages. Message
/// `k` goes to channel `k % channels`.
public struct Schedule: Sendable {
    /// ns of the monotonic clock.
    public let start: UInt64
    /// The same moment, ms since the epoch.
    public let wallStart: Int64
    public let perSecond: Double
    public let channels: Int
    /// Number of messages due at the same time; 1 spreads them evenly.
    public let burst: Int
    public let count: Int
    /// Messages before this one are sent but not measured.
    public let firstMeasured: Int
    /// The number of message 0: µs since the epoch, so that numbers increase from run to run.
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

    /// The message with this number, if it belongs to this run.
    @inline(__always)
    func message(numbered number: UInt64, _ numbering: Target.Numbering, channel: Int) -> Int? {
        let message: Int
        switch numbering {
        case .sequence:
            guard number >= self.base else { return nil }
            message = Int(number - self.base)
        case .captureTime:
            // Within half a millisecond and the burst; messages of one channel are further apart than that.
            let place =
                (Double(Int64(number) - self.wallStart) + 0.5) * self.perSecond / 1e3 + Double(self.burst - 1) / 2
            message = Int(((place - Double(channel)) / Double(self.channels)).rounded()) * self.channels + channel
        }
        return message >= 0 && message < self.count && message % self.channels == channel ? message : nil
    }

    /// The number of messages for this channel.
    func messages(to channel: Int) -> Int { (self.count - channel + self.channels - 1) / self.channels }
}
