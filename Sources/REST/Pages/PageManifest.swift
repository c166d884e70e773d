// The web app manifests (W3C), which make the pages installable. Each page has its own name.

internal import EnrouteWire
internal import HTTPValues
internal import Hummingbird
internal import WebAssets

extension Pages {
    /// The pages that can be installed.
    enum Installable: String, CaseIterable, Sendable {
        case track, rider, ops

        fileprivate func name(of brand: String) -> String {
            switch self {
            case .track: brand
            case .rider: "\(brand) Rider"
            case .ops: "\(brand) Operations"
            }
        }

        /// The URL at which the installed app opens. It is `nil` for the customer's page, which opens at the URL from
        /// which it was installed: that of one job. Like all URLs in a manifest, it is relative to the manifest.
        fileprivate var start: String? { self == .track ? nil : self.rawValue }
        fileprivate var scope: String { self == .track ? "track/" : self.rawValue }
    }

    private struct Manifest: Encodable {
        struct Icon: Encodable {
            var src: String
            var sizes: String
            var type = "image/png"
            var purpose: String
        }

        static let themeColour = "#0b5cad"

        var name: String
        var short_name: String
        var start_url: String?
        var scope: String
        var display = "standalone"
        var background_color = "#ffffff"
        var theme_color: String
        var icons: [Icon]
    }

    func addManifest(to router: Router<GatewayRequestContext>) {
        router.get("manifest.webmanifest") { request, _ in
            let asked = request.uri.queryParameters["page"].map(String.init) ?? Installable.track.rawValue
            guard let page = Installable(rawValue: asked) else {
                let names = Installable.allCases.map(\.rawValue).joined(separator: ", ")
                throw Problem(.notFound, status: 404, detail: "page must be one of \(names).")
            }
            return Self.response(try self.manifest(of: page), "application/manifest+json; charset=utf-8")
        }
        // Browsers request it for documents without an icon, such as the API's responses.
        router.get("favicon.ico") { request, _ in try self.asset("icon-192.png", request) }
        // Beside the pages and not in assets, because a service worker controls only the pages below its own path.
        router.get("worker.js") { request, _ in try self.asset("worker.js", request) }
    }

    private func manifest(of page: Installable) throws -> [UInt8] {
        if let own = self.files["\(page.rawValue).webmanifest"] { return own.bytes }
        let name = page.name(of: self.settings.brand.name ?? PageSettings.defaultName)
        return try JSONDocument.bytes(
            Manifest(
                name: name, short_name: name, start_url: page.start, scope: page.scope,
                theme_color: self.settings.brand.accent?.colour.css ?? Manifest.themeColour,
                icons: [
                    .init(src: "assets/icon-192.png", sizes: "192x192", purpose: "any"),
                    .init(src: "assets/icon-512.png", sizes: "512x512", purpose: "any"),
                    .init(src: "assets/icon-maskable-512.png", sizes: "512x512", purpose: "maskable"),
                ]))
    }
}
