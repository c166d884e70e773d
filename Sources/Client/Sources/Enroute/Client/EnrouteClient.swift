// The client: one actor that carries out the decisions of `ClientMachine`. It owns the socket, the timer and the streams, and
// makes no decision of its own.

public import Foundation

/// One connection to a gateway that reconnects automatically, for followers, riders and dispatch systems. It is cheap to keep
/// for the lifetime of the app.
///
/// ```swift
/// let client = EnrouteClient(gateway: URL(string: "https://track.example")!) { .token(try await signIn()) }
/// await client.start()
/// for try await view in client.job("order-1") { show(view) }
/// ```
public actor EnrouteClient {
    /// The number of states, outcomes and intervals that are buffered for a slow reader. Beyond it, the oldest are
    /// dropped.
    static let mostSignals = 64
    /// The number of status events that are buffered for a slow reader. Beyond it, its sequence ends with
    /// `slowConsumer`; it can resume from its cursor.
    static let mostStatusEvents = 1_000
    static let subprotocol = "enroute.v1"

    nonisolated let configuration: Configuration
    nonisolated let timebase: Timebase
    var machine: ClientMachine
    var sockets: [Int: OpenSocket] = [:]
    var opening: [Int: Task<Void, Never>] = [:]
    private var timer: Task<Void, Never>?
    private var timerDue: Double?
    var consumers: [Int: Consumer] = [:]
    var lastConsumer = 0
    var answers: [Int: CheckedContinuation<Result<WireOk, EnrouteError>?, Never>] = [:]
    /// The number of the request that each caller waits for, by the number of the caller.
    var waits: [Int: Int] = [:]
    var lastWait = 0
    var states = Listeners<ConnectionState>()
    var paces = Listeners<Duration>()
    var outcomes = Listeners<ReportOutcome>()

    struct OpenSocket {
        let socket: any TransportSocket
        let outgoing: AsyncStream<String>.Continuation
        let writer: Task<Void, Never>
    }

    enum Consumer {
        case view(AsyncThrowingStream<JobView, any Error>.Continuation, JobID)
        case status(AsyncThrowingStream<StatusEvent, any Error>.Continuation, JobID)
        case pool(AsyncThrowingStream<Pool, any Error>.Continuation, String)
    }

    public init(_ configuration: Configuration) { self.init(configuration, timebase: Timebase()) }

    /// A client that uses URLSession, for Apple's systems. On Linux, pass a `Configuration` with `NIOTransport` of
    /// EnrouteNIO.
    public init(gateway: URL, credential: @escaping @Sendable () async throws -> Credential?) {
        self.init(Configuration(gateway: gateway, credential: credential))
    }

    package init(_ configuration: Configuration, timebase: Timebase) {
        self.configuration = configuration
        self.timebase = timebase
        self.machine = ClientMachine(fastest: configuration.fastest, device: configuration.device)
    }

    // MARK: the connection

    /// Connects. Also works after `stop()` and after the connection was refused.
    public func start() { self.connection { $0.start(at: $1) } }

    /// Disconnects and stays disconnected. All sequences of jobs and zones end. A client keeps running until it is stopped,
    /// even if nothing refers to it any longer.
    public func stop() {
        self.connection { connection, _ in connection.stop() }
        self.change { machine, _ in machine.finishAll() }
    }

    /// Reconnects, or checks the connection immediately. Call it when the app enters the foreground or the network is back.
    public func wake() { self.connection { $0.wake(at: $1) } }

    /// Call it when the device finds a network or loses it.
    public func setOnline(_ isOnline: Bool) {
        self.connection { isOnline ? $0.online(at: $1) : $0.offline(at: $1) }
    }

    /// Call it when the system suspends the app: closes the socket until `wake()`, and reports locations over REST.
    public func enterBackground() { self.connection { connection, _ in connection.suspend() } }

    /// The current state.
    public var connectionState: ConnectionState { self.machine.connection.connection }

    /// The states of the connection, starting with the current one. The sequence never throws and never ends.
    public nonisolated var connectionStates: Signals<ConnectionState> {
        Signals { await self.openStates() }
    }

    // MARK: following

    /// The newest view of a job. A slow reader skips older views, and a view never goes back in time. The sequence ends
    /// after the view that has `ended`. It throws `EnrouteError` if the job may not be followed or the connection is
    /// refused; after `start()`, follow again. Any number of loops share one subscription.
    public nonisolated func job(_ id: JobID) -> Updates<JobView> { Updates { await self.openViews(of: id) } }

    /// Every status event of a job, in order and exactly once.
    ///
    /// - Parameters:
    ///   - id: the job.
    ///   - cursor: the cursor of the last event that was handled, even in an earlier launch. Without it, the sequence
    ///     starts with the current status. A damaged cursor ends the sequence with `badRequest`.
    public nonisolated func statusEvents(of id: JobID, after cursor: StatusCursor? = nil) -> Updates<StatusEvent> {
        Updates { await self.openStatusEvents(of: id, after: cursor) }
    }

    /// The riders of a zone: the whole pool after each change. For services and operations staff. It throws `badRequest`
    /// unless the zone has 1 to 64 letters, digits, `_` and `-`.
    public nonisolated func pool(ofZone zone: String) -> Updates<Pool> { Updates { await self.openPool(of: zone) } }

    /// The rider's actions: availability, travel mode and reports.
    public nonisolated var rider: RiderClient { RiderClient(client: self) }

    /// Requests over REST.
    public nonisolated var rest: RESTClient {
        RESTClient(configuration: self.configuration, timebase: self.timebase)
    }

    // MARK: effects

    func connection(_ event: (inout ConnectionMachine, Moment) -> Void) {
        self.change { machine, moment in machine.connection(at: moment) { event(&$0, moment) } }
    }

    func change(_ body: (inout ClientMachine, Moment) -> Void) {
        let moment = self.timebase.moment()
        body(&self.machine, moment)
        let effects = self.machine.effects
        self.machine.effects = []
        for effect in effects { self.perform(effect) }
        self.setTimer(at: moment)
    }

    private func perform(_ effect: ClientMachine.Effect) {
        switch effect {
        case .connection(let action): self.perform(action)
        case .connectionState(let state): self.states.send(state)
        case .fetchNewerToken: self.renew()
        case .view(let id, let view):
            if case .view(let continuation, _) = self.consumers[id] { continuation.yield(view) }
        case .status(let id, let event): self.deliver(event, to: id)
        case .pool(let id, let pool):
            if case .pool(let continuation, _) = self.consumers[id] { continuation.yield(pool) }
        case .finish(let id, let error):
            switch self.consumers.removeValue(forKey: id) {
            case .view(let continuation, _): continuation.finish(throwing: error)
            case .status(let continuation, _): continuation.finish(throwing: error)
            case .pool(let continuation, _): continuation.finish(throwing: error)
            case nil: break
            }
        case .answer(let request, let result): self.answers.removeValue(forKey: request)?.resume(returning: result)
        case .pace(let interval): self.paces.send(Duration(ms: interval))
        case .outcome(let outcome): self.outcomes.send(outcome)
        case .post(let report): self.post(report)
        }
    }

    private func setTimer(at moment: Moment) {
        let due = self.machine.nextDue
        guard due != self.timerDue || (due != nil && self.timer == nil) else { return }
        self.timer?.cancel()
        self.timerDue = due
        guard let due else {
            self.timer = nil
            return
        }
        let timebase = self.timebase
        self.timer = Task { [weak self] in
            guard (try? await timebase.sleep(max(0, due - moment.now))) != nil else { return }
            await self?.fire(due)
        }
    }

    private func fire(_ due: Double) {
        guard due == self.timerDue else { return }
        (self.timer, self.timerDue) = (nil, nil)
        self.change { $0.fire(at: $1) }
    }
}
