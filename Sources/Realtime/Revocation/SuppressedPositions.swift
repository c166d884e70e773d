// What is not shown while it may be unknown who may see it: kept, so that it can be shown as soon as that is known again.

internal import EnrouteWire

/// The newest position of each followed job that came while its loop could not know what is revoked. A value.
struct SuppressedPositions {
    private var newest: [JobID: (id: UInt64, frame: [UInt8])] = [:]
    /// Jobs of whose arrival something was said.
    private var arrivals: Set<JobID> = []

    var isEmpty: Bool { self.newest.isEmpty && self.arrivals.isEmpty }

    mutating func keep(_ id: UInt64, _ frame: [UInt8], of job: JobID) {
        if let held = self.newest[job], held.id >= id { return }
        self.newest[job] = (id, frame)
    }

    mutating func keepArrival(of job: JobID) { self.arrivals.insert(job) }

    mutating func drop(_ job: JobID) {
        self.newest[job] = nil
        self.arrivals.remove(job)
    }

    mutating func takeAll() -> [JobID: (id: UInt64, frame: [UInt8])] {
        defer { self.newest = [:] }
        return self.newest
    }

    mutating func takeArrivals() -> Set<JobID> {
        defer { self.arrivals = [] }
        return self.arrivals
    }
}
