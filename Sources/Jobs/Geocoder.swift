// From an address to a place when a job is written, once for each address: what is found is kept with the job. Nobody waits
// longer than for any service, and a job is written whatever comes of it.

internal import Crypto
package import EnrouteWire
internal import FoundationEssentials
internal import HTTPValues
package import LiveState
package import Logging
internal import NIOCore
package import Routing
internal import Telemetry

/// Asks for places. Safe from any thread.
package struct Geocoder: Sendable {
    package let service: MapboxGeocoding
    package let client: ProviderClient
    /// Questions of all gateways in a day of UTC; `nil` for no bound.
    package let dailyBudget: Int?
    package let arrivals: JobArrivals
    package let logger: Logger

    package init(
        service: MapboxGeocoding, client: ProviderClient, dailyBudget: Int?, arrivals: JobArrivals, logger: Logger
    ) {
        self.service = service
        self.client = client
        self.dailyBudget = dailyBudget
        self.arrivals = arrivals
        self.logger = logger
    }

    /// Its name where questions are counted.
    private static let name = "mapbox_geocoding"
    /// Bytes of an address' digest: two addresses of a job are as good as never the same.
    private static let digestBytes = 8

    package static func digest(of address: String) -> String {
        SHA256.hash(data: Data(address.utf8)).prefix(Self.digestBytes)
            .map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }

    /// - Returns: a place that a rider may be sent to, and what to say of it.
    package func find(_ address: String) async -> (place: Coordinate?, state: GeocodingState) {
        guard let request = self.service.request(address: address), await self.mayAsk() else { return (nil, .nothing) }
        do throws(ProviderFailure) {
            let found = try self.service.answer(try await self.client.ask(request))
            return found.isResolved ? (found.place, .ok) : (nil, .low)
        } catch {
            if error != .noPlace {
                self.logger.log(
                    level: error.needsSomebody ? .error : .warning, "an address was not looked up",
                    metadata: [LogKey.provider: "\(Self.name)", LogKey.reason: "\(error)"])
            }
            return (nil, .nothing)
        }
    }

    private func mayAsk() async -> Bool {
        guard let budget = self.dailyBudget else { return true }
        let asked = try? await self.arrivals.count(Self.name, day: DailyBudget.day(of: .now)).get()
        // Every number comes once, at one gateway.
        if asked == Int64(budget) + 1 {
            self.logger.warning(
                "the day's budget is spent: addresses are not looked up until tomorrow (UTC)",
                metadata: [LogKey.provider: "\(Self.name)", LogKey.count: "\(budget)"])
        }
        return asked.map { $0 <= budget } ?? false
    }
}
