// What the pages are told when a gateway starts: where their files are, what they show, and in which languages.

package import EnrouteWire

/// What a deployment says of its pages.
package struct PageSettings: Sendable {
    /// Folder of Leaflet's files, from Debian's libjs-leaflet.
    package var leafletFolder = "/usr/share/javascript/leaflet"
    /// Folder of files that take the place of the pages' own; `nil`: none do.
    package var pagesFolder: String?
    /// Where people sign in, an address that may stand in a page; `nil`: by a code alone.
    package var signInURL: String?
    /// Tiles of the pages' map; `nil`: it is drawn without.
    package var tiles: TileSettings?
    /// Texts of statuses, in the languages that are there.
    package var languages = StatusLanguages()
    /// Streets to draw where there are no tiles, a GeoJSON FeatureCollection.
    package var streets: [UInt8]?

    package init() {}
}
