// The part of the client that ends subscriptions. A gateway that receives too many messages may refuse an `unsubscribe` or
// `unwatch`. Then the earlier subscription continues, and a new one to the same job or zone is refused.

extension ClientMachine {
    mutating func leave(_ job: JobID, at moment: Moment) {
        self.timers[.job(job)] = nil
        if self.send(.unsubscribe(job), endsSubscription: true, at: moment) { self.leaving[job, default: 0] += 1 }
    }

    /// Handles the answer to an `unsubscribe`. After the last answer, messages belong to the newest subscription.
    mutating func left(_ job: JobID) {
        guard let unanswered = self.leaving[job] else { return }
        self.leaving[job] = unanswered > 1 ? unanswered - 1 : nil
    }

    mutating func sendUnwatch(_ zone: String, at moment: Moment) {
        self.timers[.zone(zone)] = nil
        self.refusedUnwatches.remove(zone)
        self.send(.unwatch(zone: zone), endsSubscription: true, at: moment)
    }

    /// Repeats a message that the gateway refused temporarily.
    mutating func askAgain(_ job: JobID, at moment: Moment) {
        if self.follows[job] != nil {
            self.subscribe(job, at: moment)
        } else if self.leaving[job] != nil {
            self.leave(job, at: moment)
        }
    }

    mutating func askAgain(zone: String, at moment: Moment) {
        if self.watches[zone] != nil {
            self.watch(zone, at: moment)
        } else if self.refusedUnwatches.contains(zone) {
            self.sendUnwatch(zone, at: moment)
        }
    }

    /// Whether the refused message will be repeated together with the end of an earlier subscription, or belongs to that
    /// subscription.
    mutating func isAskedAgain(_ refusal: WireError, at due: Double) -> Bool {
        switch refusal.replyTo {
        case "unsubscribe":
            guard let job = refusal.job else { return false }
            if refusal.retry == false { self.left(job) } else { self.unsubscribeRefused(job, tryAgainAt: due) }
            return true
        case "unwatch":
            guard let zone = refusal.zone, refusal.retry != false else { return false }
            self.refusedUnwatches.insert(zone)
            self.timers[.zone(zone)] = due
            return true
        case "subscribe": return refusal.job.map { self.leaving[$0] != nil } ?? false
        case "watch": return refusal.zone.map { self.refusedUnwatches.contains($0) } ?? false
        default: return false
        }
    }

    private mutating func unsubscribeRefused(_ job: JobID, tryAgainAt due: Double) {
        guard let unanswered = self.leaving[job] else { return }
        self.leaving[job] = max(0, unanswered - 1)
        // The answer to a later `unsubscribe` decides.
        if unanswered <= 1 { self.timers[.job(job)] = due }
    }
}
