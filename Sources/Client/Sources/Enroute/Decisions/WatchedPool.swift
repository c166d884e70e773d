// The pool of a zone, as a value: each message produces the next pool. enroute-view.js follows the same rules.

import Foundation

struct WatchedPool {
    private(set) var pool: Pool
    private(set) var isKnown = false

    init(zone: String) { self.pool = Pool(zone: zone) }

    /// Applies a whole pool or the changes since the last version. Returns whether anything is new.
    mutating func apply(_ message: WirePool) -> Bool {
        if let changes = message.changes {
            let seen = self.pool.version ?? -1
            for change in changes where change.version > seen { self.change(change) }
        } else {
            self.pool.riders = [:]
            for rider in message.riders ?? [] {
                self.pool.riders[rider.rider] = PoolRider(
                    id: rider.rider, isAvailable: true, heartbeat: rider.heartbeat.map { Date(ms: $0) }, change: nil,
                    tasks: nil, capacity: nil, job: nil)
            }
            self.pool.count = message.count ?? self.pool.riders.count
        }
        self.pool.version = message.version
        self.isKnown = true
        return true
    }

    /// Applies one change. Returns whether it is new.
    mutating func apply(_ message: WirePoolChange) -> Bool {
        guard self.isKnown, let version = self.pool.version, message.version > version else { return false }
        self.change(message)
        self.pool.version = message.version
        return true
    }

    private mutating func change(_ change: WirePoolChange) {
        let before = self.pool.riders[change.rider]
        // For a rider outside the list, it is unknown whether `count` included the rider. Assume that it did not.
        let difference = (change.available ? 1 : 0) - (before?.isAvailable == true ? 1 : 0)
        self.pool.count = max(0, self.pool.count + difference)
        guard change.change != "removed" else {
            self.pool.riders[change.rider] = nil
            return
        }
        self.pool.riders[change.rider] = PoolRider(
            id: change.rider, isAvailable: change.available,
            heartbeat: change.available ? change.at.map { Date(ms: $0) } : before?.heartbeat, change: change.change,
            tasks: change.tasks, capacity: change.capacity, job: change.job)
    }
}
