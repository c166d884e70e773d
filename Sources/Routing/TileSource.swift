// Map tiles from a tile provider with a URL template that contains {z}, {x} and {y}. The type of an image is determined
// by its first bytes, not by its media type.

internal import OutboundHTTP

/// A tile of the map at a zoom level (openstreetmap.org/wiki/Slippy_map_tilenames).
package struct Tile: Hashable, Sendable {
    package let zoom: Int
    package let column: Int
    package let row: Int

    /// Higher zoom levels would show only single houses.
    package static let deepestZoom = 20

    /// - Returns: `nil` if there is no such tile.
    package init?(zoom: Int, column: Int, row: Int) {
        guard (0...Self.deepestZoom).contains(zoom) else { return nil }
        let squares = 0..<(1 << zoom)
        guard squares.contains(column), squares.contains(row) else { return nil }
        (self.zoom, self.column, self.row) = (zoom, column, row)
    }
}

package struct TileImage: Hashable, Sendable {
    package let bytes: [UInt8]
    package let mediaType: String

    /// - Returns: `nil` unless the bytes are PNG, JPEG or WebP.
    package init?(_ bytes: [UInt8]) {
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self.mediaType = "image/png"
        } else if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
            self.mediaType = "image/jpeg"
        } else if bytes.starts(with: "RIFF".utf8), bytes.dropFirst(8).starts(with: "WEBP".utf8) {
            self.mediaType = "image/webp"
        } else {
            return nil
        }
        self.bytes = bytes
    }
}

/// A tile provider. Its URL may contain a key, so its description is redacted.
package struct TileSource: Sendable, CustomStringConvertible, CustomReflectable {
    /// Maximum length of a tile in bytes.
    package static let largestTile = 524_288
    private static let placeholders = ["{z}", "{x}", "{y}"]

    private let template: String

    /// - Parameter template: `https://…/{z}/{x}/{y}…`; `http` only for this machine.
    package init(template: String) throws(InvalidProviderSetting) {
        let isSecure = template.hasPrefix("https://")
        let rest = template.dropFirst(isSecure ? 8 : 7)
        let host = rest.prefix { $0 != "/" }
        let plain = Self.placeholders.reduce(template) { $0.replacing($1, with: "0") }
        let isHere = LoopbackHost.isHost(of: host)
        guard isSecure || template.hasPrefix("http://") && isHere, !host.isEmpty, URLText.hasUsablePort(host),
            !host.contains(where: { "@?#{".contains($0) }),
            Self.placeholders.allSatisfy({ template.ranges(of: $0).count == 1 }),
            !plain.contains(where: { "{}#".contains($0) }), plain.utf8.allSatisfy({ (33...126).contains($0) })
        else {
            throw InvalidProviderSetting(
                description:
                    "Invalid tile URL. Use a URL like https://tiles.example/{z}/{x}/{y}.png that contains each of the "
                    + "three placeholders once, after the host. http is allowed only for this machine.")
        }
        self.template = template
    }

    package var description: String { "<a tile provider>" }
    package var customMirror: Mirror { Mirror(self, children: []) }

    package func request(_ tile: Tile) -> ProviderRequest {
        let url = zip(Self.placeholders, [tile.zoom, tile.column, tile.row]).reduce(self.template) { url, part in
            url.replacing(part.0, with: String(part.1))
        }
        return ProviderRequest(url: url, headers: ["accept": "image/png, image/webp, image/jpeg"])
    }

    /// - Throws: `noPlace` if the provider has no such tile.
    package func image(_ response: ProviderResponse) throws(ProviderFailure) -> TileImage {
        try response.checkStatus(parsing: [204, 404])
        guard response.status == 200, !response.body.isEmpty else { throw .noPlace }
        guard response.body.count <= Self.largestTile else { throw .tooLong }
        guard let image = TileImage(response.body) else { throw .malformed("it is not PNG, JPEG or WebP") }
        return image
    }
}
