// The connection to a gateway as a value: connects, signs in, detects a dead connection and reconnects. It performs no I/O:
// each event appends actions, which `ClientMachine` and `EnrouteClient` carry out. enroute-connection.js follows the same
// rules. All times are in ms.

struct ConnectionMachine {
    enum State { case stopped, connecting, open, waiting, refused, background }

    /// Attempts are numbered, so that late events of an earlier socket are ignored.
    enum Action: Equatable {
        case fetchCredential(attempt: Int)
        case open(attempt: Int)
        case send(attempt: Int, text: String)
        case close(attempt: Int, code: UInt16)
    }

    /// The time limit from the start of an attempt to the welcome.
    static let connectWithin = 15_000.0
    /// The reason for a missing connection or answer while the app's function hangs.
    static let credentialLate =
        "The app's credential function did not answer within \(Int(Self.connectWithin / 1000)) s."
    /// How long a gateway may take to close the connection after the time in its `goaway`.
    static let goawayGrace = 2_000.0

    private(set) var state = State.stopped
    private(set) var clock = ServerClock()
    private(set) var credential: Credential?
    private(set) var attempt = 0
    /// Set by the owner: whether the gateway should be sending something every few seconds.
    var expectsMessages = false
    var actions: [Action] = []

    private var isDegraded = false
    private var isSilent = false
    private(set) var lastClose: CloseReason?
    private var retryAt: Double?
    private var hasSocket = false
    private var backoff = ReconnectBackoff()
    private var beat = Heartbeat(receivedAt: 0)
    private var network = DeviceNetwork()
    private var queue = MessageQueue()
    private var timers = ConnectionTimers()
    private let random: @Sendable () -> Double

    init(random: @escaping @Sendable () -> Double) { self.random = random }

    var isOpen: Bool { self.state == .open }

    var isCongested: Bool { self.queue.isCongested }

    /// When `fire` must be called next, by the monotonic clock; `nil` if nothing is planned.
    var nextDue: Double? { self.timers.next }

    /// The state as the app sees it.
    var connection: ConnectionState {
        switch self.state {
        case .stopped: .stopped
        case .connecting: .connecting
        case .open where self.network.isOffline: .waiting(until: nil, lastClose: self.lastClose)
        case .open: .open(isDegraded: self.isDegraded, isSilent: self.isSilent)
        case .waiting: .waiting(until: self.retryAt.map { .init(ms: $0) }, lastClose: self.lastClose)
        case .refused: .refused(self.lastClose ?? CloseReason(code: 1006, reason: ""))
        case .background: .background
        }
    }

    // MARK: commands

    mutating func start(at moment: Moment) {
        guard self.state == .stopped || self.state == .refused else { return }
        self.backoff.reset()
        self.lastClose = nil
        self.connect(at: moment)
    }

    mutating func stop() {
        guard self.state != .stopped else { return }
        self.detach(code: 1000)
        self.settle(.stopped)
    }

    /// Closes the socket until `wake`, because the system suspends the app.
    mutating func suspend() {
        guard self.state != .stopped, self.state != .refused else { return }
        self.detach(code: 1000)
        self.settle(.background)
    }

    /// Reconnects immediately, or checks an open connection with a ping, because the network or the app is back.
    mutating func wake(at moment: Moment) {
        switch self.state {
        case .waiting, .background:
            self.backoff.shorten()
            self.connect(at: moment)
        case .open:
            self.beat.pingedAt = nil
            self.beat.isProbing = true
            self.check(at: moment)
        default: break
        }
    }

    mutating func online(at moment: Moment) {
        self.network.online()
        if self.state != .background { self.wake(at: moment) }
    }

    mutating func offline(at moment: Moment) {
        guard self.state != .stopped, self.state != .refused else { return }
        self.network.offline(at: moment.now)
    }

    /// Queues a message. Returns whether it was accepted. Nothing is accepted before the welcome.
    ///
    /// - Parameter endsSubscription: accepted even if the queue is full.
    mutating func send(_ text: String, endsSubscription: Bool = false, at moment: Moment) -> Bool {
        guard self.isOpen, self.queue.append(text, endsSubscription: endsSubscription) else { return false }
        self.drain(at: moment)
        return true
    }

    /// Removes a message from the queue. Returns whether it was there.
    mutating func withdraw(_ text: String) -> Bool { self.queue.withdraw(text) }

    /// Corrects the gateway's clock with the time in an answer over REST. Returns whether it changed.
    mutating func correctClock(serverTime: Double, asked: Moment, at moment: Moment) -> Bool {
        self.clock.corrected(serverTime: serverTime, asked: asked, at: moment)
    }

    /// Stores a newer token that the gateway accepted.
    mutating func renewed(_ credential: Credential) { self.credential = credential }

    // MARK: events

    mutating func received(_ credential: Credential?, attempt: Int, at moment: Moment) {
        guard attempt == self.attempt, self.state == .connecting, !self.hasSocket else { return }
        guard let credential else { return self.refuse(CloseReason(code: 4500, reason: "no credential is available")) }
        if let lastClose, lastClose.code == Reconnecting.tokenExpired, credential == self.credential {
            return self.refuse(lastClose)
        }
        self.credential = credential
        self.hasSocket = true
        self.actions.append(.open(attempt: attempt))
    }

    /// Handles an error of the app's function: the service that issues tokens may be unavailable for a while, like a gateway.
    mutating func credentialFailed(_ reason: String, attempt: Int, at moment: Moment) {
        guard attempt == self.attempt, self.state == .connecting else { return }
        self.lose(1006, "no credential is available: \(reason)", at: moment)
    }

