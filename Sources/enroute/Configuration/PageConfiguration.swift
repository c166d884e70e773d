// What operators can change about the pages: files, languages, streets, map tiles, and where people sign in.

import EnrouteWire
import Foundation
import Gateway
import Journeys
import OutboundHTTP
import REST
import Routing
import Streets

extension ProcessConfiguration {
    func pagesFolder() throws -> String? {
        guard let folder = self.text("ENROUTE_PAGES_DIR") else { return nil }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
            throw ConfigurationError(
                description: "ENROUTE_PAGES_DIR names \(folder), which is not a directory. Create it, with files that "
                    + "replace the built-in ones of the same name, page.css for example.")
        }
        return folder
    }

    func tiles() throws -> TileSettings? {
        guard let template = self.text("ENROUTE_TILES_URL") else {
            guard self.text("ENROUTE_TILES_ATTRIBUTION") == nil else {
                throw ConfigurationError(
                    description: "ENROUTE_TILES_ATTRIBUTION is set, but ENROUTE_TILES_URL is not. Set it, or unset "
                        + "ENROUTE_TILES_ATTRIBUTION.")
            }
            return nil
        }
        let source: TileSource
        do {
            source = try TileSource(template: template)
        } catch {
            throw ConfigurationError(description: "ENROUTE_TILES_URL: \(error.description)")
        }
        let attribution = try self.required(
            "ENROUTE_TILES_ATTRIBUTION", "the attribution that the tiles' license requires on the map.")
        return TileSettings(
            source: source, attribution: attribution, authorities: try self.authorities("ENROUTE_TILES_CA_FILE"))
    }

    func customerAction(_ name: String) throws -> CustomerAction {
        let text = try self.choice(name)
        guard let action = CustomerAction(rawValue: text) else {
            preconditionFailure("\(name) allows \(text), which is no case of CustomerAction")
        }
        return action
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
                description: "ENROUTE_PAGES_SIGN_IN_URL is \(SettingMask.url(text)); it must be the URL of a page: "
                    + "https://… (http://… for this machine only), without a user and without a fragment.")
        }
        return text
    }

    /// Only origins with TLS: browsers block a photo over plain HTTP as mixed content.
    func photoOrigins() throws -> [String] {
        let origins = self.list("ENROUTE_PAGES_PHOTO_ORIGINS")
        for origin in origins where origin.wholeMatch(of: /https:\/\/[a-z0-9.-]+(:[0-9]{1,5})?/) == nil {
            throw ConfigurationError(
                description:
                    "ENROUTE_PAGES_PHOTO_ORIGINS contains \(origin); it must contain origins only: https://host "
                    + "or https://host:port, in lower case, without a path or a wildcard.")
        }
        return origins
    }

    /// The languages of the directory, in the order of the file names.
    func languageFiles() throws -> [LanguageFile] {
        let setting = "ENROUTE_PAGES_LANGUAGES_DIR"
        guard let folder = self.text(setting) else { return [] }
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
            throw ConfigurationError(
                description: "\(setting) names \(folder), which is not a directory that can be read.")
        }
        let files = names.filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }.sorted()
        guard (1...LanguageFile.mostFiles).contains(files.count) else {
            throw ConfigurationError(
                description:
                    "\(setting) names \(folder), which has \(files.count) files ending in .json; it must have 1 to "
                    + "\(LanguageFile.mostFiles), fr.json for example.")
        }
        return try files.map {
            try self.languageFile("\(folder)/\($0)", tag: String($0.dropLast(".json".count)), setting)
        }
    }

    /// - Parameter tag: the language in the file's name.
    private func languageFile(_ path: String, tag: String, _ setting: String) throws -> LanguageFile {
        guard let json = FileManager.default.contents(atPath: path) else {
            throw ConfigurationError(description: "\(setting): \(path) cannot be read.")
        }
        func unusable(_ reason: String) -> ConfigurationError {
            ConfigurationError(
                description: "\(setting): \(path) cannot be used: \(reason). "
                    + "`enroute config --language-template` prints a complete file.")
        }
        let file: LanguageFile
        do throws(LanguageFile.Fault) {
            file = try LanguageFile(json: Array(json))
        } catch {
            throw unusable(error.reason)
        }
        guard file.language == tag else {
            throw unusable("its language is \(file.language); rename it to \(file.language).json")
        }
        return file
    }

    func languages(and files: [LanguageFile]) throws -> StatusLanguages {
        StatusLanguages(
            further: files.map(\.texts)
                + (try self.list("ENROUTE_PAGES_TRANSLATION_FILES").map { file in
                    guard let json = FileManager.default.contents(atPath: file) else {
                        throw ConfigurationError(
                            description: "ENROUTE_PAGES_TRANSLATION_FILES names \(file), which cannot be read.")
                    }
                    do throws(BadMessage) {
                        // Both sections must be complete, because a page requests the whole file.
                        _ = try TrackingTexts(json: Array(json))
                        return try StatusTexts(json: Array(json))
                    } catch {
                        throw ConfigurationError(
                            description:
                                "ENROUTE_PAGES_TRANSLATION_FILES names \(file), which cannot be used: \(error.reason). "
                                + "GET /api/v1/texts?language=en returns a complete file.")
                    }
                }))
    }

    /// The map for pages without tiles.
    ///
    /// - Parameter network: drawn if no file for the map is set.
    func streets(_ network: StreetNetwork? = nil) throws -> [UInt8]? {
        guard let path = self.text("ENROUTE_PAGES_STREETS_FILE") else { return network?.map() }
        return try self.naming("ENROUTE_PAGES_STREETS_FILE") { try Journeys.Streets.load(path: path) }
    }
}
