// What of the pages is the deployment's own: files in the place of ours, and where people sign in.

import Foundation
import Gateway
import REST
import OutboundHTTP
import Routing

extension ProcessConfiguration {
    func pagesFolder() throws -> String? {
        guard let folder = self.text("ENROUTE_PAGES_DIR") else { return nil }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
            throw ConfigurationError(
                description:
                    "ENROUTE_PAGES_DIR names \(folder), which is no folder. Make it, and put files into it that "
                    + "take the place of the pages' own, by their names: page.css, for example.")
        }
        return folder
    }

    func tiles() throws -> TileSettings? {
        guard let template = self.text("ENROUTE_TILES_URL") else {
            guard self.text("ENROUTE_TILES_ATTRIBUTION") == nil else {
                throw ConfigurationError(
                    description:
                        "ENROUTE_TILES_ATTRIBUTION is set, but no tiles are: set ENROUTE_TILES_URL too, or unset it.")
            }
            return nil
        }
        let source: TileSource
        do {
            source = try TileSource(template: template)
        } catch {
            throw ConfigurationError(description: "ENROUTE_TILES_URL can not be used. \(error.description)")
        }
        let attribution = try self.required(
            "ENROUTE_TILES_ATTRIBUTION", "who made the tiles, as their licence wants it said on the map.")
        return TileSettings(
            source: source, attribution: attribution, authorities: try self.authorities("ENROUTE_TILES_CA_FILE"))
    }

    func signInURL() throws -> String? {
        guard let text = self.text("ENROUTE_PAGES_SIGN_IN_URL") else { return nil }
        let url = URLComponents(string: text)
        let isHere = LoopbackHost.contains(url?.host ?? "")
        guard let url, let host = url.host, !host.isEmpty, url.user == nil, url.fragment == nil,
            url.scheme == "https" || url.scheme == "http" && isHere,
            (1...65_535).contains(url.port ?? 443)
        else {
            throw ConfigurationError(
                description:
                    "ENROUTE_PAGES_SIGN_IN_URL is \(text); it must be an address of a page, https://… (http on this "
                    + "machine alone), without a user or a #.")
        }
        return text
    }
}
