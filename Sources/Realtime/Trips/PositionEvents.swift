// Events for other systems that are derived from a rider's positions. The ledger's scripts cannot derive them, so the
// rider's home loop appends them. If the ledger is unavailable, they are lost; no state depends on them.

internal import EnrouteWire
internal import HTTPValues
internal import LiveState
internal import NIOCore

/// What a gateway concludes from positions, or from their absence.
enum PositionEvent: Hashable, Sendable {
    /// - Parameter at: the time of the fix, ms since the epoch.
    case proximity(ProximityState, at: Int64)
    case unavailable(UnavailableReason)
    case available

    /// - Parameter now: ms since the epoch.
    func event(about job: JobID, in zone: ZoneID?, now: Int64) -> LedgerEvent {
        switch self {
        case .proximity(let state, let at):
            // A repeat of the same fix has the same id.
            LedgerEvent(
                id: "\(job).\(state.rawValue).\(at)", kind: .proximityChanged, time: now, subject: job.text, zone: zone,
                data: "{\"state\":\"\(state.rawValue)\"}")
        case .unavailable(let reason):
            LedgerEvent(
                id: "\(job).unavailable.\(now)", kind: .trackingChanged, time: now, subject: job.text, zone: zone,
                data: "{\"available\":false,\"reason\":\"\(reason.rawValue)\"}")
        case .available:
            LedgerEvent(
                id: "\(job).available.\(now)", kind: .trackingChanged, time: now, subject: job.text, zone: zone,
                data: "{\"available\":true}")
        }
    }
}

extension LoopState {
    /// Appends to the stream that other systems read.
    func append(_ event: PositionEvent, about job: JobID, in zone: ZoneID?) {
        self.eventStreams.append(event.event(about: job, in: zone, now: WallClock.nowMilliseconds))
    }
}
