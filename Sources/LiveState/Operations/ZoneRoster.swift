// Which riders of a zone operations staff see first, and how many are free or busy. Decided from the zone's lists:
// reading each record of thousands of riders for every viewer would cost too much.

package import EnrouteWire

/// The online riders of a zone, each in one group.
package struct ZoneRoster: Sendable, Hashable {
    /// Unreachable riders with a task. Staff have to take care of it.
    package private(set) var unreachableWithTask: [PersonID] = []
    /// Reachable riders with a task.
    package private(set) var busy: [PersonID] = []
    /// Riders without a task that may get one.
    package private(set) var free: [PersonID] = []
    /// Riders without a task that may not get one: unreachable, or not approved.
    package private(set) var others: [PersonID] = []

    /// - Parameters:
    ///   - available: the pool.
    ///   - taskOwners: the rider of each active task.
    package init(
        online: [PersonID], unreachableWithTask: [PersonID], available: [PersonID], taskOwners: [PersonID]
    ) {
        let (unreachable, available, owners) = (Set(unreachableWithTask), Set(available), Set(taskOwners))
        self.unreachableWithTask = unreachableWithTask
        for rider in online where !unreachable.contains(rider) {
            if owners.contains(rider) {
                self.busy.append(rider)
            } else if available.contains(rider) {
                self.free.append(rider)
            } else {
                self.others.append(rider)
            }
        }
    }

    /// The most important riders. If a group does not fit, those whose ids come first, so that a display shows the same
    /// riders each time.
    package func first(_ count: Int) -> [PersonID] {
        var first: [PersonID] = []
        for group in [self.unreachableWithTask, self.busy, self.free, self.others] {
            let room = count - first.count
            first += group.count <= room ? group : Array(group.sorted { $0.text < $1.text }.prefix(room))
        }
        return first
    }
}
