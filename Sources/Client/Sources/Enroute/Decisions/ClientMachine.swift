// The whole client as a value: matches requests with answers, passes messages to views, status readers and pools, and reports
// a rider's locations. It performs no I/O: each call appends effects, which `EnrouteClient` carries out. enroute.js follows
// the same rules. All times are in ms.

struct ClientMachine {
    enum Effect {
        case connection(ConnectionMachine.Action)
        case connectionState(ConnectionState)
        case fetchNewerToken
        case view(consumer: Int, JobView)
        case status(consumer: Int, StatusEvent)
        case pool(consumer: Int, Pool)
        case finish(consumer: Int, EnrouteError?)
        case answer(request: Int, Result<WireOk, EnrouteError>)
        case pace(Double)
        case outcome(ReportOutcome)
        case post(LocationReport)
    }

    enum Timer: Hashable {
        case report, renewal, resubscribeAll
        case job(JobID)
        case travel(JobID)
        case zone(String)
        case request(Int)
    }

    /// How long to wait for an answer.
    static let answerWithin = 15_000.0
    /// The delay before a subscription is repeated, unless the gateway specifies one.
    static let askAgainAfter = 1_000.0
    /// The delay before a report is tried again while earlier messages are still on their way to the socket.
    static let congestionPause = 500.0

    var connection: ConnectionMachine
    var effects: [Effect] = []
    var timers: [Timer: Double] = [:]
    var follows: [JobID: Follow] = [:]
    var watches: [String: Watch] = [:]
    var fixes = FixQueue()
    var isPosting = false
    /// When the last report over REST was sent.
    var postedAt: Moment?
    /// The jobs whose travel mode this device switched on, to be resumed on each new connection.
    var travels: [JobID: Travel] = [:]
    /// The jobs whose resumption the gateway dropped. It refuses reports until it has read the next one.
    var dropped: Set<JobID> = []
    /// The jobs for which another device of the rider reports, until this one switches travel mode on.
    var takenOver: Set<JobID> = []
    /// Why the phone has no position, until it has one. A gateway forgets it with the connection.
    var unavailable: [Silence: UnavailableReason] = [:]
    /// The number of `unsubscribe` messages of a job without an answer on this connection. 0: the gateway refused the last
    /// one, which is sent again.
    var leaving: [JobID: Int] = [:]
    /// The zones whose `unwatch` the gateway refused on this connection, so it continues to send them.
    var refusedUnwatches: Set<String> = []
    private(set) var pending: Set<Int> = []
    private var lastRequest = 0
    private var lastState = ConnectionState.stopped
    let fastest: Double
    /// Names this device; `nil` for none.
    let device: String?

    init(
        fastest: Double = FollowedView.fastest, device: String? = nil,
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) {
        self.fastest = fastest
        self.device = device
        self.connection = ConnectionMachine(random: random)
    }

    var isInBackground: Bool { self.connection.state == .background }

    /// When `fire` must be called next, by the monotonic clock; `nil` if nothing is planned.
    var nextDue: Double? {
        [self.timers.values.min(), self.connection.nextDue].compactMap(\.self).min()
    }

    /// Passes an event to the connection, and handles the resulting actions.
    mutating func connection(at moment: Moment, _ event: (inout ConnectionMachine) -> Void) {
        self.connection.expectsMessages = self.fixes.isUnanswered || self.follows.values.contains(where: \.view.isLive)
        event(&self.connection)
        self.takeActions()
        self.connectionChanged(at: moment)
    }

    private mutating func takeActions() {
        self.effects += self.connection.actions.map { .connection($0) }
        self.connection.actions = []
    }

    private mutating func connectionChanged(at moment: Moment) {
        let state = self.connection.connection
        guard state != self.lastState else { return }
        if !self.connection.isOpen { self.disconnected() }
        if let refusal { self.refuseAll(refusal) }
        self.lastState = state
        self.effects.append(.connectionState(state))
        if self.isInBackground { self.reportWhenDue(at: moment) }
    }

    /// Performs what is due.
    mutating func fire(at moment: Moment) {
        self.connection(at: moment) { $0.fire(at: moment) }
        while let (timer, due) = self.timers.min(by: { $0.value < $1.value }), due <= moment.now {
            self.timers[timer] = nil
            switch timer {
            case .report: self.reportWhenDue(at: moment)
            case .renewal: self.effects.append(.fetchNewerToken)
            case .resubscribeAll: self.resubscribeUnanswered(at: moment)
            case .job(let job): self.askAgain(job, at: moment)
            case .travel(let job): self.resume(job, at: moment)
            case .zone(let zone): self.askAgain(zone: zone, at: moment)
            case .request(let id):
                self.settle(
                    id,
                    .failure(
                        .unreachable(
                            "The gateway did not answer in time. The request may have been executed or not.")))
            }
        }
    }

    @discardableResult
    mutating func send(
        _ message: ClientMessage, ref: Int? = nil, endsSubscription: Bool = false, at moment: Moment
    ) -> Bool {
        let isAccepted = self.connection.send(
            message.text(ref: ref), endsSubscription: endsSubscription, at: moment)
        self.takeActions()
        return isAccepted
    }

