// All event loops of a gateway: readiness, metrics and shutdown need every one of them.

internal import Access
internal import EnrouteWire
internal import ETA
internal import HTTPValues
internal import LiveState
internal import NIOCore
internal import Realtime
internal import REST
internal import Telemetry
internal import TrafficControl

/// The event loops of one gateway. Thread-safe.
struct GatewayLoops: Sendable {
    let loops: [any EventLoop]
    let states: [NIOLoopBound<LoopState>]
    let load: SharedLoad
    let quotas: Quotas
    let settings: GatewaySettings
    let issuerKeys: JWKSSource?
    let eventCounts: EventCounts
    let arrivalCounts: ArrivalCounts
    let redis: RedisFaultMonitors
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

    func shed(percent: Int) {
        for (loop, state) in zip(self.loops, self.states) { loop.execute { state.value.shed(percent: percent) } }
    }

    /// Asks every client to reconnect to another gateway, at times spread over the drain time, and waits until they have
    /// disconnected.
    func drain(_ time: Duration) async {
        // The last clients are asked before the drain time is over, so that their close frames still arrive within it.
        let milliseconds = time.milliseconds
        let disconnected = zip(self.loops, self.states).map { loop, state in
            loop.flatSubmit { state.value.drain(milliseconds: milliseconds * 9 / 10) }
        }
        let all = EventLoopFuture.andAllSucceed(disconnected, on: self.loops[0])
        let deadline = self.loops[0].scheduleTask(in: .milliseconds(milliseconds)) {}
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = try? await all.get() }
            group.addTask { _ = try? await deadline.futureResult.get() }
            await group.next()
            deadline.cancel()
            // `all` may never complete if a peer has disappeared. Its promise fails when the loop state is released.
            group.cancelAll()
        }
    }
}
