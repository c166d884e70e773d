// The lanes of a webhook. Each delivers the events of one job or rider in order: first new ones from memory, and then
// those that wait in Redis.

internal import HTTPValues
internal import LiveState
internal import Logging
internal import Telemetry

extension EndpointWorker {
    /// Maximum number of jobs and riders with due events that are queued.
    private static let longestQueue = 64
    /// Maximum number of them that are tried each second while the endpoint fails, to find out whether it works again.
    private static let probes = 4

    /// Starts lanes for jobs and riders whose waiting events are due, then waits until there may be more.
    func tryWaiting() async throws {
        _ = try await self.record()
        await self.report(self.health.overdue(at: WallClock.nowMilliseconds))
        let isFailing = self.health.isFailing
        let room = (isFailing ? Self.probes : Self.longestQueue) - self.lanes.waiting
        var added = 0
        if room > 0 {
            let due = try await self.store.due(
                self.id, before: WallClock.nowMilliseconds, most: room + self.lanes.count)
            for subject in due where added < room && !self.lanes.has(subject) {
                self.blocked.insert(subject)
                self.lanes.addWaiting(subject)
                added += 1
            }
            self.startLanes()
        }
        if isFailing || added == 0 {
            try await Task.sleep(for: Self.longPause)
        } else {
            await self.wait(for: .queueEmpty, within: Self.longPause)
        }
    }

    /// Starts as many lanes as may send.
    func startLanes() {
        while self.isGoing, let subject = self.lanes.next() {
            self.tasks[subject] = Task { await self.runLane(subject) }
        }
    }

    private func runLane(_ subject: String) async {
        do {
            if self.lanes.place(of: subject) == .waiting {
                try await self.deliverWaiting(subject)
            } else if try await self.deliverNew(subject) {
                try await self.deliverWaiting(subject)
            }
        } catch is CancellationError {
            // The worker ends.
        } catch is WebhookStore.NotHeld {
            self.stop()
        } catch {
            await self.reportTrouble(error)
        }
        self.tasks[subject] = nil
        self.lanes.remove(subject)
        self.startLanes()
        self.notify()
    }

    /// Delivers new events until one fails. That one and all later ones then wait.
    ///
    /// - Returns: whether they were moved to the waiting list meanwhile, so that the next one should be tried there.
    private func deliverNew(_ subject: String) async throws -> Bool {
        let delay = self.settings.retries.delay(afterFailures: 1) ?? .zero
        while self.isGoing, let event = self.lanes.first(subject) {
            guard !self.health.isFailing else {
                try await self.move(subject, failures: 0, delay: delay).value
                return false
            }
            let result = await self.attempt(event)
            guard self.isGoing else { throw CancellationError() }
            if self.lanes.place(of: subject) != .memory {
                // The delivery took longer than the patience.
                try await self.moving(subject)?.value
                return try await self.settle(event, failures: 0, result)
            }
            guard case .failed = result else {
                self.lanes.removeFirst(subject)
                continue
            }
            try await self.move(subject, failures: 1, delay: delay).value
            return false
        }
        // The events may have been moved before the lane had its turn.
        try await self.moving(subject)?.value
        return false
    }

    /// Delivers the waiting events of a job or rider until one fails, or until this has taken longer than the patience
    /// and others should have their turn.
    private func deliverWaiting(_ subject: String) async throws {
        let end = ContinuousClock.now + self.settings.patience
        repeat {
            guard self.isGoing else { return }
            let parks = self.lanes.parks(subject)
            let waiting: (event: WaitingEvent, attempts: Int)?
            do {
                waiting = try await self.persist(of: subject) { try await self.store.first(subject, of: self.id) }
            } catch is WebhookStore.Malformed {
                _ = try await self.persist(of: nil) {
                    try await self.store.drop(subject, of: self.id, isFirst: true, by: self.holder)
                }
                continue
            }
            guard let (event, failures) = waiting else {
                // Otherwise, an entry of `due` without events would be found again and again.
                _ = try await self.persist(of: nil) { try await self.store.drop(subject, of: self.id, by: self.holder) }
                if self.unblock(subject, since: parks) { return }
                continue
            }
            let result = await self.attempt(event)
            guard self.isGoing, try await self.settle(event, failures: failures, result) else { return }
        } while ContinuousClock.now < end
    }

