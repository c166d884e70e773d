// The settings of the pages: where their files are, what they show, and in which languages.

package import EnrouteWire
package import TrafficControl

/// The settings of the pages.
package struct PageSettings: Sendable {
    /// The folder with Leaflet's files, by default that of Debian's package libjs-leaflet.
    package var leafletFolder = "/usr/share/javascript/leaflet"
    /// A folder with files that replace the built-in ones; `nil` for none.
    package var pagesFolder: String?
    /// Name, logo, colours and support link of the operator.
    package var brand = PageBrand()
    /// The name of installed pages if the operator sets none.
    package static let defaultName = "Enroute"
    /// The URL at which people sign in, which the pages link to; `nil` if they can only sign in with a code.
    package var signInURL: String?
    /// The origins from which pages may load the photos of riders, `https://host[:port]`; none by default.
    package var photoOrigins: [String] = []
    /// The provider of map tiles; `nil` for a map without tiles.
    package var tiles: TileSettings?
    /// The texts of the statuses, by language.
    package var languages = StatusLanguages()
    /// Streets to draw if there are no tiles, as a GeoJSON FeatureCollection.
    package var streets: [UInt8]?

    /// The origins of pages that may show the tracking page in a frame; none by default.
    package var frameAncestors = AllowedOrigins.own

    package init() {}
}
