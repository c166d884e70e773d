// Monitors the connections of one event loop to Redis, and notifies its clients of outages.

internal import EnrouteWire
internal import HTTPValues
internal import Logging
internal import NIOCore
internal import Redis
internal import Resilience
internal import Telemetry
internal import TrafficControl

extension LoopState {
    /// Notifies every client when its view may be stale (`degraded`), and when it is current again (`restored`).
    func updateOutage(_ now: NIODeadline) {
        let channels = self.relay.unresponsiveSince
        let live = [self.live.unresponsiveSince, channels.live, self.faultMonitors.live.refusingSince].compactMap { $0 }
            .min()
        let ledger = [
            self.ledger.unresponsiveSince, self.writes.unresponsiveSince, channels.ledger,
            self.revocationReader.unresponsiveSince, self.faultMonitors.ledger.refusingSince,
        ].compactMap { $0 }.min()
        self.redisAvailability.observe(live: live, ledger: ledger, now: now, time: WallClock.nowMilliseconds)
        let notice = self.outage.observe(
            unresponsiveSince: [live, ledger].compactMap { $0 }.min()?.uptimeNanoseconds,
            isSettled: self.relay.isSettled && !self.revocationReader.isRevocationStateStale,
            isRevocationStateStale: self.revocationReader.shouldReportStale,
            now: now.uptimeNanoseconds)
        self.relay.setOutage(self.outage.isUnderway)
        guard let notice else { return }
        if notice == .degraded {
            self.counts.add(.redisOutages)
            self.faultMonitors.outages.started(self.unresponsiveRoles)
        } else {
            self.faultMonitors.outages.ended()
        }
        for session in self.sessions.values { session.send(notice == .degraded ? .degraded : .restored) }
    }

    /// The Redis roles that do not respond, with their addresses and the reasons.
    private var unresponsiveRoles: Logger.Metadata {
        var silent = self.redisAvailability.unresponsive.map(\.dependency)
        // Redis responds, but too slowly for revocations, which are in the ledger.
        if silent.isEmpty { silent = [.redisLedger] }
        let places = silent.map { "\($0 == .redisLive ? self.settings.live : self.settings.ledger)" }
        return [
            LogKey.role: "\(silent.map(\.redisRole).joined(separator: ","))",
            LogKey.redis: "\(places.joined(separator: " and "))",
            LogKey.reason: "\(self.faultMonitors.reasons(of: silent))",
        ]
    }

    /// Revocations may be missing, so positions must not be shown.
    package var isRevocationStateStale: Bool { self.revocationReader.isRevocationStateStale }

    /// Clients have been notified that their view may be stale.
    package var isDegraded: Bool { self.outage.isDegraded }
}
