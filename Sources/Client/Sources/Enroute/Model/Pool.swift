// The pool of riders in a zone, for dispatch systems and operations staff.

public import Foundation

/// A rider of a zone.
public struct PoolRider: Hashable, Sendable, Identifiable {
    public let id: String
    public let isAvailable: Bool
    /// When the rider was last available, by the gateway's clock.
    public let heartbeat: Date?
    /// The last change, such as `online` or `assigned`; `nil` if the rider has not changed while the zone was watched.
    public let change: String?
    public let tasks: Int?
    public let capacity: Int?
    public let job: JobID?
}

/// The riders of a zone who may get a task, and those that changed while the zone was watched.
public struct Pool: Hashable, Sendable {
    public let zone: String
    /// Grows with each change.
    public internal(set) var version: Int64?
    public internal(set) var riders: [String: PoolRider] = [:]
    /// The number of riders who may get a task, whether listed or not.
    public internal(set) var count = 0

    init(zone: String) { self.zone = zone }
}
