// A client machine whose clock and gateway a test simulates, without threads, sockets or pauses.

import Foundation
import Testing

@testable import Enroute

/// A client machine with its own clock and a simulated gateway.
struct PlayedClient {
    var machine: ClientMachine
    var moment = Moment(now: 50_000, wall: 1_795_248_620_000)
    /// The messages that were sent over all sockets.
    var sent: [String] = []
    var opened = 0
    var states: [ConnectionState] = []
    var views: [JobView] = []
    var events: [StatusEvent] = []
    /// The statuses that each reader received.
    private var readers: [Int: [String]] = [:]
    var pools: [Pool] = []
    var finished: [Int: EnrouteError?] = [:]
    var answers: [Int: Result<WireOk, EnrouteError>] = [:]
    var outcomes: [ReportOutcome] = []
    var posts: [LocationReport] = []
    var paces: [Double] = []
    var fetches = 0
    var newerTokens = 0
    var answersPings = false
    /// The gateway's clock minus this device's, for its pongs.
    private var ahead = 0.0
    /// The events so far, each line once: `<ms> <event>`, as in the fault scripts.
    var log: [String] = []
    var credential: Credential? = .token("t")
    /// Whether the app's credential function hangs.
    var hangsCredential = false

    init(random: Double = 0.5) { self.machine = ClientMachine(random: { random }) }

    /// A client that is signed in.
    static func open(_ credential: Credential = .token(PlayedClient.token)) -> PlayedClient {
        var client = PlayedClient()
        client.credential = credential
        client.start()
        client.welcome()
        return client
    }

    static let token = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbm5hIn0.c2lnbmF0dXJl"

    mutating func start() { self.connection { $0.start(at: $1) } }

    mutating func welcome(aheadBy offset: Double = 0) {
        self.says(#"{"type":"welcome","session":"1","serverTime":\#(Int(self.moment.wall + offset))}"#)
    }

    mutating func says(_ text: String) {
        guard let message = ServerMessage(text: text) else { return }
        self.machine.received(message, attempt: self.machine.connection.attempt, at: self.moment)
        self.perform()
    }

    mutating func closes(_ code: UInt16, _ reason: String = "") {
        self.connection {
            $0.closed(CloseReason(code: code, reason: reason), attempt: $0.attempt, at: $1)
        }
    }

    mutating func connection(_ event: (inout ConnectionMachine, Moment) -> Void) {
        let moment = self.moment
        self.machine.connection(at: moment) { event(&$0, moment) }
        self.perform()
    }

    mutating func change(_ body: (inout ClientMachine, Moment) -> Void) {
        body(&self.machine, self.moment)
        self.perform()
    }

    mutating func request(_ message: ClientMessage) -> Int {
        let id = self.machine.request(message, at: self.moment)
        self.perform()
        return id
    }

    /// Lets time pass, and fires each timer at its time.
    mutating func pass(_ milliseconds: Double) {
        let end = self.moment.now + milliseconds
        while let due = self.machine.nextDue, due <= end {
            self.moment.wall += max(0, due - self.moment.now)
            self.moment.now = max(self.moment.now, due)
            self.machine.fire(at: self.moment)
            self.perform()
        }
        self.moment.wall += end - self.moment.now
        self.moment.now = end
    }

    private mutating func perform() {
        while !self.machine.effects.isEmpty {
            let effects = self.machine.effects
            self.machine.effects = []
            for effect in effects { self.perform(effect) }
        }
    }

    private mutating func perform(_ effect: ClientMachine.Effect) {
        switch effect {
        case .connection(.fetchCredential(let attempt)):
            self.fetches += 1
            if self.hangsCredential { return }
            let (credential, moment) = (self.credential, self.moment)
            self.machine.connection(at: moment) { $0.received(credential, attempt: attempt, at: moment) }
        case .connection(.open(let attempt)):
            self.opened += 1
            self.note("opens a socket")
            let moment = self.moment
            self.machine.connection(at: moment) { $0.opened(attempt: attempt, at: moment) }
        case .connection(.send(let attempt, let text)):
            self.sent.append(text)
            if let type = text.firstMatch(of: /"type":"(\w+)"/)?.1, type != "auth" { self.note("sends \(type)") }
            self.machine.connection(at: self.moment) { $0.sent(characters: text.utf8.count, attempt: attempt) }
            guard self.answersPings, text.contains("ping") else { return }
            let pong = ServerMessage.pong(serverTime: self.gatewayTime)
            self.machine.received(pong, attempt: attempt, at: self.moment)
        case .connection(.close): break
        case .connectionState(let state):
            self.states.append(state)
            self.note(self.text(state))
        case .fetchNewerToken: self.newerTokens += 1
        case .view(_, let view): self.views.append(view)
        case .status(let reader, let event):
            self.events.append(event)
            self.readers[reader, default: []].append(event.status.rawValue)
        case .pool(_, let pool): self.pools.append(pool)
        case .finish(let consumer, let error): self.finished[consumer] = .some(error)
        case .answer(let request, let result): self.answers[request] = result
        case .pace(let interval): self.paces.append(interval)
        case .outcome(let outcome): self.outcomes.append(outcome)
        case .post(let report): self.posts.append(report)
        }
    }

    private mutating func note(_ text: String) {
        let ms = String(Int(self.moment.now - 50_000))
        let line = String(repeating: " ", count: max(0, 6 - ms.count)) + "\(ms) \(text)"
        if !self.log.contains(line) { self.log.append(line) }
    }

    private func text(_ state: ConnectionState) -> String {
        switch state {
        case .open(let isDegraded, let isSilent): "open" + (isDegraded ? " degraded" : "") + (isSilent ? " silent" : "")
        case .waiting(let until, let close):
            "waiting \(Int(((until?.inMilliseconds ?? 0) - self.moment.wall).rounded())) after \(close?.code ?? 0)"
        case .refused(let reason): "refused \(reason.code)"
        case .connecting: "connecting"
        case .background: "background"
        case .stopped: "stopped"
        }
    }

    /// The gateway's clock, which is independent of corrections of this device's clock.
    var gatewayTime: Double { self.moment.wall + self.ahead }

    /// Sets this device's clock, as its owner or its network does.
    mutating func setClock(by milliseconds: Double) {
        self.moment.wall += milliseconds
        self.ahead -= milliseconds
    }

    func events(of reader: Int) -> [String] { self.readers[reader] ?? [] }

    func error(of request: Int) -> EnrouteError? {
        if case .failure(let error)? = self.answers[request] { error } else { nil }
    }

    func sent(_ kind: String) -> [String] { self.sent.filter { $0.contains(#""type":"\#(kind)""#) } }

    var state: ConnectionState { self.machine.connection.connection }
}

extension Fix {
    static func at(
        _ ms: Double, _ latitude: Double = 41.9028, _ longitude: Double = 12.4964, acc: Double? = nil,
        spd: Double? = nil,
        hdg: Double? = nil
    ) -> Fix {
        Fix(
            place: Place(latitude: latitude, longitude: longitude), measuredAt: Date(ms: ms), accuracy: acc, speed: spd,
            course: hdg)
    }
}
