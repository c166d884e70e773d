// Pauses accepting connections during an overload, and limits the rate of handshakes. Connections are not refused: they wait
// in the kernel's accept queue until the overload is over and a handshake is allowed.

internal import EnrouteWire
internal import Fanout
internal import Logging
internal import NIOCore
internal import NIOPosix
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
    private var memoryRelease: MemoryRelease

    /// Reading the memory usage opens a file, so it is done once a second only.
    private static let ticksPerMeasurement = 10

    /// - Parameter shed: closes this percentage of the sessions on every event loop.
    init(
        settings: GatewaySettings, load: SharedLoad, loop: LoopState, logger: Logger,
        shed: @escaping (_ percent: Int) -> Void
    ) {
        self.detector = OverloadDetector(bounds: settings.overload, descriptorLimit: ProcessLoad.descriptorLimit)
        self.memoryRelease = MemoryRelease(limitBytes: settings.overload.memoryBytes)
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
        let isMeasurement = self.ticks % Self.ticksPerMeasurement == 0
        self.ticks += 1
        if isMeasurement { self.memoryBytes = ProcessLoad.residentBytes }
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
        if isMeasurement {
            if percent > 0 { self.shed(percent) }
            self.releaseMemory(context, now)
        }
        guard self.hasPendingRead, self.isAccepting else { return }
        self.hasPendingRead = false
        context.read()
    }

    /// Returns free memory to the operating system on another thread, if it is time. The next measurement shows the effect.
    private func releaseMemory(_ context: ChannelHandlerContext, _ now: UInt64) {
        let isPaused = self.detector.reasons.contains(.memory)
        guard self.memoryRelease.shouldStart(memoryBytes: self.memoryBytes, isPaused: isPaused, now: now) else {
            return
        }
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        NIOThreadPool.singleton.runIfActive(eventLoop: context.eventLoop) {
            ProcessLoad.releaseFreeMemory()
        }.whenComplete { _ in
            bound.value.memoryRelease.ended(now: NIODeadline.now().uptimeNanoseconds)
        }
    }
}
