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

    /// Timers that are due at the same time fire in this order.
    private enum Timer: Int { case connect, planned, answer, look, goodbye, drain }

    /// The time limit from the start of an attempt to the welcome.
    static let connectWithin = 15_000.0
    /// The reason for a missing connection or answer while the app's function hangs.
    static let credentialLate =
        "The app's credential function did not answer within \(Int(Self.connectWithin / 1000)) s."
    /// How long a gateway may take to close the connection after the time in its `goaway`.
    static let goawayGrace = 2_000.0
    /// After messages have arrived for this time, an offline report of the device is ignored.
    static let offlineDoubtedAfter = 30_000.0
    /// How many characters may be on their way to the socket before the connection counts as congested.
    static let congestedFrom = 16_384

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
    private var failures = 0
    /// Whether the last close, without a stable session since, was that of an expired token.
    private var hasExpired = false
    private var notBefore: Double?
    private var openedAt: Double?
    private var beat = Heartbeat(receivedAt: 0)
    private var offlineSince: Double?
    private var isBackOnline = false
    private var waiting: [String] = []
    private var unsent = 0
    private var budget = MessageBudget(now: 0)
    private var timers: [Timer: Double] = [:]
    private let random: @Sendable () -> Double

    init(random: @escaping @Sendable () -> Double) { self.random = random }

    var isOpen: Bool { self.state == .open }

    var isCongested: Bool { !self.waiting.isEmpty || self.unsent > Self.congestedFrom }

    /// When `fire` must be called next, by the monotonic clock; `nil` if nothing is planned.
    var nextDue: Double? { self.timers.values.min() }

    /// The state as the app sees it.
    var connection: ConnectionState {
        switch self.state {
        case .stopped: .stopped
        case .connecting: .connecting
        case .open where self.offlineSince != nil: .waiting(until: nil, lastClose: self.lastClose)
        case .open: .open(isDegraded: self.isDegraded, isSilent: self.isSilent)
        case .waiting: .waiting(until: self.retryAt.map { .init(ms: $0) }, lastClose: self.lastClose)
        case .refused: .refused(self.lastClose ?? CloseReason(code: 1006, reason: ""))
        case .background: .background
        }
    }

    // MARK: commands

    mutating func start(at moment: Moment) {
        guard self.state == .stopped || self.state == .refused else { return }
        (self.failures, self.hasExpired) = (0, false)
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
            self.failures = 0
            self.connect(at: moment)
        case .open:
            self.beat.pingedAt = nil
            self.beat.isProbing = true
            self.check(at: moment)
        default: break
        }
    }

    mutating func online(at moment: Moment) {
        self.isBackOnline = true
        if self.state != .background { self.wake(at: moment) }
    }

    mutating func offline(at moment: Moment) {
        guard self.state != .stopped, self.state != .refused else { return }
        self.isBackOnline = false
        self.offlineSince = moment.now
    }

    /// Queues a message. Returns whether it was accepted. Nothing is accepted before the welcome.
    ///
    /// - Parameter endsSubscription: accepted even if the queue is full, because a subscription that does not end makes the next
    ///   one fail. There are at most as many as subscriptions that were sent.
    mutating func send(_ text: String, endsSubscription: Bool = false, at moment: Moment) -> Bool {
        guard self.isOpen, endsSubscription || self.waiting.count < MessageBudget.mostWaiting else { return false }
        self.waiting.append(text)
        self.drain(at: moment)
        return true
    }

    /// Removes a message from the queue. Returns whether it was there.
    mutating func withdraw(_ text: String) -> Bool {
        guard let place = self.waiting.lastIndex(of: text) else { return false }
        self.waiting.remove(at: place)
        return true
    }

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
        self.unsent = max(0, self.unsent - characters)
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
            let wait = min(Reconnecting.longestNotBefore, max(0, retryInMs.isFinite ? retryInMs : 0))
            self.notBefore = moment.now + wait
            self.timers[.goodbye] = moment.now + wait + Self.goawayGrace
        default: break
        }
        // The device reports that it is offline, but messages that keep arriving prove otherwise.
        if let offlineSince, self.isBackOnline || moment.now - offlineSince > Self.offlineDoubtedAfter {
            self.offlineSince = nil
        }
    }

    /// Performs what is due.
    mutating func fire(at moment: Moment) {
        while let (timer, due) = self.timers.min(by: { ($0.value, $0.key.rawValue) < ($1.value, $1.key.rawValue) }),
            due <= moment.now
        {
            self.timers[timer] = nil
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
        (self.retryAt, self.offlineSince) = (nil, nil)
        self.state = .connecting
        self.timers = [.connect: moment.now + Self.connectWithin]
        self.actions.append(.fetchCredential(attempt: self.attempt))
    }

    private mutating func welcomed(serverTime: Double, _ limits: WireLimits?, at moment: Moment) {
        self.timers[.connect] = nil
        self.clock.restarted()
        self.clock.answered(serverTime: serverTime, at: moment.wall)
        self.openedAt = moment.now
        self.budget = MessageBudget(limits, now: moment.now)
        (self.isDegraded, self.offlineSince, self.lastClose) = (false, nil, nil)
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
        while !self.waiting.isEmpty {
            let wait = self.budget.take(at: moment.now)
            guard wait == 0 else {
                self.timers[.drain] = moment.now + wait
                return
            }
            self.transmit(self.waiting.removeFirst())
        }
    }

    private mutating func transmit(_ text: String) {
        self.unsent += text.utf8.count
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
        // Resets the back-off only after a stable session, so that a gateway that closes right after its welcome is not
        // flooded.
        if let openedAt, moment.now - openedAt >= Reconnecting.stableAfter {
            (self.failures, self.hasExpired) = (0, false)
        }
        self.openedAt = nil
        self.lastClose = reason
        // The token expired: a newer one may be available immediately, unless the last one had expired too.
        let isRenewal = reason.code == Reconnecting.tokenExpired && !self.hasExpired
        self.hasExpired = reason.code == Reconnecting.tokenExpired
        let notBefore = Reconnecting.retry(after: reason.code).map { moment.now + $0 } ?? self.notBefore
        let delay =
            isRenewal
            ? 0
            : Reconnecting.delay(
                failures: self.failures, notBefore: notBefore, now: moment.now, random: self.random())
        self.failures += 1
        self.notBefore = nil
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
        (self.retryAt, self.offlineSince) = (nil, nil)
        self.state = state
    }

    /// Detaches and closes the socket. Its later events are ignored.
    private mutating func detach(code: UInt16) {
        let left = self.attempt
        self.attempt += 1
        (self.isSilent, self.unsent) = (false, 0)
        (self.timers, self.waiting) = ([:], [])
        if self.hasSocket { self.actions.append(.close(attempt: left, code: code)) }
        self.hasSocket = false
    }
}
