// The result of validating a fix. The rider's phone, the metrics and operations staff see the same names.

/// Why a fix is refused.
package enum FixRefusal: String, Sendable, CaseIterable {
    /// The coordinates are out of range.
    case outOfRange = "out_of_range"
    /// (0, 0), which broken receivers report.
    case zeroZero = "zero_zero"
    /// Captured further in the future than clocks can differ.
    case future
    /// Captured too long ago.
    case stale
    /// Captured before the reading that is shown. The marker never goes back.
    case outOfOrder = "out_of_order"
    case duplicate
    /// Its accuracy radius is too large.
    case inaccurate
    /// The speed is implausible, and the next reading contradicted it.
    case implausibleSpeed = "implausible_speed"
    case travelModeOff = "travel_mode_off"
    /// Another device of this rider reports for the job.
    case otherDevice = "other_device"
    /// The phone's clock is wrong by more than can be corrected. Counted once more when a clock is corrected.
    case clock
    /// The phone reports that an app invented the reading.
    case mocked
}

package enum FixVerdict: Hashable, Sendable {
    case accepted(Acceptance)
    /// Implausible; the next reading decides.
    case held
    case refused(FixRefusal)

    package enum Acceptance: Hashable, Sendable {
        /// The marker moves on to the reading.
        case onward
        /// Several readings agree on another place, so the marker jumps there.
        case anew
    }

    /// The name in messages, metrics and logs.
    package var name: String {
        switch self {
        case .accepted: "accepted"
        case .held: "held"
        case .refused(let reason): reason.rawValue
        }
    }
}

/// Counts of a job's verdicts. A held reading that the next one contradicts counts as held and also as
/// `implausible_speed`.
package struct VerdictCounts: Hashable, Sendable {
    package private(set) var accepted = 0
    package private(set) var held = 0
    private var refusedByReason = [Int](repeating: 0, count: FixRefusal.allCases.count)

    package init() {}

    package func refused(_ reason: FixRefusal) -> Int { self.refusedByReason[reason.place] }

    /// The number of all refused readings.
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
    /// Whether the time of the fix is the reason, so the phone should compare its clock.
    package var isOfClock: Bool { [.clock, .future, .stale].contains(self) }

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
        case .clock: 9
        case .otherDevice: 10
        case .mocked: 11
        }
    }
}
