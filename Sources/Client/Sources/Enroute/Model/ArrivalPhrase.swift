// How to show an arrival, by the rule of the pages (enroute-words.js) but without texts, so that an app uses its own.

public import Foundation

/// How to show when the rider arrives.
public enum ArrivalPhrase: Hashable, Sendable {
    case none
    /// In less than a minute.
    case now
    /// In this many minutes, up to an hour.
    case within(minutes: Int)
    /// At a time, by this device's clock.
    case at(Date)
    case recalculating
    case unavailable
    /// The rider makes another stop first.
    case afterStop

    /// - Parameters:
    ///   - view: what the follower sees.
    ///   - now: by this device's clock.
    public init(_ view: JobView, now: Date = Date()) {
        guard let arrival = view.arrival else {
            self = .none
            return
        }
        switch (arrival.state, view.arrivesAtOnThisClock) {
        case (.recalculating, _): self = .recalculating
        case (.ok, let arrivesAt?):
            let seconds = arrivesAt.timeIntervalSince(now)
            // A time beyond a year is caused by a wrong clock; it is shown unchanged.
            let minutes = Int((max(0, min(seconds, 31_536_000)) / 60).rounded())
            self = seconds < 60 ? .now : minutes < 60 ? .within(minutes: minutes) : .at(arrivesAt)
        default: self = (arrival.stopsBefore ?? 0) > 0 ? .afterStop : .unavailable
        }
    }
}
