// The outgoing messages of a session. A frame is written immediately if the socket has sent everything before it; otherwise it
// waits in the outbox, and the socket is watched for a stall.

package import EnrouteWire
internal import Fanout
internal import HTTPValues
package import Jobs
internal import Logging
internal import NIOCore
internal import SecureSocket
internal import Telemetry
internal import TrafficControl
internal import WebSocket

extension Session {
    package func send(_ message: ServerMessage) { self.send(Frame.text(message.encoded), .ordered) }

    /// - Returns: whether the frame was written to the socket.
    @discardableResult
    func send(_ frame: [UInt8], _ kind: Outbox<JobID>.Kind, receivedAt: Int64 = 0) -> Bool {
        self.send(frame, kind, at: .now(), receivedAt: receivedAt)
    }

    /// Sends the frame now, or queues it until the socket has sent the data before it. Never closes the session synchronously,
    /// because the caller may be iterating over the sessions.
    ///
    /// - Parameters:
    ///   - now: the current time, read once for all recipients of a message.
    ///   - receivedAt: when a gateway received the content, ms since the epoch; 0 if its delivery is not measured.
    /// - Returns: whether the frame was written to the socket. If it is queued, its delivery is measured when it is written.
    func send(_ frame: [UInt8], _ kind: Outbox<JobID>.Kind, at now: NIODeadline, receivedAt: Int64) -> Bool {
        guard now < self.life.sendsUntil else { return false }
        self.lastActive = self.loop.ticks
        if !self.socket.isWaiting, self.outbox.isEmpty {
            self.write(frame)
            if self.socket.isWaiting { self.startStallTimer() }
            return true
        }
        switch self.changeOutbox({ $0.add(frame, kind, receivedAt: receivedAt) }) {
        case .queued: self.loop.counts.add(.messagesQueued)
        case .replaced:
            self.loop.counts.add(.messagesQueued)
            self.loop.counts.add(.positionsConflatedOut)
        case .overflow:
            let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
            self.loop.eventLoop.execute { bound.value.overflowed() }
        }
        return false
    }

    package func write(_ frame: [UInt8]) {
        let bytes = self.framing == .webSocket ? frame : EventStream.chunk(of: frame, isChunked: self.isChunked)
        self.summary.sent &+= 1
        self.summary.sentBytes &+= bytes.count
        bytes.withUnsafeBytes { self.socket.writeNow($0) }
    }

    private func overflowed() {
        guard self.isOpen else { return }
        self.loop.counts.add(.outboxOverflows)
        self.close(.slowConsumer, "send queue full")
    }

    /// Nothing waits for the socket.
    var hasSentEverything: Bool { !self.socket.isWaiting && self.outbox.isEmpty }

    func widenOutbox(to bytes: Int) { self.changeOutbox { $0.widen(to: bytes) } }

    func dropQueuedPosition(of job: JobID) { self.changeOutbox { $0.drop(job) } }

    /// The socket has sent its data, so queued frames can be written.
    func drained() {
        self.timers.stall?.cancel()
        self.timers.stall = nil
        guard !self.outbox.isEmpty else { return }
        let (now, time) = (NIODeadline.now(), WallClock.nowMilliseconds)
        while !self.socket.isWaiting, now < self.life.sendsUntil,
            let next = self.changeOutbox({ outbox in
                outbox.removeFirstWithTime(ifAllowed: { self.follower.showsPositions(of: $0) })
            })
        {
            self.write(next.frame)
            self.loop.counts.durations.delivered(receivedAt: next.receivedAt, at: time)
        }
        if self.socket.isWaiting { self.startStallTimer() }
    }

    func startStallTimer() {
        guard self.timers.stall == nil else { return }
        self.timers.stall = self.loop.deadlines.after(.seconds(Int64(self.limits.writeStallSeconds))) { [weak self] in
            guard let self, let context = self.context else { return }
            self.loop.counts.add(.writesStalled)
            self.summary.ended(by: .gateway, SessionSummary.abnormal, "write stalled")
            self.logger.debug("closing stalled connection")
            context.close(promise: nil)
        }
    }

    // MARK: refusals

    /// - Parameter ref: the client's reference for the refused message.
    package func refuse(
        _ replyTo: String, _ job: JobID?, _ code: ErrorCode, _ message: String, _ ref: MessageRef?,
        retryIn: Int64? = nil
    ) {
        let retryIn = code == .unavailable ? .random(in: 500...3000) : retryIn
        self.send(
            .error(
                Refusal(
                    replyTo: replyTo, job: job, code: code, message: message, retryInMilliseconds: retryIn, ref: ref)))
    }

    package func refuse(_ replyTo: String, _ job: JobID?, _ refused: Refused, _ ref: MessageRef?) {
        self.send(
            .error(
                Refusal(
                    replyTo: replyTo, job: job, code: refused.code, message: refused.message,
                    retryInMilliseconds: refused.code == .unavailable ? .random(in: 500...3000) : nil,
                    tasks: refused.tasks, ref: ref)))
    }

    /// Converts an error to the answer for the client. An unexpected error is counted and logged with the session id, which the
    /// client knows too.
    package func refusal(for error: any Error) -> Refused {
        let refused = Refused(error)
        guard refused.code == .internal else { return refused }
        self.loop.counts.add(.messagesFailed)
        self.logger.error(
            "handling a message failed",
            metadata: [LogKey.session: "\(self.id)", LogKey.reason: "\(refused.cause ?? "unknown")"])
        return refused
    }
}
