// The result of validating a report, which may contain several fixes.

package import EnrouteWire
package import Tracking

/// The verdict on one report.
package enum ReportVerdict: Hashable, Sendable {
    /// Publish this fix, the newest accepted one of the report.
    case publish(Fix)
    /// The fix is implausible on its own. It is neither shown nor refused; the next fix decides.
    case held
    /// All fixes were refused, the newest of them for this reason.
    case refused(FixRefusal)

    var isPublished: Bool { if case .publish = self { true } else { false } }
}

/// The verdict on a report, and what the report shows about an earlier one.
package struct ValidatedReport: Hashable, Sendable {
    package var verdict: ReportVerdict
    /// The report refutes a fix that was held, from this or an earlier report: the rider was not there.
    package var refutes = false
    /// The correction of the phone's clock in ms; `nil` if there is none, or if the rider has already been notified of it.
    package var clockCorrection: Int64?

    package init(verdict: ReportVerdict, refutes: Bool = false, clockCorrection: Int64? = nil) {
        (self.verdict, self.refutes, self.clockCorrection) = (verdict, refutes, clockCorrection)
    }
}