    mutating func opened(attempt: Int, at moment: Moment) {
        guard attempt == self.attempt, let credential else { return }
        self.clock.asked(at: moment)
        self.transmit(ClientMessage.auth(credential).text())
    }

    mutating func sent(characters: Int, attempt: Int) {
        guard attempt == self.attempt else { return }
        self.queue.sent(characters: characters)
    }

    mutating func closed(_ reason: CloseReason, attempt: Int, at moment: Moment) {
        guard attempt == self.attempt else { return }
        self.closed(reason, at: moment)
    }

    /// Handles the parts of a message that concern the connection itself. The owner handles the message afterwards.
    mutating func received(_ message: ServerMessage, at moment: Moment) {
        self.beat = Heartbeat(receivedAt: moment.now)
        self.timers[.answer] = nil
        self.isSilent = false
        switch message {
        case .welcome(let serverTime, let limits): self.welcomed(serverTime: serverTime, limits, at: moment)
        case .pong(let serverTime): self.clock.answered(serverTime: serverTime, at: moment.wall)
        case .degraded: self.isDegraded = true
        case .restored: self.isDegraded = false
        case .goaway(let retryInMs):
            self.timers[.goodbye] = self.backoff.goAway(in: retryInMs, at: moment.now) + Self.goawayGrace
        default: break
        }
        self.network.messageArrived(at: moment.now)
    }

    /// Performs what is due.
    mutating func fire(at moment: Moment) {
        while let timer = self.timers.removeDue(at: moment.now) {
            switch timer {
            case .connect where self.hasSocket: self.lose(1006, "the gateway did not answer in time", at: moment)
            case .connect: self.lose(1006, Self.credentialLate, at: moment)
            case .planned: self.connect(at: moment)
            case .answer: self.isSilent = true
            case .look: self.check(at: moment)
            case .goodbye: self.closed(CloseReason(code: 4000, reason: "going away"), at: moment)
            case .drain: self.drain(at: moment)
            }
        }
    }

    // MARK: connecting

    private mutating func connect(at moment: Moment) {
        self.attempt += 1
        self.retryAt = nil
        self.network.forget()
        self.state = .connecting
        self.timers.clear()
        self.timers[.connect] = moment.now + Self.connectWithin
        self.actions.append(.fetchCredential(attempt: self.attempt))
    }

    private mutating func welcomed(serverTime: Double, _ limits: WireLimits?, at moment: Moment) {
        self.timers[.connect] = nil
        self.clock.restarted()
        self.clock.answered(serverTime: serverTime, at: moment.wall)
        self.backoff.opened(at: moment.now)
        self.queue.opened(limits, at: moment.now)
        (self.isDegraded, self.lastClose) = (false, nil)
        self.network.forget()
        self.state = .open
        self.check(at: moment)
    }

    // MARK: keeping the connection alive

    private mutating func check(at moment: Moment) {
        guard self.isOpen else { return }
        let (step, lookIn) = self.beat.check(at: moment.now, expectsMessages: self.expectsMessages)
        if step == .giveUp { return self.lose(1006, "the gateway did not answer a ping", at: moment) }
        // If the local clock was corrected, only a pong tells how far it is off now. Messages that keep arriving would delay the
        // next ping.
        let isClockCorrected = self.beat.pingedAt == nil && self.clock.isOutdated(at: moment)
        if isClockCorrected { self.clock.restarted() }
        if step == .ping || isClockCorrected {
            self.beat.pingedAt = moment.now
            self.clock.asked(at: moment)
            self.transmit(ClientMessage.ping.text())
            self.timers[.answer] = moment.now + Heartbeat.pongWithin
        }
        // Look again soon, because `expectsMessages` may change in the meantime.
        self.timers[.look] = moment.now + min(lookIn, Heartbeat.pingAfterExpected)
    }

    private mutating func drain(at moment: Moment) {
        while true {
            switch self.queue.next(at: moment.now) {
            case .send(let text): self.transmit(text)
            case .wait(let wait):
                self.timers[.drain] = moment.now + wait
                return
            case .nothing: return
            }
        }
    }

    private mutating func transmit(_ text: String) {
        self.queue.transmitted(text)
        self.actions.append(.send(attempt: self.attempt, text: text))
    }

    // MARK: losing the connection

    /// Gives up a socket that may never report its end.
    private mutating func lose(_ code: UInt16, _ reason: String, at moment: Moment) {
        self.detach(code: 4000)
        self.reconnect(CloseReason(code: code, reason: reason), at: moment)
    }

    private mutating func closed(_ reason: CloseReason, at moment: Moment) {
        if Reconnecting.reconnects(after: reason.code) {
            self.detach(code: 1000)
            self.reconnect(reason, at: moment)
        } else {
            self.refuse(reason)
        }
    }

    private mutating func reconnect(_ reason: CloseReason, at moment: Moment) {
        self.lastClose = reason
        let delay = self.backoff.delay(afterClose: reason.code, at: moment.now, random: self.random)
        self.retryAt = moment.wall + delay
        self.timers[.planned] = moment.now + delay
        self.state = .waiting
    }

    private mutating func refuse(_ reason: CloseReason) {
        self.detach(code: 1000)
        self.lastClose = reason
        self.settle(.refused)
    }

    private mutating func settle(_ state: State) {
        self.retryAt = nil
        self.network.forget()
        self.state = state
    }

    /// Detaches and closes the socket. Its later events are ignored.
    private mutating func detach(code: UInt16) {
        let left = self.attempt
        self.attempt += 1
        self.isSilent = false
        self.timers.clear()
        self.queue.clear()
        if self.hasSocket { self.actions.append(.close(attempt: left, code: code)) }
        self.hasSocket = false
    }
}
