// Determines why a rider has no location: the reason that its client reported, or one that is inferred. Followers receive a
// text, operations staff also the reason (UnavailableReason).

package import EnrouteWire

/// Determines the unavailable reason of one rider. Times are ns of a monotonic clock.
package struct Unavailability: Hashable, Sendable {
    /// The time a receiver may need for the first reading after travel mode was switched on.
    package static let firstFix = UInt64.seconds(20)
    /// How long the phone may pause the app while the rider uses a navigation app.
    package static let handoff = UInt64.seconds(600)
    /// At or below this percentage, the phone may be switched off.
    package static let lowBatteryPercent = 5

    private struct Report: Hashable {
        var reason: UnavailableReason
        var at: UInt64
    }

    /// ns. How long a reading counts: after an accepted one there is a location; after a refused one there is no fix.
    private let freshFor: UInt64
    private var travellingSince: UInt64?
    private var acceptedAt: UInt64?
    private var refusedAt: UInt64?
    /// Whether an app invented the last refused reading.
    private var isMocked = false
    private var isConnected = false
    private var batteryPercent: Int?
    private var reported: Report?

    /// - Parameter freshFor: after this time a location is stale, in ns.
    package init(freshFor: UInt64 = ViewFacts.freshness) { self.freshFor = freshFor }

    package mutating func started(now: UInt64) {
        (self.travellingSince, self.acceptedAt, self.refusedAt, self.reported) = (now, nil, nil, nil)
    }

    package mutating func stopped() { self.travellingSince = nil }

    /// A reading was accepted, which ends the reported reason. A switch to a navigation app stays, because the app may
    /// be paused again.
    package mutating func accepted(now: UInt64) {
        self.acceptedAt = now
        if self.reported?.reason != .navigationHandoff { self.reported = nil }
    }

    /// Another session or gateway published a reading.
    package mutating func resumed(shownAt: UInt64) { self.acceptedAt = max(self.acceptedAt ?? 0, shownAt) }

    /// - Parameter isMocked: whether the reason is that an app invented the reading.
    package mutating func refused(now: UInt64, isMocked: Bool = false) {
        (self.refusedAt, self.isMocked) = (now, isMocked)
    }

    /// The rider's session opened or closed.
    package mutating func connection(isOpen: Bool) { self.isConnected = isOpen }

    /// - Parameter percent: 0 to 100; `nil` if unknown or charging.
    package mutating func battery(percent: Int?) { self.batteryPercent = percent }

    package mutating func report(_ reason: UnavailableReason, now: UInt64) {
        self.reported = Report(reason: reason, at: now)
    }

    /// The unavailable reason; `nil` if travel mode is off or readings arrive.
    package func reason(now: UInt64) -> UnavailableReason? {
        guard let since = self.travellingSince else { return nil }
        if let acceptedAt = self.acceptedAt, now <= acceptedAt + self.freshFor { return nil }
        if let reported = self.reported {
            if reported.reason != .navigationHandoff || now <= reported.at + Self.handoff { return reported.reason }
        }
        guard self.isConnected else {
            return self.batteryPercent.map { $0 <= Self.lowBatteryPercent } ?? false ? .lowBattery : .network
        }
        // Readings arrive and are refused, or none arrived in time.
        if let refusedAt = self.refusedAt, now <= refusedAt + self.freshFor {
            return self.isMocked ? .mocked : .noFix
        }
        guard self.acceptedAt == nil else { return .unknown }
        return now > since + Self.firstFix ? .noFix : nil
    }
}
