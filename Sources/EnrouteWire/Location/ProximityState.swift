// How close a rider is to the destination, derived from its locations.

/// Sent to the rider, to operations and to services. It never changes a status.
public enum ProximityState: String, Hashable, Sendable, CaseIterable {
    case approaching
    /// At the door.
    case arrived
    /// Away again, after it was approaching or had arrived.
    case left
}
