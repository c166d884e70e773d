// Refuses places of jobs that are far from their zone.

internal import EnrouteWire
internal import HTTPValues
internal import Jobs
internal import LiveState
internal import NIOCore
internal import Realtime
internal import Redis

extension Routes {
    /// The area of the zone; `nil` without a zone, without a bound, and if too little is known about the zone.
    private func extent(of zone: ZoneID?) async throws -> ZoneExtent? {
        guard let zone, self.settings.limits.zoneKilometers > 0 else { return nil }
        return try await self.result(
            of: self.shared.zoneExtents.extent(
                of: zone, jobs: self.jobs.ledger.listing, riders: self.riders.places))
    }

    /// Checks the places that a job will have. A place that the job already has is accepted in the job's zone, so that
    /// the order system can send its current data as often as it likes, but not in another zone.
    ///
    /// - Parameters:
    ///   - zone: `nil` for the job's zone.
    ///   - record: `nil` for a job that does not exist.
    /// - Throws: 422 if one of them is too far from the zone.
    func checkZone(
        _ zone: ZoneID?, of record: JobRecord?, vendor: Coordinate?, destination: Coordinate?
    ) async throws {
        guard let zone = zone ?? record?.zone else { return }
        let isMoved = zone != record?.zone
        var places: [(subject: String, place: Coordinate)] = []
        if let destination, isMoved || destination.json != record?.destination?.json {
            places.append(("destination", destination))
        }
        if let vendor, isMoved || vendor.json != record?.vendor?.place?.json { places.append(("vendor", vendor)) }
        guard !places.isEmpty, let extent = try await self.extent(of: zone) else { return }
        for (subject, place) in places {
            let fault = extent.fault(of: place, subject, in: zone, bound: self.settings.limits.zoneKilometers)
            if let fault { throw Self.unprocessable(fault) }
        }
    }

    /// Whether a geocoded place is too far from the zone: other cities may have streets with the same name. While Redis
    /// is unavailable, no place is.
    func isDistant(_ place: Coordinate, from zone: ZoneID?) async -> Bool {
        guard let zone, let extent = try? await self.extent(of: zone) else { return false }
        return extent.fault(of: place, "", in: zone, bound: self.settings.limits.zoneKilometers) != nil
    }
}
