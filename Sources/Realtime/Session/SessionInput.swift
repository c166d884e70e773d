// Receives a session's frames and handles their messages. Every frame counts toward the client's rate limit before it is
// handled, including pings and pongs, because otherwise they would allow a client to keep the gateway busy.
//
// Step 1 of 10 of the hot path. Before: the rider's socket.
// Next: EnrouteWire/Location/LocationReport.swift

internal import EnrouteWire
internal import Fanout
internal import HotPath
internal import HTTPValues
internal import Logging
package import NIOCore
internal import SecureSocket
internal import Telemetry
internal import TrafficControl
internal import WebSocket

extension Session {
    /// What a session has received and not handled yet, and how often it has violated rules.
    package struct InputState {
        /// The number of malformed messages.
        var malformedMessages = 0
        /// The client repeatedly exceeded its rate limit. The session closes once earlier requests have been answered.
        var isOverRateLimit = false
        /// The client violated the framing rules or the rate limit. Only its reply to our close frame is expected.
        var hasBrokenRules = false
        /// The number of bytes received since then; at most `Limits.closingBytes`.
        var lateBytes = 0
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // A client of an event stream may pipeline another request before the response is complete. It is ignored.
        guard self.framing == .webSocket else { return }
        let bytes = self.unwrapInboundIn(data)
        self.keepalive.received(.now())
        self.summary.receivedBytes &+= bytes.readableBytes
        guard self.acceptsLateBytes(bytes.readableBytes) else { return context.close(promise: nil) }
        self.reader.add(bytes)
        while let event = self.reader.next() {
            switch event {
            case .text(let bytes): if self.admit(.message(bytes)) { self.received(bytes) }
            case .ping(let payload): if self.admit(.ping) { self.send(Frame.pong(payload), .ordered) }
            case .pong: _ = self.admit(.pong)
            case .binary: self.close(.unsupportedData, "binary messages are not supported")
            case .close(let frame): return self.peerCloses(frame)
            // Later data is discarded, except the reply to our close frame.
            case .refused(let code, let reason):
                self.input.hasBrokenRules = true
                self.close(code, reason)
            }
            if self.life.isClosed { return }
        }
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // A client of an event stream sends nothing; only the end of its input matters.
        if self.framing == .events, case ChannelEvent.inputClosed? = event as? ChannelEvent {
            return context.close(promise: nil)
        }
        if case SecureSocketEvent.unsent? = event as? SecureSocketEvent { self.startStallTimer() }
        context.fireUserInboundEventTriggered(event)
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.summary.ended(by: .client, SessionSummary.abnormal, "socket failed")
        self.logger.debug("socket failed", metadata: [LogKey.reason: "\(error)"])
        context.close(promise: nil)
    }

    /// Until the client replies to our close frame, it may still be sending data. After a violation, the amount is
    /// limited.
    private func acceptsLateBytes(_ bytes: Int) -> Bool {
        guard self.input.hasBrokenRules else { return true }
        self.input.lateBytes += bytes
        guard self.input.lateBytes > Limits.closingBytes else { return true }
        self.closeOverRate()
        return false
    }

    private enum CountedFrame {
        case message(ByteBuffer)
        case ping
        case pong
    }

    /// Counts one more frame, and returns whether it may be handled.
    private func admit(_ frame: CountedFrame) -> Bool {
        guard self.isOpen, !self.input.isOverRateLimit else { return false }
        let isPong = if case .pong = frame { true } else { false }
        if !isPong {
            self.loop.counts.add(.messagesReceived)
            self.summary.received &+= 1
            self.lastActive = self.loop.ticks
        }
        switch self.rate.admit(at: NIODeadline.now().uptimeNanoseconds) {
        case .allowed: return true
        case .refused(let retryIn):
            self.loop.counts.add(.messagesRefusedByRate)
            self.refuseByRate(frame, retryIn)
        case .excessive:
            self.loop.counts.add(.messagesRefusedByRate)
            (self.input.isOverRateLimit, self.input.hasBrokenRules) = (true, true)
            self.closeOnceAnswered(by: .now() + .seconds(Int64(self.limits.closeSeconds)))
        }
        return false
    }

    private func refuseByRate(_ frame: CountedFrame, _ retryIn: Int64) {
        let outline: MessageOutline
        switch frame {
        case .message(let bytes): outline = bytes.withUnsafeReadableBytes { MessageOutline($0) }
        case .ping: outline = MessageOutline()
        // A pong is not answered.
        case .pong: return
        }
        self.send(
            .error(
                Refusal(
                    outline, code: .rateLimited,
                    message: "Message rate limit exceeded; this message was dropped. Send it again later.",
                    retryInMilliseconds: retryIn)))
    }

