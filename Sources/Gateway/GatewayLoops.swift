// All event loops of a gateway: readiness, metrics and shutdown need every one of them.

internal import Access
internal import EnrouteWire
internal import ETA
internal import HTTPValues
internal import LiveState
internal import NIOCore
internal import Push
internal import Realtime
internal import REST
internal import SecureSocket
internal import Telemetry
internal import TrafficControl
internal import Webhooks

/// The event loops of one gateway. Thread-safe.
struct GatewayLoops: Sendable {
    let loops: [any EventLoop]
    let states: [NIOLoopBound<LoopState>]
    let load: SharedLoad
    let quotas: Quotas
    let revocations: Revocations
    let settings: GatewaySettings
    let issuerKeys: IssuerKeys?
    let eventCounts = SharedCounts()
    let webhookCounts = SharedCounts()
    let pushCounts = SharedCounts()
    let arrivalCounts: ArrivalCounts
    let redis: RedisFaultMonitors
    let clocks: ClockComparison
    let replicas: ReplicaWatch
    let requests: RequestCounts
    /// When the gateway started, ms since the epoch.
    let startedAt = WallClock.nowMilliseconds

    /// The result of `/readyz`. Computing it waits for no event loop and no dependency, because one that hangs must not
    /// delay the response.
    var readiness: Readiness {
        Readiness(
            .init(
                isDraining: self.load.isDraining, hasReachedRedis: self.load.hasReachedRedis,
                silentMilliseconds: self.load.silence(
                    now: NIODeadline.now().uptimeNanoseconds, tick: UInt64(Deadlines.tick.nanoseconds)),
                isOverloaded: self.load.isOverloaded))
    }

    /// The metrics of the gateway, with the counters of all event loops added up.
    var metrics: String {
        get async {
            var census = LoopCensus()
            for (loop, state) in zip(self.loops, self.states) {
                guard let part = try? await loop.submit({ state.value.census }).get() else { continue }
                census.add(part)
            }
            var counts = census.counts
            if let fetched = self.issuerKeys?.fetched {
                counts.add(.jwksFetched, fetched.good)
                counts.add(.jwksFetchFailed, fetched.failed)
            }
            counts.add(self.eventCounts.values)
            counts.add(self.webhookCounts.values)
            counts.add(self.pushCounts.values)
            counts.add(self.quotas.refused)
            let gauges = self.gauges(census)
            let dependencies = await self.dependencies
            return Exposition.text(counts, gauges) + census.durations.text + self.requests.text + self.redis.text
                + self.arrivalCounts.text
                + dependencies.exposition
        }
    }

    private func gauges(_ census: LoopCensus) -> [GaugeSamples] {
        let lag = self.load.loopLag(now: NIODeadline.now().uptimeNanoseconds, tick: UInt64(Deadlines.tick.nanoseconds))
        return Gauge.allCases.map { gauge in
            switch gauge {
            case .connections: GaugeSamples(gauge, Double(self.load.openSockets))
            case .sessions: GaugeSamples(sessions: census.sessionRoles)
            case .jobs: GaugeSamples(gauge, Double(self.load.followedJobs.count))
            case .outboxBytes: GaugeSamples(gauge, Double(census.outboxBytes))
            case .eventLoops: GaugeSamples(gauge, Double(self.loops.count))
            case .loopLag: GaugeSamples(gauge, Double(lag) / 1000)
            case .shedding: GaugeSamples(gauge, self.load.isOverloaded ? 1 : 0)
            case .ready: GaugeSamples(gauge, self.readiness == .ready ? 1 : 0)
            case .memoryLimit: GaugeSamples(gauge, Double(self.settings.overload.memoryBytes))
            case .certificateExpiry:
                GaugeSamples(gauge, optional: (self.settings.credentials?.current.validity?.until).map(Double.init))
            case .clockOffset: self.clocks.gauge
            case .redisReplicas: self.replicas.gauge
            case .setting: GaugeSamples(settings: self.settings.sharedSettings)
            case .buildInfo:
                GaugeSamples(
                    buildOf: EnrouteVersion.current, revision: BuildInfo.revision, swift: BuildInfo.swiftVersion)
            case .memory: GaugeSamples(gauge, Double(ProcessLoad.residentBytes))
            case .descriptors: GaugeSamples(gauge, Double(ProcessLoad.openDescriptors))
            case .maxDescriptors: GaugeSamples(gauge, Double(ProcessLoad.descriptorLimit))
            case .cpuSeconds: GaugeSamples(gauge, ProcessLoad.cpuSeconds)
            case .startTime: GaugeSamples(gauge, Double(self.startedAt) / 1000)
            }
        }
    }

    /// The services of each event loop, for REST handlers.
    var services: [LoopServices] {
        get async throws {
            var services: [LoopServices] = []
            for (loop, state) in zip(self.loops, self.states) {
                services.append(try await loop.submit { state.value.services }.get())
            }
            return services
        }
    }

    func stop() {
        for (loop, state) in zip(self.loops, self.states) { loop.execute { state.value.stop() } }
    }

    func shed(percent: Int) {
        for (loop, state) in zip(self.loops, self.states) { loop.execute { state.value.shed(percent: percent) } }
    }

    /// How long a drain waits for the last connections in addition to the time that a client has to answer a close frame.
    private static let closeReserveMilliseconds: Int64 = 1_000

    /// The result of `drain`.
    struct Drained: Hashable, Sendable {
        /// Sessions that were asked to reconnect.
        var sessions = 0
        /// Connections that did not close in time, and are closed without notice.
        var openConnections = 0
    }

    /// Asks every client to reconnect to another gateway, at times spread over the drain time, and waits until they
    /// have disconnected. Sessions that are still open after that time are closed with 4000, whatever they are doing,
    /// and get the usual time to answer. With a drain time of 0, these are all sessions.
    func drain(_ time: Duration) async -> Drained {
        let milliseconds = time.milliseconds
        var drained = Drained()
        for (loop, state) in zip(self.loops, self.states) {
            drained.sessions += (try? await loop.submit { state.value.sessions.count }.get()) ?? 0
        }
        // The last clients are asked before the drain time is over, so that their close frames still arrive within it.
        let disconnected = zip(self.loops, self.states).map { loop, state in
            loop.flatSubmit { state.value.drain(milliseconds: milliseconds * 9 / 10) }
        }
        let all = EventLoopFuture.andAllSucceed(disconnected, on: self.loops[0])
        await all.wait(milliseconds: milliseconds)
        for (loop, state) in zip(self.loops, self.states) { loop.execute { state.value.closeSessions() } }
        await all.wait(milliseconds: Int64(self.settings.limits.closeSeconds) * 1000 + Self.closeReserveMilliseconds)
        for (loop, state) in zip(self.loops, self.states) {
            drained.openConnections += (try? await loop.submit { state.value.openConnections }.get()) ?? 0
        }
        return drained
    }
}

extension EventLoopFuture<Void> {
    /// Returns when the future succeeds or fails, or after this time. A peer that has disappeared may delay it until
    /// `LoopState.stop`.
    func wait(milliseconds: Int64) async {
        let over = self.eventLoop.makePromise(of: Void.self)
        self.whenComplete { _ in over.succeed() }
        let deadline = self.eventLoop.scheduleTask(in: .milliseconds(milliseconds)) { over.succeed() }
        try? await over.futureResult.get()
        deadline.cancel()
    }
}
