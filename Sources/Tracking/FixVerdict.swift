// What became of one reading, with the reason: what the rider's phone, the metrics and whoever looks into a complaint are
// told, in the same words.

/// Why a reading is not shown to anybody.
package enum FixRefusal: String, Sendable, CaseIterable {
    /// No place on the earth.
    case outOfRange = "out_of_range"
    /// What broken receivers report.
    case zeroZero = "zero_zero"
    /// From later than now, by more than clocks differ.
    case future
    /// From too long ago to be of use.
    case stale
    /// From before the reading that is shown: the marker does not go back.
    case outOfOrder = "out_of_order"
    case duplicate
    /// Its radius of confidence says nothing about a street.
    case inaccurate
    /// Nobody gets there that fast, and no further reading agreed.
    case implausibleSpeed = "implausible_speed"
    case travelModeOff = "travel_mode_off"
}

package enum FixVerdict: Hashable, Sendable {
    case accepted(Acceptance)
    /// Implausible by itself; the next one decides.
    case held
    case refused(FixRefusal)

    package enum Acceptance: Hashable, Sendable {
        /// The marker may travel there from where it is.
        case onward
        /// Readings agree on another place: the marker stands there from now on, and has not travelled.
        case anew
    }

    /// What a rider's client, a metric and a log name it.
    package var name: String {
        switch self {
        case .accepted: "accepted"
        case .held: "held"
        case .refused(let reason): reason.rawValue
        }
    }
}

/// How many readings of a job got which verdict. A reading that was held and whose doubt proved right counts as held, and
/// once more as `implausible_speed`.
package struct VerdictCounts: Hashable, Sendable {
    package private(set) var accepted = 0
    package private(set) var held = 0
    private var refusedByReason = [Int](repeating: 0, count: FixRefusal.allCases.count)

    package init() {}

    package func refused(_ reason: FixRefusal) -> Int { self.refusedByReason[reason.place] }

    /// All that were refused.
    package var refused: Int { self.refusedByReason.reduce(0, +) }

    mutating func count(_ verdict: FixVerdict) {
        switch verdict {
        case .accepted: self.accepted += 1
        case .held: self.held += 1
        case .refused(let reason): self.refusedByReason[reason.place] += 1
        }
    }

    mutating func overrule(_ reason: FixRefusal) {
        self.accepted -= 1
        self.count(.refused(reason))
    }
}

extension FixRefusal {
    fileprivate var place: Int {
        switch self {
        case .outOfRange: 0
        case .zeroZero: 1
        case .future: 2
        case .stale: 3
        case .outOfOrder: 4
        case .duplicate: 5
        case .inaccurate: 6
        case .implausibleSpeed: 7
        case .travelModeOff: 8
        }
    }
}
