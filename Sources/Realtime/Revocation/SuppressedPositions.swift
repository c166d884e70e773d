// Buffers positions while the revocation state is stale and nobody knows who may see them, so they can be shown as soon as the
// state is fresh again.

internal import EnrouteWire

/// The newest position of each followed job that arrived while the loop's revocation state was stale. A value.
struct SuppressedPositions {
    private var newest: [JobID: (id: UInt64, frame: [UInt8])] = [:]
    /// Jobs with a suppressed arrival time.
    private var etas: Set<JobID> = []

    var isEmpty: Bool { self.newest.isEmpty && self.etas.isEmpty }

    mutating func store(_ id: UInt64, _ frame: [UInt8], of job: JobID) {
        if let held = self.newest[job], held.id >= id { return }
        self.newest[job] = (id, frame)
    }

    mutating func storeETA(of job: JobID) { self.etas.insert(job) }

    mutating func drop(_ job: JobID) {
        self.newest[job] = nil
        self.etas.remove(job)
    }

    mutating func removePositions() -> [JobID: (id: UInt64, frame: [UInt8])] {
        defer { self.newest = [:] }
        return self.newest
    }

    mutating func removeETAs() -> Set<JobID> {
        defer { self.etas = [] }
        return self.etas
    }
}
