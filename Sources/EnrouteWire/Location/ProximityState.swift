// How close a rider is to the destination, derived from its locations.

/// The proximity, sent to the rider, operations staff and services. It never changes a status.
public enum ProximityState: String, Hashable, Sendable, CaseIterable {
    case approaching
    /// At the door.
    case arrived
    /// Away again, after it was approaching or had arrived.
    case left
}