    /// Records the result of an attempt to deliver the first waiting event.
    ///
    /// - Returns: whether the next one should be tried.
    private func settle(_ event: WaitingEvent, failures: Int, _ result: WebhookSender.Result) async throws -> Bool {
        let (now, parks) = (WallClock.nowMilliseconds, self.lanes.parks(event.subject))
        var (outcome, due, reason) = (WebhookStore.Outcome.delivered, now, "")
        if case .failed(let text) = result {
            reason = text
            if let delay = self.settings.retries.delay(afterFailures: failures + 1) {
                (outcome, due) = (.retry, now + delay.milliseconds)
            } else {
                outcome = .dead
            }
        }
        let (how, next, why) = (outcome, due, reason)
        let left = try await self.persist(of: event.subject) {
            try await self.store.settle(event, for: self.id, how, due: next, reason: why, by: self.holder)
        }
        // The event may have been erased meanwhile.
        if outcome == .dead, left != nil { self.counts.add(.webhooksGivenUp) }
        if left == 0, self.unblock(event.subject, since: parks) { return false }
        return outcome == .delivered
    }

    /// New events of a job or rider need not wait any longer, unless one was appended to its waiting list meanwhile.
    private func unblock(_ subject: String, since parks: Int) -> Bool {
        guard self.lanes.isQuiet(subject, since: parks) else { return false }
        self.blocked.remove(subject)
        return true
    }

    // MARK: attempts

    private func attempt(_ event: WaitingEvent) async -> WebhookSender.Result {
        guard let webhook = self.webhook else { return .failed(reason: "the webhook is unknown") }
        let result = await self.send(event, webhook, WallClock.nowMilliseconds)
        guard self.isGoing else { return result }
        let now = WallClock.nowMilliseconds
        switch result {
        case .delivered:
            self.counts.add(.webhooksDelivered)
            await self.report(self.health.succeeded(at: now))
        case .gone:
            self.counts.add(.webhooksFailed)
            await self.switchOff("the endpoint returned 410 Gone")
        case .failed(let reason):
            self.counts.add(.webhooksFailed)
            await self.failed(reason, at: now)
        }
        return result
    }

    private func failed(_ reason: String, at now: Int64) async {
        let wasFailing = self.health.isFailing
        let report = self.health.failed(at: now, reason: reason)
        if !wasFailing, self.health.isFailing { self.lanes.clearQueue() }
        await self.report(report)
        if self.health.isHopeless(at: now, limit: self.settings.offAfter) {
            await self.switchOff("no delivery has succeeded for \(self.settings.offAfter.components.seconds) s")
        }
    }

    /// Stores how the endpoint responds, and logs a change.
    func report(_ report: EndpointHealth.Report) async {
        switch report {
        case .nothing: break
        case .works(let deliveredAt, let isNews):
            await self.note(.delivered(at: deliveredAt))
            if isNews { self.logger.notice("webhook works again", metadata: [LogKey.webhook: "\(self.id)"]) }
        case .fails(let since, let reason, let isNews):
            let full = self.fullReason.map { "; " + $0 } ?? ""
            await self.note(.failing(since: since, at: self.health.failedAt ?? since, error: reason + full))
            guard isNews else { break }
            self.logger.warning(
                "webhook delivery failed; it is retried",
                metadata: [LogKey.webhook: "\(self.id)", LogKey.reason: "\(reason)"])
        }
    }

    /// Stops the delivery. Waiting events stay, and newer ones stay in the stream.
    private func switchOff(_ reason: String) async {
        guard !self.isOver else { return }
        self.isOver = true
        self.counts.add(.webhooksSwitchedOff)
        self.logger.error(
            "webhook switched off; repair the endpoint, then switch it on with a successful test",
            metadata: [LogKey.webhook: "\(self.id)", LogKey.reason: "\(reason)"])
        await self.note(.off(reason: reason))
        self.stop()
    }

    /// Stores a fact. A failure is ignored, because a later note repeats it.
    func note(_ note: WebhookStore.Note) async {
        try? await self.store.note(note, about: self.id, by: self.holder)
    }
}
