// The changes of a job as text: one line for each message, with the protocol's names of statuses.

import EnrouteWire
import Foundation

enum JobScreen {
    /// One line for a message; `nil` for messages that do not change what a follower sees.
    static func line(_ message: ServerMessage) -> String? {
        func line(_ text: String) -> String { "\(Date.now.formatted(.iso8601))  \(text)" }
        switch message {
        case .subscribed(_, let snapshot), .reset(_, let snapshot):
            return line("\(snapshot.status.rawValue), tracking \(self.text(snapshot.tracking, snapshot.reason))")
        case .status(_, let event): return line(event.status.rawValue)
        case .location(let location):
            return line("position \(location.fix.place.latitude), \(location.fix.place.longitude)")
        case .tracking(_, let state, let reason): return line("tracking \(self.text(state, reason))")
        case .eta(_, let estimate):
            return line("arrival \(estimate.arrivesAt.map(DocumentScreen.time) ?? estimate.state.rawValue)")
        case .unavailable(_, _, let reason): return line("no location: \(reason?.rawValue ?? "unavailable")")
        case .ended(_, let reason): return line("ended: \(reason.rawValue)")
        case .degraded: return line("degraded: the gateway cannot reach Redis")
        case .restored: return line("restored")
        default: return nil
        }
    }

    private static func text(_ state: TrackingState, _ reason: EndReason?) -> String {
        state.rawValue + (reason.map { " (\($0.rawValue))" } ?? "")
    }
}
