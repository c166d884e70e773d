// The part of the client that follows jobs: subscriptions, their consumers, and what they receive.

extension ClientMachine {
    /// A job that is followed, by any number of consumers over one subscription.
    struct Follow {
        var view: FollowedView
        /// Consumers of whole views.
        var viewers: Set<Int> = []
        /// Consumers of status events, each with a cursor of its own.
        var readers: [Int: StatusReader] = [:]
        /// Whether the gateway answered the last `subscribe`.
        var isAnswered = false
        /// The event from which the last `subscribe` resumed.
        var asked: StatusCursor?
        /// The last `subscribe` that was queued or sent since the last `unsubscribe`.
        var request: String?
        /// Readers that need older events than the last `subscribe` requested. They receive nothing until the next
        /// `subscribe`.
        var late: Set<Int> = []
        /// How many times `subscribe` was repeated while it was unknown whether the first one had arrived. If it had,
        /// the gateway refuses the repetitions with `bad_request`.
        var repetitions = 0

        /// Whether the answer to the last `subscribe` contains everything that a reader with this cursor missed.
        func isAsked(after cursor: StatusCursor?) -> Bool {
            guard let cursor, cursor != self.asked else { return true }
            guard let asked, asked.epoch == cursor.epoch else { return false }
            return StatusID(asked.id) < StatusID(cursor.id)
        }

        var consumers: [Int] { (Array(self.viewers) + Array(self.readers.keys)).sorted() }

        /// The oldest of the consumers' cursors, from which a subscription resumes.
        var since: StatusCursor? {
            var since = self.view.view?.cursor
            for case let cursor? in self.readers.values.map(\.cursor) {
                guard let oldest = since else {
                    since = cursor
                    continue
                }
                if cursor.epoch != oldest.epoch || StatusID(cursor.id) < StatusID(oldest.id) { since = cursor }
            }
            return since
        }
    }

    mutating func follow(_ job: JobID, viewer: Int, at moment: Moment) {
        if let refusal { return self.effects.append(.finish(consumer: viewer, refusal)) }
        guard self.follows[job] != nil else {
            self.follows[job] = Follow(view: FollowedView(job: job), viewers: [viewer])
            return self.subscribe(job, at: moment)
        }
        self.follows[job]?.viewers.insert(viewer)
        if let view = self.follows[job]?.view.view { self.effects.append(.view(consumer: viewer, view)) }
    }

    mutating func follow(_ job: JobID, reader: Int, after cursor: StatusCursor?, at moment: Moment) {
        guard cursor?.isValid != false else {
            self.effects.append(.finish(consumer: reader, .invalidCursor))
            return
        }
        if let refusal { return self.effects.append(.finish(consumer: reader, refusal)) }
        var reading = StatusReader(after: cursor)
        guard let follow = self.follows[job] else {
            self.follows[job] = Follow(view: FollowedView(job: job), readers: [reader: reading])
            return self.subscribe(job, at: moment)
        }
        if let view = follow.view.view { self.deliver(reading.read(view), to: reader) }
        self.follows[job]?.readers[reader] = reading
        // Without a connection nothing has been requested yet, and the next `subscribe` includes the reader.
        guard self.connection.isOpen, let cursor else { return }
        if follow.isAnswered ? cursor == follow.view.view?.cursor : follow.isAsked(after: cursor) { return }
        self.follows[job]?.late.insert(reader)
        if follow.isAnswered { self.subscribe(job, at: moment) }
    }

    mutating func unfollow(_ job: JobID, consumer: Int, at moment: Moment) {
        guard self.follows[job] != nil else { return }
        self.follows[job]?.viewers.remove(consumer)
        self.follows[job]?.readers[consumer] = nil
        self.follows[job]?.late.remove(consumer)
        guard self.follows[job]?.consumers.isEmpty == true, let follow = self.follows.removeValue(forKey: job) else {
            return
        }
        // A job keeps its timer if the gateway refused to unsubscribe it.
        if self.leaving[job] != 0 { self.timers[.job(job)] = nil }
        guard let request = follow.request else { return }
        // After a repetition, an earlier `subscribe` may have arrived.
        if follow.repetitions == 0, self.connection.withdraw(request) { return }
        self.leave(job, at: moment)
    }

    /// Subscribes to a job on a new connection.
    mutating func subscribeFirst(_ job: JobID, at moment: Moment) {
        self.follows[job]?.late = []
        self.follows[job]?.request = nil
        self.follows[job]?.repetitions = 0
        self.subscribe(job, at: moment)
    }

