// Lists the riders in the pool of a zone, for services that assign tasks. The list may be outdated a moment later; only the
// assignment itself checks whether a rider is available (JobAssignment.swift).

internal import Access
internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import LiveState
internal import NIOCore
internal import Redis

extension Routes {
    func addZones(to api: RouterGroup<GatewayRequestContext>) {
        api.get("zones/{zone}/riders/available", use: self.readPool)
    }

    /// The default radius in meters.
    private static let defaultRadius = 3_000.0
    private static let radii = 1.0...100_000.0

    private struct PoolDocument: Encodable {
        struct Member: Encodable {
            var rider: String
            /// The great-circle distance in meters, if the query contains `near`.
            var distance: Double?
            /// Milliseconds since the Unix epoch, if the query does not contain `near`.
            var heartbeat: Int64?
        }

        var zone: String
        var riders: [Member]
        /// The number of riders in the whole pool.
        var count: Int?
        var version: String?
    }

    @Sendable private func readPool(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        _ = try self.grant(request, context, .readRiders)
        let zone: ZoneID = try Self.identifier(context.parameters.require("zone"), "zone")
        let query = request.uri.queryParameters
        let limits = ZonePool.candidates
        guard let limit = query["limit"].map({ Int($0) }) ?? limits.upperBound, limits.contains(limit) else {
            throw Self.badRequest("limit must be \(limits.lowerBound) to \(limits.upperBound).")
        }
        guard let radius = query["radius"].map({ Double($0) }) ?? Self.defaultRadius, Self.radii.contains(radius) else {
            throw Self.badRequest("radius must be 1 to 100000 meters.")
        }
        guard let near = query["near"] else {
            let reading = try await self.result(of: self.pool.read(zone, limit: limit))
            let members = reading.members.map {
                PoolDocument.Member(rider: $0.rider.text, distance: nil, heartbeat: $0.heartbeat)
            }
            return try Self.json(
                PoolDocument(
                    zone: zone.text, riders: members, count: reading.count, version: String(reading.version)))
        }
        let parts = near.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
        guard parts.count == 2, let latitude = parts[0], let longitude = parts[1],
            let place = Coordinate(latitude: latitude, longitude: longitude)
        else { throw Self.badRequest("near must be lat,lon: -90 to 90 and -180 to 180 degrees, and not both 0.") }
        let nearest = try await self.result(of: self.pool.nearest(to: place, in: zone, within: radius, limit: limit))
        let members = nearest.map {
            PoolDocument.Member(rider: $0.rider.text, distance: ($0.meters * 10).rounded() / 10, heartbeat: nil)
        }
        return try Self.json(
            PoolDocument(zone: zone.text, riders: members, count: nil, version: nil))
    }
}
