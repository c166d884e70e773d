// The part of the client that watches zones: subscriptions, their consumers, and what they receive.

extension ClientMachine {
    /// A zone that is watched, by any number of consumers.
    struct Watch {
        var pool: WatchedPool
        var consumers: Set<Int> = []
        var isAnswered = false
        /// See `Follow.request`.
        var request: String?
        /// See `Follow.repetitions`.
        var repetitions = 0
    }

    mutating func watch(_ zone: String, consumer: Int, at moment: Moment) {
        guard JobID.isValid(zone) else {
            self.effects.append(.finish(consumer: consumer, .invalidZone(zone)))
            return
        }
        if let refusal { return self.effects.append(.finish(consumer: consumer, refusal)) }
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
        guard self.watches[zone]?.consumers.isEmpty == true, let watch = self.watches.removeValue(forKey: zone) else {
            return
        }
        if !self.refusedUnwatches.contains(zone) { self.timers[.zone(zone)] = nil }
        guard let request = watch.request else { return }
        if watch.repetitions == 0, self.connection.withdraw(request) { return }
        self.sendUnwatch(zone, at: moment)
    }

    mutating func watch(_ zone: String, at moment: Moment) {
        guard let watch = self.watches[zone] else { return }
        if self.refusedUnwatches.contains(zone) { self.sendUnwatch(zone, at: moment) }
        self.timers[.zone(zone)] = nil
        self.watches[zone]?.isAnswered = false
        let message = ClientMessage.watch(zone: zone, since: watch.pool.pool.version)
        if self.send(message, at: moment) {
            self.watches[zone]?.request = message.text()
        } else if self.connection.isOpen {
            self.timers[.zone(zone)] = moment.now + Self.askAgainAfter
        }
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
}
