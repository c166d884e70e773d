// One connection that follows one job: upgrade, greetings, subscription, then messages, each read in place.

internal import CLibssl
internal import Glibc

final class Follower: TransportOwner {
    enum State { case connecting, upgrading, subscribing, following, over }

    let identity: Identity
    private unowned let crowd: Crowd
    private var transport: Transport?
    private var frames = FrameReader()
    private(set) var state = State.connecting
    /// The response to the upgrade, as far as received.
    private var head: [UInt8] = []
    /// The next index in the schedule that would be in order.
    private var expected = 0
    private var wasClosed = false

    init(_ identity: Identity, crowd: Crowd) {
        (self.identity, self.crowd) = (identity, crowd)
    }

    func connect(_ dial: Dial) throws {
        let transport = try Transport(dial, source: self.identity.index / 20_000, loop: self.crowd.loop)
        transport.owner = self
        self.transport = transport
    }

    func close() { self.transport?.close() }

    /// Whether it has stopped reading, like a phone in a tunnel.
    var reads: Bool {
        get { self.transport?.reads ?? false }
        set { self.transport?.reads = newValue }
    }

    /// Sends a message of this connection's rider.
    func send(_ frame: [UInt8]) { self.transport?.write(frame) }

    func opened() {
        self.state = .upgrading
        let request = self.identity.upgrade(self.crowd.target, host: self.crowd.dial.endpoint.host)
        self.transport?.write(Array(request.utf8))
    }

    func received(_ bytes: UnsafeMutableRawBufferPointer) {
        guard self.state == .upgrading else { return self.read(UnsafeRawBufferPointer(bytes)) }
        self.head.append(contentsOf: bytes)
        guard let end = self.head.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound else {
            if self.head.count > 16_384 { self.fail("the response to the upgrade does not end") }
            return
        }
        guard self.head.starts(with: "HTTP/1.1 101".utf8) else {
            return self.fail("upgrade refused: \(String(decoding: self.head.prefix(300), as: UTF8.self))")
        }
        let rest = Array(self.head[end...])
        self.head = []
        self.state = .subscribing
        for greeting in self.crowd.target.greetings { self.say(greeting) }
        if self.crowd.target.subscribed == nil { self.subscribed() }
        if !rest.isEmpty { rest.withUnsafeBytes { self.read($0) } }
    }

    func closed(_ reason: String) {
        let state = self.state
        self.state = .over
        self.transport = nil
        self.crowd.left(self, state, self.wasClosed ? nil : reason)
    }

    private func fail(_ reason: String) {
        self.crowd.firstFailure = self.crowd.firstFailure ?? reason
        self.transport?.close()
    }

    private func say(_ text: String) {
        let opcode = self.crowd.target.isBinary ? IncomingFrame.binary : IncomingFrame.text
        self.transport?.write(OutgoingFrame.make(opcode, self.identity.fill(text)))
    }

    private func subscribed() {
        self.state = .following
        self.crowd.entered(self)
    }

    // MARK: Frames

    private func read(_ bytes: UnsafeRawBufferPointer) {
        let isRFC6455 = self.frames.read(bytes) { frame in
            switch frame.opcode {
            case IncomingFrame.text, IncomingFrame.binary, IncomingFrame.continuation: self.message(frame.payload)
            case IncomingFrame.ping: self.transport?.write(OutgoingFrame.make(IncomingFrame.pong, frame.payload))
            case IncomingFrame.close:
                self.crowd.tally.closeCodes[frame.closeCode, default: 0] += 1
                self.wasClosed = true
                self.transport?.write(OutgoingFrame.make(IncomingFrame.close, frame.payload))
            default: break
            }
        }
        if !isRFC6455 { self.fail("frames that violate RFC 6455") }
    }

    private func message(_ payload: UnsafeRawBufferPointer) {
        if self.state == .following, self.crowd.mayBePublished(payload), let first = self.crowd.number(in: payload) {
            self.published(first.number, payload.count)
            var rest = UnsafeRawBufferPointer(rebasing: payload[first.end...])
            while let next = self.crowd.number(in: rest) {
                self.published(next.number, 0)
                rest = UnsafeRawBufferPointer(rebasing: rest[next.end...])
            }
            return
        }
        self.crowd.tally.others += 1
        if let answer = self.crowd.answer(to: payload) { self.say(answer) }
        if self.crowd.saysRefused(payload) { return self.refused(String(decoding: payload.prefix(300), as: UTF8.self)) }
        guard self.state == .subscribing else { return }
        if self.crowd.saysSubscribed(payload) { return self.subscribed() }
        self.crowd.lastWords = Array(payload.prefix(300))
    }

    private func refused(_ text: String) {
        if self.state == .subscribing { return self.fail(text) }
        self.crowd.tally.refusals += 1
        self.crowd.tally.firstRefusal = self.crowd.tally.firstRefusal ?? text
    }

    private func published(_ number: UInt64, _ bytes: Int) {
        let crowd = self.crowd
        guard let schedule = crowd.schedule,
            let message = schedule.message(
                numbered: number, crowd.target.numbering, channel: self.identity.channel)
        else {
            crowd.tally.others += 1
            return
        }
        crowd.tally.delivered += 1
        crowd.tally.deliveredBytes += bytes
        if message < self.expected {
            crowd.tally.disordered += 1
        } else {
            self.expected = message + schedule.channels
        }
        guard message >= schedule.firstMeasured else { return }
        let (now, due) = (Clock.now, schedule.due(message))
        crowd.tally.latency.record(now > due ? min(now - due, 119_000_000_000) : 0)
    }
}