    /// Subscribes to a job, from the oldest event that a consumer has. If a reader is late, or if the gateway refused to end
    /// an earlier subscription, that subscription is ended first.
    mutating func subscribe(_ job: JobID, at moment: Moment) {
        guard var follow = self.follows[job] else { return }
        self.timers[.job(job)] = nil
        if !follow.late.isEmpty || self.leaving[job] == 0 {
            self.leave(job, at: moment)
            follow.request = nil
        }
        follow.late = []
        follow.isAnswered = false
        follow.asked = follow.since
        let message = ClientMessage.subscribe(job, since: follow.asked)
        if self.send(message, at: moment) {
            follow.request = message.text()
        } else if self.connection.isOpen {
            self.timers[.job(job)] = moment.now + Self.askAgainAfter
        }
        self.follows[job] = follow
    }

    mutating func update(_ job: JobID, _ message: ServerMessage, at moment: Moment) {
        guard var follow = self.follows[job] else { return }
        let isLeaving = self.leaving[job] != nil
        switch message {
        // The message belongs to an earlier subscription: the answer to the last one is still to come.
        case .subscribed where isLeaving, .reset where isLeaving: break
        case .subscribed(_, let snapshot), .reset(_, let snapshot):
            follow.isAnswered = true
            for reader in follow.readers.keys where !follow.late.contains(reader) {
                self.deliver(follow.readers[reader]?.read(snapshot) ?? [], to: reader)
            }
        // The answer that is still to come contains this status too.
        case .status where isLeaving: break
        case .status(_, let status):
            for reader in follow.readers.keys where !follow.late.contains(reader) {
                self.deliver(follow.readers[reader]?.read(status) ?? [], to: reader)
            }
        default: break
        }
        let change = follow.view.apply(message, at: moment, fastest: self.fastest)
        follow.view.setClock(offset: self.connection.clock.offset)
        self.follows[job] = follow
        if change != nil, let view = follow.view.view {
            for viewer in follow.viewers.sorted() { self.effects.append(.view(consumer: viewer, view)) }
        }
        if follow.view.ended != nil { return self.finish(job, nil) }
        if follow.isAnswered, !follow.late.isEmpty { self.subscribe(job, at: moment) }
    }

    mutating func updateClock() {
        for job in self.follows.keys { self.follows[job]?.view.setClock(offset: self.connection.clock.offset) }
    }

    mutating func refuse(_ job: JobID, _ error: EnrouteError) {
        guard var follow = self.follows[job], follow.view.refuse(error) != nil else { return }
        self.follows[job] = follow
        self.finish(job, error)
    }

    private mutating func finish(_ job: JobID, _ error: EnrouteError?) {
        guard let follow = self.follows.removeValue(forKey: job) else { return }
        self.timers[.job(job)] = nil
        self.effects += follow.consumers.map { .finish(consumer: $0, error) }
    }

    private mutating func deliver(_ events: [StatusEvent], to reader: Int) {
        self.effects += events.map { .status(consumer: reader, $0) }
    }

    // MARK: all consumers

    mutating func resubscribeUnanswered(at moment: Moment) {
        for job in self.leaving.keys {
            self.leaving[job] = 0
            if self.follows[job] == nil { self.leave(job, at: moment) }
        }
        for (job, follow) in self.follows where !follow.isAnswered {
            self.follows[job]?.repetitions += 1
            self.subscribe(job, at: moment)
        }
        for (zone, watch) in self.watches where !watch.isAnswered {
            self.watches[zone]?.repetitions += 1
            self.watch(zone, at: moment)
        }
    }

    /// Whether a `bad_request` answers a `subscribe` or `watch` that was repeated although the first one had arrived. The first
    /// one is still valid.
    mutating func isAnswerToRepetition(_ refusal: WireError) -> Bool {
        guard refusal.code == EnrouteError.Code.badRequest.rawValue else { return false }
        if refusal.replyTo == "subscribe", let job = refusal.job, let follow = self.follows[job] {
            self.follows[job]?.repetitions = max(0, follow.repetitions - 1)
            return follow.isAnswered || follow.repetitions > 0
        }
        if refusal.replyTo == "watch", let zone = refusal.zone, let watch = self.watches[zone] {
            self.watches[zone]?.repetitions = max(0, watch.repetitions - 1)
            return watch.isAnswered || watch.repetitions > 0
        }
        return false
    }

    /// Why nothing will arrive until `start()` is called; `nil` for an expired token, because it can be renewed.
    var refusal: EnrouteError? {
        guard case .refused(let reason) = self.connection.connection, reason.code != Reconnecting.tokenExpired else {
            return nil
        }
        return EnrouteError(Reconnecting.errorCode(for: reason.code), reason.reason)
    }

    /// Refuses all jobs and zones: a session that may not reconnect must not show what it received.
    mutating func refuseAll(_ error: EnrouteError) {
        for job in self.follows.keys { self.refuse(job, error) }
        for zone in self.watches.keys { self.refuse(zone: zone, error) }
    }

    /// Finishes every consumer, because the client was stopped.
    mutating func finishAll() {
        for job in self.follows.keys { self.finish(job, nil) }
        for watch in self.watches.values { self.effects += watch.consumers.map { .finish(consumer: $0, nil) } }
        self.watches = [:]
    }
}
