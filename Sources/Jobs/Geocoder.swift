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
    package let logger: Logger

    package init(
        service: MapboxGeocoding, client: ProviderClient, dailyBudget: Int?, store: ETAStore, logger: Logger
    ) {
        self.service = service
        self.client = client
        self.dailyBudget = dailyBudget
        self.store = store
        self.logger = logger
    }

    /// The provider's name in the daily count.
    private static let name = "mapbox_geocoding"
    /// Size of an address's digest in bytes: long enough that two addresses of a job never have the same digest in practice.
    private static let digestBytes = 8

    package static func digest(of address: String) -> String {
        SHA256.hash(data: Data(address.utf8)).prefix(Self.digestBytes)
            .map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }

    /// - Returns: a place to which a rider may be sent, and the state to store with it.
    package func find(_ address: String) async -> (place: Coordinate?, state: GeocodingState) {
        guard let request = self.service.request(address: address), await self.mayAsk() else { return (nil, .nothing) }
        do throws(ProviderFailure) {
            let found = try self.service.answer(try await self.client.ask(request))
            return found.isResolved ? (found.place, .ok) : (nil, .low)
        } catch {
            if error != .noPlace {
                self.logger.log(
                    level: error.needsOperator ? .error : .warning, "geocoding failed",
                    metadata: [LogKey.provider: "\(Self.name)", LogKey.reason: "\(error)"])
            }
            return (nil, .nothing)
        }
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
