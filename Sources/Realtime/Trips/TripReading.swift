// Reads what followers of a trip have been shown, possibly by another gateway, before the trip's first report is
// validated. It is read again when the job may have changed.

internal import EnrouteWire
internal import Jobs
internal import LiveState
package import NIOCore
internal import Tracking

extension TripValidators {
    /// Reads what followers have been shown. Always succeeds: without Redis, a trip is validated on its own, and
    /// accepted positions wait for Redis anyway.
    ///
    /// - Parameter again: whether to read it even if it is known, because another gateway may have received reports
    ///   since.
    package func read(_ key: Key, again: Bool = false) -> EventLoopFuture<Void> {
        let entry = self.entry(key)
        if let reading = entry.reading { return reading }
        if entry.isRead, !again { return self.loop.eventLoop.makeSucceededVoidFuture() }
        let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        let reading = self.loop.jobs.view(key.job).map { view in
            // The job may have been assigned to another rider since it was last read.
            bound.value.entries[key]?.isAssigned = false
            bound.value.finishRead(key, view)
        }.flatMapErrorThrowing { _ in bound.value.finishRead(key, nil) }
        // The read may have completed already: without a connection it fails immediately.
        if self.entries[key]?.isRead == false { self.entries[key]?.reading = reading }
        return reading
    }

    /// Reads the job again if its rider, its destination or its zone has changed, which is rare.
    func readIfChanged(_ key: Key, at index: [Key: Entry].Index, _ now: NIODeadline) {
        // It is not read again before the next interval, whatever Redis replies.
        self.entries.values[index].readAt = now
        let isSent =
            self.entries.values[index].isAssigned
            && self.loop.jobs.ledger.readTripFacts(key.job) { [weak self] facts in
                guard let self, let entry = self.entries[key] else { return }
                let isSame = facts.map {
                    $0.rider == key.rider && $0.destination.map { Point($0) } == entry.trip.destination
                        && $0.zone == entry.zone
                }
                if isSame != true { _ = self.read(key, again: true) }
            }
        if !isSent { _ = self.read(key, again: true) }
    }

    private func finishRead(_ key: Key, _ view: JobView?) {
        self.entries[key]?.reading = nil
        self.entries[key]?.isRead = true
        self.entries[key]?.readAt = .now()
        guard let view, view.record.rider == key.rider else { return }
        let reporter = key.reporter ?? self.reporter
        // Only a device without a name may continue for another one, which must not have a name either.
        if let newest = view.record.reporter, newest == reporter || !newest.isNameless || !reporter.isNameless {
            self.entries[key]?.isOvertaken = newest != reporter
        }
        let isOvertaken = self.entries[key]?.isOvertaken == true
        self.entries[key]?.isAssigned = !isOvertaken
        self.entries[key]?.zone = view.record.zone
        self.entries[key]?.trip.resume(from: view, now: NIODeadline.now().uptimeNanoseconds)
    }
}
