// Geocodes an address when a job is written, once for each address; the result is stored with the job. The request has the same
// timeout as any provider request, and the job is written whatever the result.

internal import Crypto
package import EnrouteWire
internal import FoundationEssentials
internal import HTTPValues
package import LiveState
package import Logging
internal import NIOCore
package import Routing
internal import Telemetry

/// Requests places from the geocoding provider. Safe to use from any thread.
package struct Geocoder: Sendable {
    package let service: MapboxGeocoding
    package let client: ProviderClient
    /// Maximum number of requests by all gateways per UTC day; `nil` for no limit.
    package let dailyBudget: Int?
    package let store: ETAStore
    /// The lookups that the provider did not answer.
    package let retries: GeocodingRetries
    package let logger: Logger

    package init(
        service: MapboxGeocoding, client: ProviderClient, dailyBudget: Int?, store: ETAStore,
        retries: GeocodingRetries, logger: Logger
    ) {
        self.service = service
        self.client = client
        self.dailyBudget = dailyBudget
        self.store = store
        self.retries = retries
        self.logger = logger
    }

    /// The provider's name in the daily count.
    private static let name = "mapbox_geocoding"
    /// Size of an address's digest in bytes: long enough that two addresses of a job never have the same digest in practice.
    private static let digestBytes = 8

    package static func digest(of address: String) -> String {
        SHA256.hash(data: Data(address.utf8)).prefix(Self.digestBytes).hexadecimal
    }

    /// The result of a lookup.
    package struct Found: Hashable, Sendable {
        /// A place to which a rider may be sent.
        package let place: Coordinate?
        let state: GeocodingState
        /// Whether the provider failed, today's budget is exhausted, or there is no provider.
        package let isUnanswered: Bool

        /// No place was found.
        package static var nothing: Found { Found(place: nil, state: .nothing, isUnanswered: false) }
        package static var unanswered: Found { Found(place: nil, state: .nothing, isUnanswered: true) }

        /// The form that is stored with the job.
        package func address(digest: String) -> GeocodedAddress {
            self.isUnanswered
                ? GeocodedAddress(unanswered: digest) : GeocodedAddress(state: self.state, digest: digest)
        }
    }

    package func find(_ address: String) async -> Found {
        guard let request = self.service.request(address: address) else {
            return .nothing
        }
        guard await self.mayAsk() else { return .unanswered }
        do throws(ProviderFailure) {
            let found = try self.service.answer(try await self.client.ask(request))
            return Found(
                place: found.isResolved ? found.place : nil, state: found.isResolved ? .ok : .low, isUnanswered: false)
        } catch {
            guard error.isFault else { return .nothing }
            self.logger.log(
                level: error.needsOperator ? .error : .warning, "geocoding failed",
                metadata: [LogKey.provider: "\(Self.name)", LogKey.reason: "\(error)"])
            return .unanswered
        }
    }

    package func logRetried(_ job: JobID, _ found: Found) {
        self.logger.info(
            "geocoding completed after an outage",
            metadata: [
                LogKey.provider: "\(Self.name)", LogKey.job: "\(job)", LogKey.status: "\(found.state.rawValue)",
            ])
    }

    private func mayAsk() async -> Bool {
        guard let budget = self.dailyBudget else { return true }
        let asked = try? await self.store.count(Self.name, day: DailyBudget.day(of: WallClock.nowMilliseconds)).get()
        // The count reaches each number once, so only one gateway logs this.
        if asked == Int64(budget) + 1 {
            self.logger.warning(
                "daily geocoding budget exhausted; skipping requests until midnight UTC",
                metadata: [LogKey.provider: "\(Self.name)", LogKey.count: "\(budget)"])
        }
        return asked.map { $0 <= budget } ?? false
    }
}
