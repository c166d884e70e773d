// Deliberate bugs. Each is a switch in the glue or in the model, never a different state machine. That each is caught shows
// that the oracle works.

enum Flaw: CaseIterable {
    /// The snapshot is read before the channels are subscribed.
    case readsBeforeSubscribing
    /// The snapshot is read before the subscriptions are acknowledged.
    case awaitsNoAcknowledgement
    /// Ids are a counter, without a clock.
    case countsPlainly
    /// Jobs are never checked without a reason.
    case neverReconciles
    /// Messages that were already shown are shown again.
    case showsTwice
    /// A lost and restored channel is treated as if it had never been lost.
    case ignoresRegained
    /// The acknowledgement of an ended subscription counts for its successor.
    case takesLateAcknowledgement
    /// `restored` is sent when connections are back, before everything is resynced.
    case restoresEarly
    /// A snapshot is shown although a repair was requested after the snapshot's read was sent.
    case believesOldSnapshot
    /// A job counts as followed, and is repaired, before its channels are acknowledged.
    case followsEarly
    /// The result of a repair is shown to a follower that joined after the read was sent.
    case resetsNewcomers

    /// The kind of plan that reveals it most often.
    var emphasis: Plan.Emphasis? {
        switch self {
        case .takesLateAcknowledgement, .followsEarly, .awaitsNoAcknowledgement: .impatience
        case .believesOldSnapshot, .resetsNewcomers, .ignoresRegained: .slowness
        case .countsPlainly, .restoresEarly: .succession
        case .neverReconciles: Plan.Emphasis.none
        case .readsBeforeSubscribing, .showsTwice: nil
        }
    }
}
