// Serves the map tiles of the pages. The map works without a tile, so an unavailable one is an empty response and not an error.

internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import NIOCore
internal import Realtime
internal import Routing
internal import TrafficControl

extension Routes {
    /// How long browsers may cache a tile, in seconds.
    private static let tileSeconds = 86_400

    func addTiles(to router: Router<GatewayRequestContext>) {
        router.get("assets/tiles/{z}/{x}/{y}", use: self.tile)
    }

    @Sendable private func tile(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let address = self.clientAddress(of: request, context)
        if let address, let wait = self.quotas.tileDelay(of: address, at: NIODeadline.now().uptimeNanoseconds) {
            throw Problem(tooManyRequests: wait)
        }
        guard let tiles = self.tiles, let zoom = try Self.number(context, "z"),
            let column = try Self.number(context, "x"), let row = try Self.number(context, "y"),
            let tile = Tile(zoom: zoom, column: column, row: row)
        else { throw Problem(.notFound, status: 404, detail: "No such map tile.") }
        guard let image = await tiles.image(of: tile) else {
            return Response(status: .noContent, headers: [.cacheControl: "no-store"])
        }
        return Pages.response(image.bytes, image.mediaType, caching: "public, max-age=\(Self.tileSeconds)")
    }

    /// Parses a path parameter that must consist of digits only; `nil` for anything else.
    private static func number(_ context: GatewayRequestContext, _ name: String) throws -> Int? {
        let text = try context.parameters.require(name)
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return Int(text)
    }
}
