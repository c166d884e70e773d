// What a watcher of a zone's places still has to receive: the rest of the list, or the places that have changed since.
// A place waits at most once, and its state at the time of sending is sent.

internal import EnrouteWire
internal import Jobs

/// What one watcher has received of a zone's places, and what it needs next.
struct ZonePlacesBacklog {
    private var isStarted = false
    /// The waiting places, in the order of their first change. Those of the list come first.
    private var waiting: [PlaceKey] = []
    private var isWaiting: Set<PlaceKey> = []
    /// How many of the waiting places belong to the list.
    private var listed = 0

    /// Places in one message: about 100 KB.
    static let pageSize = 1_000

    /// Notes that places have changed. At most `ZonePlaces.maxPlaces` wait, plus those that have disappeared in the meantime.
    mutating func note(_ changes: ZonePlaces.Changes) {
        // The list will contain their state at that time.
        guard self.isStarted else { return }
        for key in changes.keys where self.isWaiting.insert(key).inserted { self.waiting.append(key) }
    }

    /// The next message; `nil` if the watcher has received everything.
    mutating func next(of zone: ZoneID, _ places: [PlaceKey: ZonePlace]) -> ZonePlacesView? {
        var view = ZonePlacesView(zone: zone)
        if !self.isStarted {
            (self.isStarted, view.isReset) = (true, true)
            (self.waiting, self.isWaiting, self.listed) = (Array(places.keys), Set(places.keys), places.count)
        }
        guard view.isReset || !self.waiting.isEmpty else { return nil }
        let page = self.waiting.prefix(Self.pageSize)
        self.waiting.removeFirst(page.count)
        self.isWaiting.subtract(page)
        self.listed = max(0, self.listed - page.count)
        view.hasMore = self.listed > 0
        for key in page {
            switch (places[key], key) {
            case (let place?, _): view.places.append(place)
            case (nil, .job(let job)): view.goneJobs.append(job)
            case (nil, .rider(let rider)): view.goneRiders.append(rider)
            }
        }
        return view
    }
}