    /// Requests within the rate limit are answered first. The time for this is limited to that of a close handshake.
    private func closeOnceAnswered(by end: NIODeadline) {
        guard self.isOpen else { return }
        guard self.follower.isReadingSnapshots, .now() < end else { return self.closeOverRate() }
        _ = self.loop.deadlines.after(Deadlines.tick) { [weak self] in self?.closeOnceAnswered(by: end) }
    }

    private func closeOverRate() { self.close(.rateLimited, "message rate limit exceeded repeatedly") }

    private func received(_ bytes: ByteBuffer) {
        HotPath.pass(.sessionInput)
        guard bytes.withUnsafeReadableBytes({ $0.isUTF8 }) else {
            return self.close(.invalidText, "text must be UTF-8")
        }
        do throws(BadMessage) {
            let request = try bytes.withUnsafeReadableBytes { bytes throws(BadMessage) in try ClientRequest(bytes) }
            self.handle(request)
        } catch {
            self.loop.counts.add(.messagesNotUnderstood)
            self.input.malformedMessages += 1
            guard self.input.malformedMessages <= self.limits.malformedMessages else {
                return self.close(.tooManyBadRequests, "too many malformed messages")
            }
            let outline = bytes.withUnsafeReadableBytes { MessageOutline($0) }
            self.send(.error(Refusal(outline, code: .badRequest, message: error.reason)))
        }
    }

    /// Each job of a `subscribe` message is read from Redis, so this many jobs count as one more message.
    private static let jobsPerMessage = 10

    /// Handles the messages that arrived before the client was authenticated.
    func handleDeferred(_ waiting: [ClientRequest]) {
        for request in waiting where self.grant != nil { self.handle(request) }
    }

    private func handle(_ request: ClientRequest) {
        guard let admitted = self.life.admitted else { return self.handleBeforeSignIn(request) }
        let (grant, ref) = (admitted.grant, request.ref)
        switch request.message {
        case .location(let report): self.rider.report(report, grant)
        case .subscribe(let job, let since): self.follower.subscribe(job, since: since, grant, ref)
        case .subscribeAll(let jobs):
            self.rate.charge(jobs.count / Self.jobsPerMessage, at: NIODeadline.now().uptimeNanoseconds)
            for job in jobs { self.follower.subscribe(job.job, since: job.since, grant, ref) }
        case .unsubscribe(let job): self.follower.unsubscribe(job, ref)
        case .travel(let job, let active, let device, let resumes):
            self.rider.name(device, switchesTravel: true)
            self.rider.travel(job, active: active, resumes: resumes, grant, ref)
        case .watch(let zone, let since): self.watcher.watch(zone, since: since, grant, ref)
        case .unwatch(let zone): self.watcher.unwatch(zone, ref)
        case .watchJobs(let zone): self.watcher.watchJobs(zone, grant, ref)
        case .unwatchJobs(let zone): self.watcher.unwatchJobs(zone, ref)
        case .watchPlaces(let zone): self.watcher.watchPlaces(zone, grant, ref)
        case .unwatchPlaces(let zone): self.watcher.unwatchPlaces(zone, ref)
        case .availability(let status, let device):
            self.rider.name(device, switchesTravel: false)
            self.rider.setAvailability(status, device, grant, ref)
        case .presence(let place, let device):
            self.rider.name(device, switchesTravel: false)
            self.rider.presence.presenceReported(at: place, device, grant, ref)
        case .unavailable(let job, let reason): self.rider.guidance.reported(reason, for: job, grant, ref)
        case .ping: self.send(.pong(serverTime: WallClock.nowMilliseconds))
        case .auth: self.refuse("auth", nil, .badRequest, "This connection is already signed in.", ref)
        case .refresh(let token): self.refresh(token, admitted, ref)
        }
    }

    private func handleBeforeSignIn(_ request: ClientRequest) {
        switch self.life.deferUntilSignedIn(request, most: self.limits.messagesBeforeSignIn) {
        case .deferred: return
        case .tooMany:
            return self.close(.rateLimited, "too many messages before welcome")
        case .notSigningIn: break
        }
        guard case .auth(let credential) = request.message else {
            return self.close(.invalidToken, "the first message must be auth")
        }
        self.signIn(self.loop.signIn(credential, from: self.address, as: self.id))
    }
}
