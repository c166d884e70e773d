// The events that were just read and that a webhook has to deliver, without those of erased jobs.

package import LiveState

/// The new events of a webhook, by job or rider. A value.
package struct NewEvents: Sendable {
    private var events: [String: [LedgerEvent]] = [:]
    /// The epochs of erased records, by job.
    private var epochs: [String: Set<String>] = [:]

    package init() {}

    /// The jobs whose erasure has been read.
    package var erased: Set<String> { Set(self.epochs.keys) }

    /// The events to deliver, in order.
    package var waiting: [String: [WaitingEvent]] { self.events.mapValues { $0.map { WaitingEvent($0) } } }

    /// Adds the next event of a shard. The event about the erasure of a job removes the job's events before it.
    ///
    /// - Parameter isReceived: whether the webhook receives events of this type.
    package mutating func add(_ event: LedgerEvent, isReceived: Bool) {
        let subject = event.subject
        if event.kind == .erased {
            self.epochs[subject, default: []].insert(event.epoch)
            self.events[subject]?.removeAll { $0.kind.isAboutJob && $0.kind != .erased }
            if self.events[subject]?.isEmpty == true { self.events[subject] = nil }
        } else if event.kind.isAboutJob, !event.epoch.isEmpty, self.epochs[subject]?.contains(event.epoch) == true {
            // A repeat of an event of the erased record.
            return
        }
        if isReceived { self.events[subject, default: []].append(event) }
    }
}
