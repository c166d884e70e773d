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

    /// Decides what a result changes: `nil` if the job no longer waits for this address.
    private typealias Decision = @Sendable (JobRecord, Coordinate?, GeocodedAddress) -> Change?

    private func retry(
        _ address: String, _ place: StaticString, of job: JobID, _ change: @escaping Decision
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
                    return try await self.store(answer, of: digest, in: job, geocoder, change)
                } catch {
                    // The ledger is unavailable. The next attempt looks up the address again.
                    return false
                }
            })
    }

    /// How often a result is checked and stored again when others change the job concurrently.
    private static let maxStoreAttempts = 5

    /// Stores the answer to a lookup, unless the job no longer waits for it.
    ///
    /// - Returns: whether the lookup is finished; `false` if others kept changing the job.
    private func store(
        _ answer: Geocoder.Found, of digest: String, in job: JobID, _ geocoder: Geocoder, _ change: Decision
    ) async throws -> Bool {
        for _ in 0..<Self.maxStoreAttempts {
            guard let record = try await self.jobs.ledger.recover(job).get()?.record else { return true }
            let found = await self.near(record.zone, answer)
            guard let change = change(record, found.place, found.address(digest: digest)) else { return true }
            let description = try await self.jobs.ledger.describe(
                job, kind: record.kind, zone: nil, destination: change.destination, geocoded: change.geocoded,
                vendor: change.vendor, revision: record.revision
            ).get()
            guard description.value != .overtaken else { continue }
            self.jobs.updateZoneListing(of: job)
            geocoder.logRetried(job, found)
            return true
        }
        return false
    }
}
