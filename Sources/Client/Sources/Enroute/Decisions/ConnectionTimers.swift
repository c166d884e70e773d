// The timers of a connection, each with the time at which it is due. All times are in ms, by the monotonic clock.

struct ConnectionTimers {
    /// Timers that are due at the same time fire in this order.
    enum Timer: Int { case connect, planned, answer, look, goodbye, drain }

    private var due: [Timer: Double] = [:]

    /// When the next timer is due; `nil` if there is none.
    var next: Double? { self.due.values.min() }

    /// When a timer is due; `nil` if it is not set.
    subscript(timer: Timer) -> Double? {
        get { self.due[timer] }
        set { self.due[timer] = newValue }
    }

    /// Removes and returns the first timer that is due.
    mutating func removeDue(at now: Double) -> Timer? {
        let first = self.due.min { ($0.value, $0.key.rawValue) < ($1.value, $1.key.rawValue) }
        guard let first, first.value <= now else { return nil }
        self.due[first.key] = nil
        return first.key
    }

    mutating func clear() { self.due = [:] }
}
