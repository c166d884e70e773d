// One line in the log for each closed session: the client's role, how long the session lasted, what it sent and received, and
// why it ended. During an outage or a restart thousands of sessions can end within a second, so the lines have a rate limit.

internal import EnrouteWire
internal import Fanout
internal import Logging
internal import NIOCore
internal import Telemetry

/// What one session did. A value.
struct SessionSummary {
    /// Who ended the session first.
    enum Initiator: String {
        case gateway, client
    }

    struct End {
        let code: UInt16
        /// The gateway's own text. The reason in a client's close frame is not logged, because it may contain anything.
        let reason: String
        let initiator: Initiator
    }

    /// WebSocket messages and pings, as the rate limit counts them.
    var received = 0
    var receivedBytes = 0
    /// Frames written, before encryption.
    var sent = 0
    var sentBytes = 0
    /// Subscriptions that continue from the last event of an earlier session.
    var resumes = 0
    private(set) var end: End?

    /// The codes of RFC 6455, section 7.4.1, that are never in a frame.
    static let (noStatus, abnormal): (UInt16, UInt16) = (1005, 1006)

    /// Records how the session ends. Only the first call has an effect, because the reply to a close frame ends
    /// nothing.
    mutating func ended(by initiator: Initiator, _ code: UInt16, _ reason: String) {
        if self.end == nil { self.end = End(code: code, reason: reason, initiator: initiator) }
    }

    func metadata(session: String, role: SessionRole?, isEventStream: Bool, lasting time: TimeAmount) -> Logger.Metadata
    {
        let milliseconds = time.nanoseconds / 1_000_000
        var metadata: Logger.Metadata = [
            LogKey.session: "\(session)", LogKey.role: "\(role?.rawValue ?? "none")",
            LogKey.kind: "\(isEventStream ? "event_stream" : "websocket")",
            LogKey.seconds: "\(Double(milliseconds) / 1000)", LogKey.received: "\(self.received)",
            LogKey.receivedBytes: "\(self.receivedBytes)", LogKey.sent: "\(self.sent)",
            LogKey.sentBytes: "\(self.sentBytes)", LogKey.resumes: "\(self.resumes)",
        ]
        if let end = self.end {
            metadata[LogKey.code] = "\(end.code)"
            metadata[LogKey.reason] = "\(end.reason)"
            metadata[LogKey.initiator] = "\(end.initiator.rawValue)"
        }
        return metadata
    }
}

/// Limits how many summaries one event loop logs. A value.
struct SessionSummaryLimit {
    /// Lines per second and per burst of the whole gateway. Each event loop has an equal share, at least one line.
    static let (linesPerSecond, linesBurst) = (20, 100)
    /// At most one line in this time reports how many were suppressed.
    static let reportInterval = TimeAmount.seconds(5)

    private var bucket: TokenBucket
    private var suppressed = 0
    private var reportedAt: NIODeadline?

    /// - Parameter loops: the number of event loops that share the limit.
    init(loops: Int) {
        self.bucket = TokenBucket(
            perSecond: max(1, Self.linesPerSecond / loops), burst: max(1, Self.linesBurst / loops))
    }

    /// Returns whether one more line may be logged. If not, it is counted.
    mutating func admits(at now: NIODeadline) -> Bool {
        guard !self.bucket.take(at: now.uptimeNanoseconds) else { return true }
        self.suppressed += 1
        return false
    }

    /// Returns the number of lines suppressed since the last report, if there are any and a report is due.
    ///
    /// - Parameter isLast: whether the event loop stops. Then a report is due in any case.
    mutating func report(at now: NIODeadline, isLast: Bool = false) -> Int? {
        guard self.suppressed > 0 else { return nil }
        if let reportedAt, now < reportedAt + Self.reportInterval, !isLast { return nil }
        self.reportedAt = now
        defer { self.suppressed = 0 }
        return self.suppressed
    }
}

extension LoopState {
    /// Logs the summary of a session whose connection has just closed.
    func logSummary(of session: Session) {
        let now = NIODeadline.now()
        guard self.summaryLimit.admits(at: now) else { return }
        session.logger.info(
            "session closed",
            metadata: session.summary.metadata(
                session: session.id, role: session.role, isEventStream: session.framing == .events,
                lasting: now - session.openedAt))
    }

    /// Logs how many summaries the rate limit suppressed.
    func reportSuppressedSummaries(at now: NIODeadline, isLast: Bool = false) {
        guard let count = self.summaryLimit.report(at: now, isLast: isLast) else { return }
        self.logger.info("session summaries suppressed by rate limit", metadata: [LogKey.count: "\(count)"])
    }
}
