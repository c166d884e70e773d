// The part of the client that follows jobs and watches zones: subscriptions, their consumers, and what they receive.

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
        /// How many answers of this connection are still to come for a `subscribe` that a later one replaced. Until the answer
        /// to the last one, readers read nothing: it contains all that they need.
        var replacedAnswers = 0
        var isReplaced = false

        var consumers: [Int] { (Array(self.viewers) + Array(self.readers.keys)).sorted() }

        /// The oldest event that a consumer has, from which a subscription resumes.
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

    /// A zone that is watched, by any number of consumers.
    struct Watch {
        var pool: WatchedPool
        var consumers: Set<Int> = []
        var isAnswered = false
    }

    // MARK: jobs

    mutating func follow(_ job: JobID, viewer: Int, at moment: Moment) {
        guard self.follows[job] != nil else {
            self.follows[job] = Follow(view: FollowedView(job: job), viewers: [viewer])
            return self.subscribe(job, at: moment)
        }
        self.follows[job]?.viewers.insert(viewer)
        if let view = self.follows[job]?.view.view { self.effects.append(.view(consumer: viewer, view)) }
    }

    mutating func follow(_ job: JobID, reader: Int, after cursor: StatusCursor?, at moment: Moment) {
        var reading = StatusReader(after: cursor)
        guard let follow = self.follows[job] else {
            self.follows[job] = Follow(view: FollowedView(job: job), readers: [reader: reading])
            return self.subscribe(job, at: moment)
        }
        if let view = follow.view.view { self.deliver(reading.read(view), to: reader) }
        self.follows[job]?.readers[reader] = reading
        // The reader wants older events than the subscription delivers: subscribe again from there. Without a connection, the
        // next one subscribes for all readers.
        guard self.connection.isOpen, let cursor, cursor != follow.view.view?.cursor else { return }
        if !follow.isAnswered, self.timers[.job(job)] == nil {
            self.follows[job]?.replacedAnswers += 1
            self.follows[job]?.isReplaced = true
        }
        self.send(.unsubscribe(job), at: moment)
        self.subscribe(job, at: moment)
    }

    mutating func unfollow(_ job: JobID, consumer: Int, at moment: Moment) {
        guard self.follows[job] != nil else { return }
        self.follows[job]?.viewers.remove(consumer)
        self.follows[job]?.readers[consumer] = nil
        guard self.follows[job]?.consumers.isEmpty == true else { return }
        self.follows[job] = nil
        self.timers[.job(job)] = nil
        self.send(.unsubscribe(job), at: moment)
    }

    mutating func subscribe(_ job: JobID, at moment: Moment) {
        guard let follow = self.follows[job] else { return }
        self.follows[job]?.isAnswered = false
        self.send(.subscribe(job, since: follow.since), at: moment)
    }

    mutating func update(_ job: JobID, _ message: ServerMessage, at moment: Moment) {
        guard var follow = self.follows[job] else { return }
        switch message {
        case .subscribed(_, let snapshot), .reset(_, let snapshot):
            if follow.replacedAnswers > 0 {
                follow.replacedAnswers -= 1
                break
            }
            (follow.isAnswered, follow.isReplaced) = (true, false)
            for reader in follow.readers.keys { self.deliver(follow.readers[reader]?.read(snapshot) ?? [], to: reader) }
        case .status(_, let status) where !follow.isReplaced:
            for reader in follow.readers.keys { self.deliver(follow.readers[reader]?.read(status) ?? [], to: reader) }
        default: break
        }
        let change = follow.view.apply(message, at: moment, fastest: self.fastest)
        follow.view.setClock(offset: self.connection.clock.offset)
        self.follows[job] = follow
        if change != nil, let view = follow.view.view {
            for viewer in follow.viewers.sorted() { self.effects.append(.view(consumer: viewer, view)) }
        }
        if follow.view.ended != nil { self.finish(job, nil) }
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

    // MARK: zones

    mutating func watch(_ zone: String, consumer: Int, at moment: Moment) {
        guard let watch = self.watches[zone] else {
            self.watches[zone] = Watch(pool: WatchedPool(zone: zone), consumers: [consumer])
            return self.watch(zone, at: moment)
        }
        self.watches[zone]?.consumers.insert(consumer)
        if watch.pool.isKnown { self.effects.append(.pool(consumer: consumer, watch.pool.pool)) }
    }

    mutating func unwatch(_ zone: String, consumer: Int, at moment: Moment) {
        guard self.watches[zone] != nil else { return }
        self.watches[zone]?.consumers.remove(consumer)
        guard self.watches[zone]?.consumers.isEmpty == true else { return }
        self.watches[zone] = nil
        self.timers[.zone(zone)] = nil
        self.send(.unwatch(zone: zone), at: moment)
    }

    mutating func watch(_ zone: String, at moment: Moment) {
        guard let watch = self.watches[zone] else { return }
        self.watches[zone]?.isAnswered = false
        self.send(.watch(zone: zone, since: watch.pool.pool.version), at: moment)
    }

    mutating func update(_ zone: String, _ change: (inout WatchedPool) -> Bool) {
        guard var watch = self.watches[zone] else { return }
        watch.isAnswered = true
        let isNew = change(&watch.pool)
        self.watches[zone] = watch
        guard isNew else { return }
        for consumer in watch.consumers.sorted() {
            self.effects.append(.pool(consumer: consumer, watch.pool.pool))
        }
    }

    mutating func refuse(zone: String, _ error: EnrouteError) {
        guard let watch = self.watches.removeValue(forKey: zone) else { return }
        self.effects += watch.consumers.sorted().map { .finish(consumer: $0, error) }
    }

    // MARK: all of them

    mutating func resubscribeUnanswered(at moment: Moment) {
        for (job, follow) in self.follows where !follow.isAnswered { self.subscribe(job, at: moment) }
        for (zone, watch) in self.watches where !watch.isAnswered { self.watch(zone, at: moment) }
    }

    /// A session that may not reconnect must not show what it saw.
    mutating func refuseAll(_ reason: CloseReason) {
        let error = EnrouteError(Reconnecting.errorCode(for: reason.code), reason.reason)
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
