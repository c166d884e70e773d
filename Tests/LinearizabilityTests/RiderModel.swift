// The sequential model of a rider, which must explain every history of concurrent calls. A value of a few bits, without
// Redis, clocks or versions. If the clock matters, both outcomes are possible.

/// The rider's state between two calls. Initially offline, approved, without a task.
struct RiderState: Hashable, Sendable {
    var isOnline = false
    var isReachable = false
    var isApproved = true
    /// One bit per job.
    var tasks: UInt8 = 0

    /// Maximum number of tasks at the same time.
    static let capacity = 2
}

/// The possible calls.
enum Call: Hashable, Sendable {
    case setOnline, setOffline, heartbeat, expire, read
    case approve(Bool)
    /// Of a job, by its index from 0.
    case assign(Int), release(Int)

    /// Whether a repeated request gets the same answer without another effect.
    var hasRequest: Bool {
        switch self {
        case .setOnline, .setOffline, .approve, .assign, .release: true
        case .heartbeat, .expire, .read: false
        }
    }
}

enum Answer: Hashable, Sendable {
    case done, unchanged, nothing
    case notApproved, offline, unreachable
    /// Refused, or answered, because of these tasks.
    case tasks(UInt8)
    case state(RiderState)
}

extension RiderState {
    /// The possible replies in this state, with the next state: one, or two if the clock decides.
    func outcomes(of call: Call) -> [(answer: Answer, after: RiderState)] {
        var after = self
        switch call {
        case .read: return [(.state(self), self)]
        case .approve(let isApproved):
            after.isApproved = isApproved
            return [(after == self ? .unchanged : .done, after)]
        case .setOnline:
            guard self.isApproved else { return [(.notApproved, self)] }
            (after.isOnline, after.isReachable) = (true, true)
            return [(after == self ? .unchanged : .done, after)]
        case .setOffline:
            guard self.isOnline else { return [(.unchanged, self)] }
            guard self.tasks == 0 else { return [(.tasks(self.tasks), self)] }
            (after.isOnline, after.isReachable) = (false, false)
            return [(.done, after)]
        case .heartbeat:
            guard self.isOnline else { return [(.offline, self)] }
            after.isReachable = true
            return [(after == self ? .unchanged : .done, after)]
        case .expire: return [(.nothing, self)] + self.expiry
        case .assign(let job): return [self.assigned(job)]
        case .release(let job):
            after.tasks &= ~(1 << UInt8(job))
            return [(after == self ? .unchanged : .done, after)]
        }
    }

    /// What an expiry check may do once it is due.
    private var expiry: [(Answer, RiderState)] {
        var after = self
        guard self.isOnline, self.isReachable || self.tasks == 0 else { return [] }
        if self.isReachable { after.isReachable = false } else { after.isOnline = false }
        return [(self.tasks == 0 ? .done : .tasks(self.tasks), after)]
    }

    private func assigned(_ job: Int) -> (Answer, RiderState) {
        var after = self
        after.tasks |= 1 << UInt8(job)
        if after == self { return (.unchanged, self) }
        guard self.isOnline else { return (.offline, self) }
        guard self.isApproved else { return (.notApproved, self) }
        guard self.isReachable else { return (.unreachable, self) }
        guard self.tasks.nonzeroBitCount < Self.capacity else { return (.tasks(self.tasks), self) }
        return (.done, after)
    }
}
