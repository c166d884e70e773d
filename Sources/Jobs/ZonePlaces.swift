// The places of a zone across successive reads, for its map: where its jobs end, where their riders are, and where riders
// without a shared position were last. A value: it has no clock and reads nothing.

package import EnrouteWire

/// Whose place it is.
package enum PlaceKey: Hashable, Sendable {
    case job(JobID)
    case rider(PersonID)
}

/// The places of a zone.
package struct ZonePlaces: Sendable {
    package private(set) var places: [PlaceKey: ZonePlace] = [:]

    /// Maximum number of places; further ones are not shown. A zone lists 20,000 jobs and 5,000 riders.
    package static let maxPlaces = 25_000

    package init() {}

    /// What a read has changed; `nil` for a place that is gone.
    package typealias Changes = [PlaceKey: ZonePlace?]

    /// Applies a read of the whole zone.
    package mutating func replaceJobs(by read: [ZonePlace]) -> Changes {
        let old = self.places.keys.filter { if case .job = $0 { true } else { false } }
        return self.apply(read, insteadOf: Array(old))
    }

    /// Applies a read of some jobs: those that it did not find have no place.
    package mutating func updateJobs(_ jobs: [JobID], by read: [ZonePlace]) -> Changes {
        self.apply(read, insteadOf: jobs.map { .job($0) })
    }

    /// Applies a read of the riders' last places.
    package mutating func replaceRiders(by read: [ZonePlace]) -> Changes {
        let old = self.places.keys.filter { if case .rider = $0 { true } else { false } }
        return self.apply(read, insteadOf: Array(old))
    }

    private mutating func apply(_ read: [ZonePlace], insteadOf old: [PlaceKey]) -> Changes {
        var gone = Set(old)
        var changes: Changes = [:]
        for place in read {
            guard place.isSomewhere, let key = place.key else { continue }
            gone.remove(key)
            guard self.places[key] != place, self.places[key] != nil || self.places.count < Self.maxPlaces else {
                continue
            }
            self.places[key] = place
            changes.updateValue(place, forKey: key)
        }
        for key in gone where self.places.removeValue(forKey: key) != nil { changes.updateValue(nil, forKey: key) }
        return changes
    }
}

extension ZonePlace {
    fileprivate var isSomewhere: Bool { self.destination != nil || self.vendor != nil || self.position != nil }

    /// `nil` if it belongs to nobody.
    package var key: PlaceKey? { self.job.map { .job($0) } ?? self.rider.map { .rider($0) } }
}