    // MARK: requests

    mutating func nextRequest() -> Int {
        self.lastRequest += 1
        return self.lastRequest
    }

    /// Sends a message and returns the number of the request, whose answer is an effect.
    mutating func request(_ message: ClientMessage, at moment: Moment) -> Int {
        let id = self.nextRequest()
        if self.send(message, ref: id, at: moment) {
            self.pending.insert(id)
            self.timers[.request(id)] = moment.now + Self.answerWithin
        } else {
            self.effects.append(
                .answer(request: id, .failure(.unreachable("There is no connection to the gateway."))))
        }
        return id
    }

    /// Ends a request because the app no longer waits for its answer.
    mutating func cancel(_ request: Int) { self.settle(request, .failure(.cancelled)) }

    @discardableResult
    private mutating func settle(_ id: Int, _ result: Result<WireOk, EnrouteError>) -> Bool {
        guard self.pending.remove(id) != nil else { return false }
        self.timers[.request(id)] = nil
        self.effects.append(.answer(request: id, result))
        return true
    }

    // MARK: received messages

    mutating func received(_ message: ServerMessage, attempt: Int, at moment: Moment) {
        guard attempt == self.connection.attempt else { return }
        self.connection(at: moment) { $0.received(message, at: moment) }
        switch message {
        case .welcome: self.welcomed(at: moment)
        case .pong: self.updateClock()
        case .rate(let seconds):
            self.fixes.setInterval(seconds: seconds)
            self.effects.append(.pace(self.fixes.interval))
            self.timers[.report] = nil
            self.reportWhenDue(at: moment)
        case .ok(let ok):
            if ok.replyTo == "location" {
                self.fixes.answered(ok.seq ?? 0)
                if let job = ok.job { self.effects.append(.outcome(.accepted(job))) }
            } else if ok.replyTo == "unsubscribe" {
                if let job = ok.job { self.left(job) }
            } else if let id = ok.ref.flatMap({ Int($0) }) {
                if ok.replyTo == "travel", let job = ok.job { self.travelAnswered(job, id) }
                self.settle(id, .success(ok))
                self.reportWhenDue(at: moment)
            }
        case .error(let error): self.refused(error, at: moment)
        case .pool(let zone, let pool): self.update(zone) { $0.apply(pool) }
        case .rider(let zone, let change): self.update(zone) { $0.apply(change) }
        case .ended(let job, _):
            self.forget(job)
            self.update(job, message, at: moment)
        default: if let job = message.followedJob { self.update(job, message, at: moment) }
        }
    }

    private mutating func welcomed(at moment: Moment) {
        self.updateClock()
        self.planRenewal(at: moment)
        for job in self.follows.keys { self.subscribeFirst(job, at: moment) }
        for zone in self.watches.keys {
            self.watches[zone]?.repetitions = 0
            self.watches[zone]?.request = nil
            self.watch(zone, at: moment)
        }
        // This precedes the first report, so that the gateway knows which device sends it.
        self.resumeTravels(at: moment)
        self.reportWhenDue(at: moment)
        // A reading that waited is older than the reason.
        self.repeatUnavailable(at: moment)
    }

    private mutating func refused(_ refusal: WireError, at moment: Moment) {
        let error = refusal.error
        let again = moment.now + (refusal.retryInMs.map { max(0, $0) } ?? Self.askAgainAfter)
        if self.isAskedAgain(refusal, at: again) || self.isAnswerToRepetition(refusal) { return }
        if refusal.replyTo == "subscribe", let job = refusal.job, self.follows[job]?.isAnswered == false {
            if error.isRetryable { self.timers[.job(job)] = again } else { self.refuse(job, error) }
            return
        }
        if refusal.replyTo == "watch", let zone = refusal.zone, self.watches[zone]?.isAnswered == false {
            if error.isRetryable { self.timers[.zone(zone)] = again } else { self.refuse(zone: zone, error) }
            return
        }
        if refusal.replyTo == "location" { return self.reportRefused(refusal.job, error) }
        if refusal.replyTo == "travel" {
            self.travelRefused(refusal, error, tryAgainAt: again)
            self.reportWhenDue(at: moment)
        }
        if refusal.replyTo == "unavailable" { self.unavailableRefused(refusal, error) }
        // The gateway dropped a message without saying which one.
        if refusal.replyTo ?? "" == "", error.code == .rateLimited { self.timers[.resubscribeAll] = again }
        if let id = refusal.ref.flatMap({ Int($0) }) { self.settle(id, .failure(error)) }
    }

    // MARK: connection changes

    private mutating func disconnected() {
        for timer in self.timers.keys {
            if case .request = timer { continue }
            self.timers[timer] = nil
        }
        self.fixes.disconnected()
        (self.leaving, self.refusedUnwatches, self.dropped) = ([:], [], [])
        for id in self.pending.sorted() {
            self.settle(
                id,
                .failure(
                    .unreachable(
                        "The connection was lost before the answer. The request may have been executed or not.")))
        }
    }
}
