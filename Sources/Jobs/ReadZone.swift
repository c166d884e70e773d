// The state of one zone for the reader of zones, and what it has to read next.

internal import EnrouteWire
internal import NIOCore

/// One zone of a `ZoneJobsFeed`.
struct ReadZone {
    /// What has to be read.
    enum Due: Sendable {
        /// The list of the zone, and these jobs: a gateway lists a job some time after it has written it.
        case whole(and: Set<JobID>)
        /// These jobs, with the number of followers of each: counting them costs a read for every gateway, so their
        /// number is as old as the last read of the whole zone.
        case jobs([JobID: Int], includesSharing: Bool)
    }

    private(set) var rows = ZoneRows()
    private var places = ZonePlaces()
    /// The places that have changed since receivers got them.
    private var moved: ZonePlaces.Changes = [:]
    private(set) var isLoaded = false
    /// Whether somebody watches the places.
    var isMapped = false
    /// The receivers that have been sent everything.
    private(set) var served: Set<Int> = []
    var changed: Set<JobID> = []
    private var wholeAt = NIODeadline.distantPast
    /// The whole zone is not read again before then, even if events were missed or a read failed, to limit the load on
    /// Redis.
    private var restsUntil = NIODeadline.distantPast
    private var sharingAt = NIODeadline.distantPast
    private var ridersAt = NIODeadline.distantPast
    private var placesAt = NIODeadline.distantPast

    var due: Due? {
        let now = NIODeadline.now()
        if now >= max(self.wholeAt, self.restsUntil) { return .whole(and: self.changed.union(self.rows.rows.keys)) }
        var jobs = self.changed
        let includesSharing = now >= self.sharingAt
        if includesSharing { jobs.formUnion(self.rows.sharing) }
        guard !jobs.isEmpty else { return nil }
        let followers = jobs.map { ($0, self.rows.rows[$0]?.followers ?? 0) }
        return .jobs(Dictionary(uniqueKeysWithValues: followers), includesSharing: includesSharing)
    }

    /// Reads the whole zone as soon as `restsUntil` allows it, because the rows may be out of date.
    mutating func readWhole() { self.wholeAt = .distantPast }

    mutating func readFailed(took: TimeAmount) {
        self.restsUntil = .now() + min(took * ZoneJobsFeed.pauseFactor, ZoneJobsFeed.longestRest)
        self.sharingAt = self.restsUntil
        self.readWhole()
    }

    var isRidersDue: Bool { self.isMapped && NIODeadline.now() >= self.ridersAt }

    /// - Returns: the changes for receivers that already have all rows.
    mutating func apply(
        _ read: [ZoneJobsReader.ReadJob], _ due: Due, took: TimeAmount
    ) -> ZoneRows.Changes {
        let (now, pause) = (NIODeadline.now(), took * ZoneJobsFeed.pauseFactor)
        let interval = self.isMapped ? ZoneJobsFeed.placesInterval : ZoneJobsFeed.sharingInterval
        let (rows, places) = (read.map(\.row), read.map(\.place))
        self.changed = []
        switch due {
        case .whole:
            self.isLoaded = true
            (self.wholeAt, self.restsUntil) = (now + max(pause, ZoneJobsFeed.wholeInterval), now + pause)
            self.sharingAt = now + max(pause, interval)
            self.note(self.places.replaceJobs(by: places))
            return self.rows.replace(by: rows)
        case .jobs(let jobs, let includesSharing):
            if includesSharing { self.sharingAt = now + max(pause, interval) }
            self.note(self.places.updateJobs(Array(jobs.keys), by: places))
            return self.rows.update(Array(jobs.keys), by: rows)
        }
    }

    /// - Parameter read: `nil` if the places could not be read.
    mutating func applyRiders(_ read: [ZonePlace]?, took: TimeAmount) {
        self.ridersAt = .now() + max(took * ZoneJobsFeed.pauseFactor, ZoneJobsFeed.placesInterval)
        if let read { self.note(self.places.replaceRiders(by: read)) }
    }

    private mutating func note(_ changes: ZonePlaces.Changes) {
        guard self.isMapped else { return self.moved = [:] }
        self.moved.merge(changes) { $1 }
    }

    /// Sends everything to new receivers. The others receive the places that have changed, at most once a second.
    mutating func serve(_ receivers: [Int: ZoneJobsFeed.Subscription]) {
        guard self.isLoaded else { return }
        let now = NIODeadline.now()
        let sendsPlaces = now >= self.placesAt && !self.moved.isEmpty
        for (number, subscription) in receivers {
            switch (subscription.content, self.served.contains(number)) {
            case (.jobs, false): subscription.receiver(.all(self.rows.rows))
            case (.places, false): subscription.receiver(.allPlaces(self.places.places))
            case (.places, true) where sendsPlaces: subscription.receiver(.places(self.moved))
            case (_, true): break
            }
        }
        if sendsPlaces { (self.moved, self.placesAt) = ([:], now + ZoneJobsFeed.placesInterval) }
        self.served = Set(receivers.keys)
    }
}
