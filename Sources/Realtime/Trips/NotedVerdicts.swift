// Which verdicts of a trip are new since they were last counted, by the names under which they are counted.

internal import Tracking

/// The verdicts of one trip that have already been counted.
struct NotedVerdicts: Sendable {
    private var counts = VerdictCounts()

    /// Notes the verdicts so far.
    ///
    /// - Returns: those that are new.
    mutating func update(to counts: VerdictCounts) -> [(verdict: FixVerdictName, count: Int)] {
        let before = self.counts
        guard counts != before else { return [] }
        self.counts = counts
        // The usual case: readings were accepted, and nothing else.
        if counts.refused == before.refused, counts.held == before.held, counts.accepted > before.accepted {
            return [(.accepted, counts.accepted - before.accepted)]
        }
        return FixVerdictName.allCases.compactMap { name in
            let count = name.count(in: counts) - name.count(in: before)
            return count == 0 ? nil : (name, count)
        }
    }
}

/// A verdict by the name under which it is counted.
enum FixVerdictName: Hashable, Sendable, CaseIterable {
    case accepted, held
    case refused(FixRefusal)

    static let allCases: [FixVerdictName] = [.accepted, .held] + FixRefusal.allCases.map { .refused($0) }

    var text: String {
        switch self {
        case .accepted: "accepted"
        case .held: "held"
        case .refused(let reason): reason.rawValue
        }
    }

    func count(in counts: VerdictCounts) -> Int {
        switch self {
        case .accepted: counts.accepted
        case .held: counts.held
        case .refused(let reason): counts.refused(reason)
        }
    }
}
