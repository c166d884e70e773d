// TLS handshakes as fast as the peer answers them, with a fixed number at a time: TLS only, ended by close_notify, so that the
// figure covers the whole life of a connection on the server.

internal import CLibssl
internal import Glibc
internal import Histogram

/// The mode `handshakes`.
public final class Handshakes {
    private let endpoint: Endpoint
    private let other: Endpoint?
    private let resumes: Bool
    private let width: Int
    private let warmup: Double
    private let seconds: Double

    private var tls: TLSClient?
    private var loop: Loop?
    private var begun = 0
    private var isOver = false
    private var open: [ObjectIdentifier: Connection] = [:]
    private var figures = HandshakeFigures()
    private var latency = Histogram<UInt64>(
        lowestDiscernibleValue: 1000, highestTrackableValue: 120_000_000_000, numberOfSignificantValueDigits: .three)
    private var failure: String?

    /// - Parameter resumingAt: where to resume the session of the endpoint; by default the endpoint itself.
    public init(
        _ endpoint: Endpoint, resumingAt other: Endpoint? = nil, resumes: Bool, width: Int, warmup: Double,
        seconds: Double
    ) {
        (self.endpoint, self.other, self.resumes) = (endpoint, other, resumes)
        (self.width, self.warmup, self.seconds) = (width, warmup, seconds)
    }

    public func run(name: String, watched: Watched, loop: Loop) throws -> Report {
        let tls = try TLSClient(keepsSession: true)
        (self.tls, self.loop) = (tls, loop)
        if self.resumes { try self.takeTicket(tls, loop) }
        for _ in 0..<self.width { self.next() }
        loop.run(seconds: self.warmup)
        self.figures = HandshakeFigures()
        self.latency.reset()
        let (times, begin) = (watched.times, Clock.now)
        loop.run(seconds: self.seconds)
        let elapsed = Double(Clock.now - begin) / 1e9
        var report = Report(
            name, self.resumes ? "handshakes, resumed" : "handshakes", connections: self.width, seconds: elapsed)
        var figures = self.figures
        report.cpu = watched.figures(since: times, per: figures.count, seconds: elapsed)
        self.isOver = true
        for connection in Array(self.open.values) { connection.transport?.close() }
        guard figures.count > 0 else {
            throw LoadError("no handshake succeeded with \(self.endpoint): \(self.failure ?? "no answer")")
        }
        figures.perSecond = Double(figures.count) / elapsed
        figures.p50 = Double(self.latency.valueAtPercentile(50)) / 1e6
        figures.p99 = Double(self.latency.valueAtPercentile(99)) / 1e6
        report.handshakes = figures
        report.judge()
        if let failure, figures.failed > 0 { report.warnings.append("the first failure: \(failure)") }
        if self.resumes, figures.resumed < figures.count {
            report.warnings.append("only \(figures.resumed) of \(figures.count) were resumed")
        }
        return report
    }

    /// The session of the first connection: TLS 1.3 sends its ticket after the handshake.
    private func takeTicket(_ tls: TLSClient, _ loop: Loop) throws {
        let waiter = Connection(self, isMeasured: false)
        waiter.transport = try Transport(Dial(self.endpoint, tls: tls), source: 0, loop: loop)
        waiter.transport?.owner = waiter
        let isDone = loop.run(seconds: 5) { tls.session == nil && waiter.transport != nil }
        waiter.transport?.close()
        guard isDone, tls.session != nil else { throw LoadError("\(self.endpoint) does not issue session tickets") }
        SSL_SESSION_up_ref(tls.session)
        self.session = tls.session
    }

    private var session: OpaquePointer?

    private func next() {
        guard !self.isOver, let loop, let tls else { return }
        let connection = Connection(self, isMeasured: true)
        do {
            let endpoint = self.resumes ? self.other ?? self.endpoint : self.endpoint
            connection.transport = try Transport(
                Dial(endpoint, tls: tls), source: self.begun, loop: loop, session: self.session)
            connection.transport?.owner = connection
            self.open[ObjectIdentifier(connection)] = connection
            self.begun += 1
        } catch {
            self.failure = self.failure ?? "\(error)"
            self.figures.failed += 1
        }
    }

    private func done(_ connection: Connection) {
        self.figures.count += 1
        self.latency.record(min(Clock.now - connection.begin, 119_000_000_000))
        guard self.resumes else { return }
        self.figures.asked += 1
        if connection.transport?.isResumed == true { self.figures.resumed += 1 }
    }

    private func ended(_ connection: Connection, _ reason: String) {
        self.open[ObjectIdentifier(connection)] = nil
        if !connection.isDone, !self.isOver {
            self.figures.failed += 1
            self.failure = self.failure ?? reason
            // A peer that refuses immediately would otherwise be contacted in an endless loop.
            guard self.figures.failed < 1000 else { return }
        }
        self.next()
    }

    /// One connection from `connect` until the peer closes.
    private final class Connection: TransportOwner {
        private unowned let run: Handshakes
        private let isMeasured: Bool
        let begin = Clock.now
        var transport: Transport?
        private(set) var isDone = false

        init(_ run: Handshakes, isMeasured: Bool) { (self.run, self.isMeasured) = (run, isMeasured) }

        func opened() {
            self.isDone = true
            guard self.isMeasured else { return }
            self.run.done(self)
            self.transport?.finish()
        }

        func received(_ bytes: UnsafeMutableRawBufferPointer) {}

        func closed(_ reason: String) {
            self.transport = nil
            if self.isMeasured { self.run.ended(self, reason) }
        }
    }
}
