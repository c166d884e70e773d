// The settings of the pages: where their files are, what they show, and in which languages.

package import EnrouteWire
package import TrafficControl

/// The settings of the pages.
package struct PageSettings: Sendable {
    /// The folder with Leaflet's files, by default that of Debian's package libjs-leaflet.
    package var leafletFolder = "/usr/share/javascript/leaflet"
    /// A folder with files that replace the built-in ones; `nil` for none.
    package var pagesFolder: String?
    /// Name, logo, colors and support link of the operator.
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
    /// The languages that the operator added for the customer's page. Their statuses are part of `languages`.
    package var languageFiles: [LanguageFile] = []
    /// Streets to draw if there are no tiles, as a GeoJSON FeatureCollection.
    package var streets: [UInt8]?

    /// The origins of pages that may show the customer's page in a frame; none by default.
    package var frameAncestors = AllowedOrigins.own

    /// The origins of the demo's stage, which shows every page in a frame. Empty for all other gateways: no setting fills it,
    /// because a site that frames the riders' or the operations page could make people press its buttons.
    package var stageOrigins = AllowedOrigins.own
    /// Who may write a note to the rider on the customer's page, and who may cancel there.
    package var customerNotes = CustomerAction.signedIn
    package var customerCancelling = CustomerAction.signedIn

    /// The key with which browsers subscribe to push messages; `nil` if they are not offered.
    package var pushKey: String?

    package init() {}
}

/// Who may change a job on the customer's page.
package enum CustomerAction: String, Sendable, CaseIterable {
    case off
    /// The customer with a token.
    case signedIn = "signed-in"
    /// Also everybody with a tracking link.
    case links

    /// Whether the page offers it.
    func isOffered(byLink: Bool) -> Bool { self == .links || self == .signedIn && !byLink }
}
