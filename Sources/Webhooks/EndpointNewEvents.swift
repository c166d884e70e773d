// Passes events that were just read from the stream to their lanes. Those that cannot be delivered in time move to the waiting
// list in Redis, behind earlier ones of the same job or rider.

internal import HTTPValues
internal import LiveState

extension EndpointWorker {
    /// Returns when each of these events was delivered, or waits in Redis.
    ///
    /// - Parameter undelayed: jobs of which no earlier event waits any longer, so that the next one is due at once.
    func settle(_ events: [String: [WaitingEvent]], undelayed: Set<String>) async throws {
        var behind: [String: [WaitingEvent]] = [:]
        for (subject, events) in events {
            if self.blocked.contains(subject) || self.lanes.has(subject) || self.health.isFailing {
                behind[subject] = events
            } else {
                self.lanes.add(subject, events)
            }
        }
        self.startLanes()
        let delay = self.settings.retries.delay(afterFailures: 1) ?? .zero
        let waiting = behind
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, (subject, events)) in waiting.enumerated() {
                if index >= WebhookSettings.connections { try await group.next() }
                let due = undelayed.contains(subject) ? .zero : delay
                group.addTask { try await self.park(events, of: subject, failures: 0, delay: due) }
            }
            try await group.waitForAll()
        }
        let end = ContinuousClock.now + self.settings.patience
        while self.isGoing, self.lanes.hasUnsettled {
            let left = end - ContinuousClock.now
            guard left > .zero else { break }
            await self.wait(for: .settled, within: left)
        }
        // A request may take long. The next events of other jobs do not wait for it.
        guard self.isGoing else { throw CancellationError() }
        for move in self.lanes.unsettled.map({ self.move($0, failures: 0, delay: .zero) }) { try await move.value }
        guard self.isGoing else { throw CancellationError() }
    }

    /// Moves the new events of a lane to the waiting list, if that is not done already.
    func move(_ subject: String, failures: Int, delay: Duration) -> Task<Void, any Error> {
        if let move = self.moves[subject] { return move }
        let events = self.lanes.move(subject)
        let task = Task {
            defer { self.moves[subject] = nil }
            try await self.park(events, of: subject, failures: failures, delay: delay)
            self.lanes.moved(subject)
            self.notify()
        }
        self.moves[subject] = task
        return task
    }

    func moving(_ subject: String) -> Task<Void, any Error>? { self.moves[subject] }

    /// Appends events to the waiting list of their job or rider. While it is full, this waits for room.
    private func park(_ events: [WaitingEvent], of subject: String, failures: Int, delay: Duration) async throws {
        self.blocked.insert(subject)
        self.lanes.beginPark(subject)
        defer { self.lanes.endPark(subject) }
        for (index, event) in events.enumerated() {
            while true {
                let waits = try await self.persist(of: subject) {
                    try await self.store.park(
                        event, for: self.id, attempts: index == 0 ? failures : 0,
                        due: WallClock.nowMilliseconds + delay.milliseconds, by: self.holder)
                }
                if waits { break }
                await self.reportFull()
                try await Task.sleep(for: self.settings.fullPause)
            }
        }
    }
}
