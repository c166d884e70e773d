// Pauses accepting connections during an overload, and limits the rate of handshakes. Connections are not refused: they wait
// in the kernel's accept queue until the overload is over and a handshake is allowed.

internal import EnrouteWire
internal import Fanout
internal import Logging
internal import NIOCore
internal import Realtime
internal import Redis
internal import Telemetry
internal import TrafficControl

/// The first handler of the listening channel. Confined to the channel's event loop.
final class AcceptGate: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel
    typealias OutboundIn = Never

    private var detector: OverloadDetector
    private var episode = OverloadEpisode()
    private var tokens: TokenBucket?
    private let load: SharedLoad
    private let loop: LoopState
    private let logger: Logger
    private let shed: (_ percent: Int) -> Void
    private var timer: LoopTimer?
    private var ticks = 0
    /// A read was requested while accepting is paused.
    private var hasPendingRead = false
    /// File descriptors that are not accepted connections, counted when the gateway starts.
    private let otherDescriptors: Int
    private var memoryBytes = 0

    /// - Parameter shed: closes this percentage of the sessions on every event loop.
    init(
        settings: GatewaySettings, load: SharedLoad, loop: LoopState, logger: Logger,
        shed: @escaping (_ percent: Int) -> Void
    ) {
        self.detector = OverloadDetector(bounds: settings.overload, descriptorLimit: ProcessLoad.descriptorLimit)
        let limits = settings.limits
        self.tokens =
            limits.newConnectionsPerSecond > 0
            ? TokenBucket(perSecond: limits.newConnectionsPerSecond, burst: limits.newConnectionsBurst) : nil
        self.load = load
        self.loop = loop
        self.logger = logger
        self.shed = shed
        self.otherDescriptors = ProcessLoad.openDescriptors
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let timer = LoopTimer(eventLoop: context.eventLoop, interval: Deadlines.tick) { _ in
            bound.value.0.tick(bound.value.1)
        }
        timer.start()
        self.timer = timer
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.timer?.cancel() }

    func channelInactive(context: ChannelHandlerContext) {
        self.timer?.cancel()
        context.fireChannelInactive()
    }

    func read(context: ChannelHandlerContext) {
        guard self.isAccepting else {
            self.hasPendingRead = true
            return
        }
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        _ = self.tokens?.take(at: NIODeadline.now().uptimeNanoseconds)
        context.fireChannelRead(data)
    }

    private var isAccepting: Bool {
        self.detector.reasons.isEmpty && self.tokens?.wait(at: NIODeadline.now().uptimeNanoseconds) ?? 0 == 0
    }

    private func tick(_ context: ChannelHandlerContext) {
        // Reading the memory usage opens a file, so it is done once a second only.
        let isSecond = self.ticks % 10 == 0
        self.ticks += 1
        if isSecond { self.memoryBytes = ProcessLoad.residentBytes }
        let (before, now) = (self.detector.reasons, NIODeadline.now().uptimeNanoseconds)
        let percent = self.detector.update(
            .init(
                loopLagMilliseconds: self.load.loopLag(now: now, tick: UInt64(Deadlines.tick.nanoseconds)),
                descriptors: self.otherDescriptors + self.load.openSockets, memoryBytes: self.memoryBytes))
        let reasons = self.detector.reasons
        if reasons.isEmpty != before.isEmpty {
            self.load.setOverloaded(!reasons.isEmpty)
            if !reasons.isEmpty { self.loop.counts.add(.acceptPauses) }
        }
        switch self.episode.update(isPaused: !reasons.isEmpty, now: now) {
        case .started:
            let names = reasons.map(\.rawValue).sorted().joined(separator: ",")
            self.logger.warning("overloaded; paused accepting connections", metadata: [LogKey.reason: "\(names)"])
        case .ended(let seconds):
            self.logger.notice(
                "overload ended; resumed accepting connections", metadata: [LogKey.seconds: "\(seconds)"])
        case nil: break
        }
        if isSecond, percent > 0 { self.shed(percent) }
        guard self.hasPendingRead, self.isAccepting else { return }
        self.hasPendingRead = false
        context.read()
    }
}
