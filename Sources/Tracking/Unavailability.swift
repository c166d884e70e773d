// Why nothing is seen of a rider, as far as it can be known: what its client said before it fell silent, or what can be
// inferred. Followers are told in plain words, operators by name (UnavailableReason).

package import EnrouteWire

/// Gathers what is known of one rider's silence. Times are ns of a clock that never goes back.
package struct Unavailability: Hashable, Sendable {
    /// The first reading may take a receiver so long, from when travel mode was switched on.
    package static let firstFix = UInt64.seconds(20)
    /// A rider that goes to a navigation app is expected to be paused by its phone for so long.
    package static let handoff = UInt64.seconds(600)
    /// A phone with no more than this may be off by now, percent.
    package static let lowBatteryPercent = 5

    private struct Report: Hashable {
        var reason: UnavailableReason
        var at: UInt64
    }

    /// ns: an accepted reading explains itself for so long, and a refused one explains a silence.
    private let freshFor: UInt64
    private var travellingSince: UInt64?
    private var acceptedAt: UInt64?
    private var refusedAt: UInt64?
    private var isConnected = false
    private var batteryPercent: Int?
    private var reported: Report?

    /// - Parameter freshFor: after so long what followers were shown last is called old, ns.
    package init(freshFor: UInt64 = ViewFacts.freshness) { self.freshFor = freshFor }

    package mutating func started(now: UInt64) {
        (self.travellingSince, self.acceptedAt, self.refusedAt, self.reported) = (now, nil, nil, nil)
    }

    package mutating func stopped() { self.travellingSince = nil }

    /// A reading was shown: whatever was the matter is over, but for who left for another app and may be paused yet.
    package mutating func accepted(now: UInt64) {
        self.acceptedAt = now
        if self.reported?.reason != .navigationHandoff { self.reported = nil }
    }

    /// Somebody else showed a reading.
    package mutating func resumed(shownAt: UInt64) { self.acceptedAt = max(self.acceptedAt ?? 0, shownAt) }

    package mutating func refused(now: UInt64) { self.refusedAt = now }

    /// The rider's session opened or closed.
    package mutating func connection(isOpen: Bool) { self.isConnected = isOpen }

    /// - Parameter percent: 0 to 100; `nil` when the phone does not say or is being charged.
    package mutating func battery(percent: Int?) { self.batteryPercent = percent }

    package mutating func report(_ reason: UnavailableReason, now: UInt64) { self.reported = Report(reason: reason, at: now) }

    /// - Returns: `nil` when there is nothing to explain: travel mode is off, or readings come.
    package func reason(now: UInt64) -> UnavailableReason? {
        guard let since = self.travellingSince else { return nil }
        if let acceptedAt = self.acceptedAt, now <= acceptedAt + self.freshFor { return nil }
        if let reported = self.reported {
            if reported.reason != .navigationHandoff || now <= reported.at + Self.handoff { return reported.reason }
        }
        guard self.isConnected else {
            return self.batteryPercent.map { $0 <= Self.lowBatteryPercent } ?? false ? .lowBattery : .network
        }
        // Readings come, and none of them is of use; or none has come, though there was time.
        if let refusedAt = self.refusedAt, now <= refusedAt + self.freshFor { return .noFix }
        guard self.acceptedAt == nil else { return .unknown }
        return now > since + Self.firstFix ? .noFix : nil
    }
}
