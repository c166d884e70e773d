// Which events an erasure removes. An epoch identifies one record of a job. It distinguishes the events of an erased
// job from those of a new job with the same id.

/// The records of a job whose events are removed, by their epochs. Events without an epoch result from positions. They
/// belong to no record, and are always removed.
package enum ErasedRecords: Sendable, Hashable {
    /// The records with these epochs.
    case only([String])
    /// All records but the one with this epoch; all records if it is `nil`.
    case allExcept(String?)

    /// Every record of the job.
    package static let all = Self.allExcept(nil)
    /// How many erased records of a job are remembered, as in erase_job and forget_events.
    static let maxEpochs = 4

    /// The records as the argument that forget_events expects.
    var word: String {
        switch self {
        case .only: "only"
        case .allExcept: "except"
        }
    }

    /// The epochs, separated by spaces.
    var epochs: String {
        switch self {
        case .only(let epochs): epochs.joined(separator: " ")
        case .allExcept(let current): current ?? ""
        }
    }

    /// Whether an event with the job's id as its subject is removed. The event about the erasure stays, and so do
    /// events about a rider with the same id.
    ///
    /// - Parameter type: `nil` for a malformed event.
    func includes(type: String?, epoch: String?) -> Bool {
        guard type != LedgerEvent.Kind.erased.rawValue, type?.hasPrefix(LedgerEvent.Kind.ofRiders) != true else {
            return false
        }
        guard let epoch, !epoch.isEmpty else { return true }
        return switch self {
        case .only(let epochs): epochs.contains(epoch)
        case .allExcept(let current): epoch != current
        }
    }
}
