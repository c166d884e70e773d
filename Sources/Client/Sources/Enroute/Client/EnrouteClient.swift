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
    /// The number of states, outcomes and intervals that are buffered for a slow reader. More drop the oldest ones.
    static let mostSignals = 64
    /// The number of status events that are buffered for a slow reader. More end its sequence with `slowConsumer`; its cursor
    /// resumes it.
    static let mostStatusEvents = 1_000
    static let subprotocol = "enroute.v1"

    nonisolated let configuration: Configuration
    private nonisolated let timebase: Timebase
    private var machine: ClientMachine
    private var sockets: [Int: OpenSocket] = [:]
    private var opening: [Int: Task<Void, Never>] = [:]
    private var timer: Task<Void, Never>?
    private var timerDue: Double?
    private var consumers: [Int: Consumer] = [:]
    private var lastConsumer = 0
    private var answers: [Int: CheckedContinuation<Result<WireOk, EnrouteError>?, Never>] = [:]
    /// The number of the request that each caller waits for, by the number of the caller.
    private var waits: [Int: Int] = [:]
    private var lastWait = 0
    private var states = Listeners<ConnectionState>()
    private var paces = Listeners<Duration>()
    private var outcomes = Listeners<ReportOutcome>()

    private struct OpenSocket {
        let socket: any TransportSocket
        let outgoing: AsyncStream<String>.Continuation
        let writer: Task<Void, Never>
    }

    private enum Consumer {
        case view(AsyncThrowingStream<JobView, any Error>.Continuation, JobID)
        case status(AsyncThrowingStream<StatusEvent, any Error>.Continuation, JobID)
        case pool(AsyncThrowingStream<Pool, any Error>.Continuation, String)
    }

    public init(_ configuration: Configuration) { self.init(configuration, timebase: Timebase()) }

    /// A client by URLSession, for Apple's systems. On Linux, pass a `Configuration` with `NIOTransport` of EnrouteNIO.
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

    /// The state of the connection, the current one first. It never throws and never ends.
    public nonisolated var connectionStates: Signals<ConnectionState> {
        Signals { await self.openStates() }
    }

    // MARK: following

    /// The newest view of a job: a slow reader skips older ones and never sees the view go back. The sequence ends after the
    /// view that has `ended`. It throws `EnrouteError` if the job may not be followed or the connection is refused; after
    /// `start()`, follow again. Any number of loops share one subscription.
    public nonisolated func job(_ id: JobID) -> Updates<JobView> { Updates { await self.openViews(of: id) } }

    /// Every status event of a job, in order and exactly once.
    ///
    /// - Parameters:
    ///   - id: the job.
    ///   - cursor: the cursor of the last event that was handled, also one that was stored in an earlier launch. Without it,
    ///     the sequence starts with the current status. A damaged one ends the sequence with `badRequest`.
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

    private func openStates() -> AsyncStream<ConnectionState> {
        self.states.open(first: self.connectionState) { [weak self] id in Task { await self?.closeStates(id) } }
    }

    func openPaces() -> AsyncStream<Duration> {
        let current = Duration(ms: self.machine.fixes.interval)
        return self.paces.open(first: current) { [weak self] id in Task { await self?.closePaces(id) } }
    }

    func openOutcomes() -> AsyncStream<ReportOutcome> {
        self.outcomes.open(first: nil) { [weak self] id in Task { await self?.closeOutcomes(id) } }
    }

    private func closeStates(_ id: Int) { self.states.close(id) }

    private func closePaces(_ id: Int) { self.paces.close(id) }

    private func closeOutcomes(_ id: Int) { self.outcomes.close(id) }

    private func openViews(of job: JobID) -> AsyncThrowingStream<JobView, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: JobView.self, throwing: (any Error).self, bufferingPolicy: .bufferingNewest(1))
        let id = self.add(.view(continuation, job))
        continuation.onTermination = { [weak self] _ in Task { await self?.remove(id) } }
        self.change { $0.follow(job, viewer: id, at: $1) }
        return stream
    }

    private func openStatusEvents(
        of job: JobID, after cursor: StatusCursor?
    ) -> AsyncThrowingStream<StatusEvent, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: StatusEvent.self, throwing: (any Error).self,
            bufferingPolicy: .bufferingOldest(Self.mostStatusEvents))
        let id = self.add(.status(continuation, job))
        continuation.onTermination = { [weak self] _ in Task { await self?.remove(id) } }
        self.change { $0.follow(job, reader: id, after: cursor, at: $1) }
        return stream
    }

    private func openPool(of zone: String) -> AsyncThrowingStream<Pool, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: Pool.self, throwing: (any Error).self, bufferingPolicy: .bufferingNewest(1))
        let id = self.add(.pool(continuation, zone))
        continuation.onTermination = { [weak self] _ in Task { await self?.remove(id) } }
        self.change { $0.watch(zone, consumer: id, at: $1) }
        return stream
    }

    private func add(_ consumer: Consumer) -> Int {
        self.lastConsumer += 1
        self.consumers[self.lastConsumer] = consumer
        return self.lastConsumer
    }

    private func remove(_ id: Int) {
        switch self.consumers.removeValue(forKey: id) {
        case .view(_, let job), .status(_, let job): self.change { $0.unfollow(job, consumer: id, at: $1) }
        case .pool(_, let zone): self.change { $0.unwatch(zone, consumer: id, at: $1) }
        case nil: break
        }
    }

    // MARK: requests

    func request(_ message: ClientMessage) async throws(EnrouteError) -> WireOk {
        try await self.ask { $0.request(message, at: $1) }
    }

    func ask(_ send: (inout ClientMachine, Moment) -> Int?) async throws(EnrouteError) -> WireOk {
        guard let result = await self.answer(to: send) else {
            throw .unreachable("There is no connection to the gateway.")
        }
        return try result.get()
    }

    /// Sends a request and waits for its answer, until the task is cancelled. Returns `nil` if `send` sent nothing.
    private func answer(
        to send: (inout ClientMachine, Moment) -> Int?
    ) async -> Result<WireOk, EnrouteError>? {
        self.lastWait += 1
        let wait = self.lastWait
        defer { self.waits[wait] = nil }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.change { machine, moment in
                    guard let id = send(&machine, moment) else { return }
                    self.waits[wait] = id
                    self.answers[id] = continuation
                }
                if self.waits[wait] == nil { continuation.resume(returning: nil) }
                // The task was cancelled before the continuation was stored.
                if Task.isCancelled { self.cancel(wait) }
            }
        } onCancel: {
            Task { await self.cancel(wait) }
        }
    }

    private func cancel(_ wait: Int) {
        guard let request = self.waits[wait] else { return }
        self.change { machine, _ in machine.cancel(request) }
    }

    func report(_ fix: Fix, for jobs: [JobID], battery: Double?) {
        self.change { $0.report(fix, jobs: jobs, battery: battery, at: $1) }
    }

    // MARK: carrying out

    private func connection(_ event: (inout ConnectionMachine, Moment) -> Void) {
        self.change { machine, moment in machine.connection(at: moment) { event(&$0, moment) } }
    }

    private func change(_ body: (inout ClientMachine, Moment) -> Void) {
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

    private func deliver(_ event: StatusEvent, to id: Int) {
        guard case .status(let continuation, _) = self.consumers[id] else { return }
        guard case .dropped = continuation.yield(event) else { return }
        continuation.finish(
            throwing: EnrouteError(
                .slowConsumer, "More than \(Self.mostStatusEvents) status events wait. Resume from the last cursor.",
                isRetryable: true))
    }

    private func perform(_ action: ConnectionMachine.Action) {
        switch action {
        case .fetchCredential(let attempt):
            let (configuration, timebase) = (self.configuration, self.timebase)
            Task {
                do {
                    let credential = try await configuration.fetchCredential(timebase)
                    self.connection { $0.received(credential, attempt: attempt, at: $1) }
                } catch {
                    self.connection { $0.credentialFailed("\(error)", attempt: attempt, at: $1) }
                }
            }
        case .open(let attempt): self.opening[attempt] = Task { await self.open(attempt) }
        case .send(let attempt, let text): self.sockets[attempt]?.outgoing.yield(text)
        case .close(let attempt, let code):
            self.opening.removeValue(forKey: attempt)?.cancel()
            guard let open = self.sockets.removeValue(forKey: attempt) else { return }
            open.outgoing.finish()
            open.writer.cancel()
            Task { await open.socket.close(code: code) }
        }
    }

    /// Opens a socket and reads it until it ends.
    private func open(_ attempt: Int) async {
        do {
            let socket = try await self.configuration.transport.connect(
                to: self.configuration.socketURL, subprotocol: Self.subprotocol)
            guard self.opening[attempt] != nil else { return await socket.close(code: 1000) }
            // The machine bounds them: at most `MessageBudget.burst` messages beyond those that the socket accepted.
            let (stream, outgoing) = AsyncStream.makeStream(of: String.self)
            let writer = Task { await self.write(stream, to: socket, attempt) }
            self.sockets[attempt] = OpenSocket(socket: socket, outgoing: outgoing, writer: writer)
            self.connection { $0.opened(attempt: attempt, at: $1) }
            while true {
                switch try await socket.receive() {
                case .text(let text):
                    guard let message = ServerMessage(text: text) else { continue }
                    self.change { $0.received(message, attempt: attempt, at: $1) }
                case .closed(let code, let reason):
                    return self.closed(CloseReason(code: code, reason: reason), attempt)
                }
            }
        } catch {
            self.closed(CloseReason(code: 1006, reason: "\(error)"), attempt)
        }
    }

    private func write(_ stream: AsyncStream<String>, to socket: any TransportSocket, _ attempt: Int) async {
        for await text in stream {
            do {
                try await socket.send(text)
                self.connection { connection, _ in connection.sent(characters: text.utf8.count, attempt: attempt) }
            } catch {
                // `receive` reports why the socket ended.
                return
            }
        }
    }

    private func closed(_ reason: CloseReason, _ attempt: Int) {
        self.connection { $0.closed(reason, attempt: attempt, at: $1) }
        // A socket that the machine gave up earlier is already closed.
        self.opening[attempt] = nil
        if let open = self.sockets.removeValue(forKey: attempt) { open.outgoing.finish() }
    }

    private func renew() {
        let (configuration, timebase) = (self.configuration, self.timebase)
        Task {
            let credential = try? await configuration.fetchCredential(timebase)
            let answer = await self.answer { $0.renew(with: credential, at: $1) }
            guard let answer, let credential else { return }
            let isAccepted = (try? answer.get()) != nil
            self.change { $0.renewed(credential, isAccepted: isAccepted, at: $1) }
        }
    }

    private func post(_ report: LocationReport) {
        let (rest, device) = (self.rest, self.configuration.device)
        Task {
            let result: Result<BatchAnswer, EnrouteError>
            do throws(EnrouteError) {
                result = .success(
                    try await rest.decoded(
                        "POST", "/jobs/\(report.jobs[0].rawValue)/locations",
                        body: Data(report.body(device: device).utf8)))
            } catch {
                result = .failure(error)
            }
            self.change { $0.posted(result, sequence: report.sequence, jobs: report.jobs, at: $1) }
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
