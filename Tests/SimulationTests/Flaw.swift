// Ways to get it wrong on purpose. Each is a switch of the glue or of the model, never another core; that each is caught
// shows that the oracle looks.

enum Flaw: CaseIterable {
    /// The snapshot is read before the channels are subscribed.
    case readsBeforeSubscribing
    /// The snapshot is read before the subscriptions are acknowledged.
    case awaitsNoAcknowledgement
    /// Ids are a counter, without a clock.
    case countsPlainly
    /// No job is looked at unless there is a reason.
    case neverReconciles
    /// What was seen is shown again.
    case showsTwice
    /// A channel that was lost and is back is taken for one that was never lost.
    case ignoresRegained
    /// The acknowledgement of a subscription that was ended counts for the one after it.
    case takesLateAcknowledgement
    /// `restored` is told when connections stand, not when everything is read again.
    case restoresEarly
    /// A snapshot is shown although a repair was demanded after it was asked for.
    case believesOldSnapshot
    /// A job counts as followed, and is repaired, before its channels are acknowledged.
    case followsEarly
    /// What was read for a repair is shown to a follower who came after it was asked for.
    case resetsNewcomers

    /// What brings it to light most often.
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
