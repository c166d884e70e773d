// How near a rider is to where its job ends, as its positions suggest: for people, or for configuration, to make it
// more.

/// Told to the rider, to operations and to services; no status follows from it by itself.
public enum ProximityState: String, Hashable, Sendable, CaseIterable {
    case approaching
    /// It stands at the door.
    case arrived
    /// It had arrived, or come near, and is away again.
    case left
}
