// Looks up the addresses of a job when it is written, and again later if the provider does not respond.

internal import EnrouteWire
internal import Jobs
internal import LiveState
internal import NIOCore
internal import Redis

extension Routes {
    /// Geocodes an address. A place far from the zone counts as not found.
    func place(of address: String, in zone: ZoneID?) async -> (place: Coordinate?, geocoded: GeocodedAddress) {
        let found = await self.near(zone, await self.geocoder?.find(address) ?? .unanswered)
        return (found.place, found.address(digest: Geocoder.digest(of: address)))
    }

    private func near(_ zone: ZoneID?, _ found: Geocoder.Found) async -> Geocoder.Found {
        guard let place = found.place, await self.isDistant(place, from: zone) else { return found }
        return .nothing
    }

    /// Looks up the addresses of a written job again, in the background, if the provider did not respond.
    ///
    /// - Parameters:
    ///   - destination: the address of the destination and its result.
    ///   - vendor: the vendor as it was written.
    func retryLookups(of job: JobID, destination: (address: String?, GeocodedAddress?), vendor: PickupPlace?) {
        if let address = destination.address, destination.1?.isUnanswered == true {
            self.retry(address, "destination", of: job) { record, found, geocoded in
                guard record.geocoded == GeocodedAddress(unanswered: geocoded.digest) else { return nil }
                return (found, geocoded, nil)
            }
        }
        if let address = vendor?.addressToFind, vendor?.geocoded?.isUnanswered == true {
            self.retry(address, "vendor", of: job) { record, found, geocoded in
                guard var stored = record.vendor, stored.geocoded == GeocodedAddress(unanswered: geocoded.digest) else {
                    return nil
                }
                stored.found(found, geocoded)
                return (nil, nil, stored)
            }
        }
    }

    /// What a result changes in the record: the destination, or the vendor.
    private typealias Change = (destination: Coordinate?, geocoded: GeocodedAddress?, vendor: PickupPlace?)

    /// - Parameter change: returns `nil` if the job no longer waits for this address.
    private func retry(
        _ address: String, _ place: StaticString, of job: JobID,
        _ change: @escaping @Sendable (JobRecord, Coordinate?, GeocodedAddress) -> Change?
    ) {
        guard let geocoder = self.geocoder else { return }
        let jobs = self.jobs
        let digest = Geocoder.digest(of: address)
        geocoder.retries.add(
            .init(name: "\(job) \(place) \(digest)") {
                do {
                    // An address that was erased or replaced must not reach the provider.
                    let waiting = try await jobs.ledger.recover(job).get()?.record
                    guard let waiting, change(waiting, nil, GeocodedAddress(unanswered: digest)) != nil else {
                        return true
                    }
                    let answer = await geocoder.find(address)
                    guard !answer.isUnanswered else { return false }
                    guard let record = try await jobs.ledger.recover(job).get()?.record else { return true }
                    let found = await self.near(record.zone, answer)
                    guard let change = change(record, found.place, found.address(digest: digest))
                    else { return true }
                    _ = try await jobs.ledger.describe(
                        job, kind: record.kind, zone: nil, destination: change.destination, geocoded: change.geocoded,
                        vendor: change.vendor
                    ).get()
                    jobs.updateZoneListing(of: job)
                    geocoder.logRetried(job, found)
                    return true
                } catch {
                    // The ledger is unavailable. The next attempt looks up the address again.
                    return false
                }
            })
    }
}
