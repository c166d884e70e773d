// The operator's brand on the pages: name, logo, colors and support link.

import Foundation
import REST

extension ProcessConfiguration {
    func brand() throws -> PageBrand {
        var brand = PageBrand()
        brand.name = try self.pageName()
        brand.accent = try self.accent("ENROUTE_PAGES_ACCENT", .light)
        brand.darkAccent = try self.accent("ENROUTE_PAGES_ACCENT_DARK", .dark)
        brand.logo = try self.logo()
        brand.supportURL = try self.supportURL()
        return brand
    }

    private func pageName() throws -> String? {
        // The default applies to installed pages only: in a browser, the pages have their own names.
        guard self.isSet("ENROUTE_PAGES_NAME"), let text = self.text("ENROUTE_PAGES_NAME") else { return nil }
        let hasControls = text.unicodeScalars.contains { $0.properties.generalCategory == .control }
        guard (1...40).contains(text.count), !hasControls else {
            throw ConfigurationError(
                description: "ENROUTE_PAGES_NAME is \(text.debugDescription); it must have 1 to 40 characters and no "
                    + "control characters.")
        }
        return text
    }

    private func accent(_ name: String, _ theme: PageAccent.Theme) throws -> PageAccent? {
        guard let text = self.text(name) else { return nil }
        guard let colour = PageColour(text) else {
            throw ConfigurationError(
                description: "\(name) is \(text.debugDescription); it must be six hexadecimal digits such as 0a5bc4.")
        }
        let accent = PageAccent(colour, theme)
        guard accent.contrast >= PageAccent.leastContrast else {
            let (contrast, least) = (Self.decimal(accent.contrast), Self.decimal(PageAccent.leastContrast))
            throw ConfigurationError(
                description: "\(name) is \(colour.css), whose contrast is \(contrast); text needs at least \(least). "
                    + "Choose a \(theme == .light ? "darker" : "lighter") color.")
        }
        return accent
    }

    /// Rounds down, so that a value below the limit is not printed as the limit.
    private static func decimal(_ value: Double) -> String { String((value * 10).rounded(.down) / 10) }

    private func logo() throws -> PageBrand.Logo? {
        let setting = "ENROUTE_PAGES_LOGO_FILE"
        guard let path = self.text(setting) else { return nil }
        let name = path.split(separator: ".").last.map { $0.lowercased() } ?? ""
        guard let mediaType = PageBrand.Logo.mediaTypes[name] else {
            throw ConfigurationError(
                description: "\(setting) names \(path); it must be a file .svg, .png or .webp.")
        }
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw ConfigurationError(description: "\(setting) names \(path), which cannot be read.")
        }
        guard (1...PageBrand.Logo.largest).contains(bytes.count) else {
            throw ConfigurationError(
                description: "\(setting) names \(path), which has \(bytes.count) bytes; it must have 1 to "
                    + "\(PageBrand.Logo.largest), because every customer loads it.")
        }
        return PageBrand.Logo(Array(bytes), mediaType: mediaType)
    }

    private func supportURL() throws -> String? {
        guard let text = self.text("ENROUTE_PAGES_SUPPORT_URL") else { return nil }
        let url = URLComponents(string: text)
        let isWeb = url?.scheme == "https" && !(url?.host ?? "").isEmpty && url?.user == nil
        let isContact = ["mailto", "tel"].contains(url?.scheme) && !(url?.path ?? "").isEmpty
        guard isWeb || isContact else {
            throw ConfigurationError(
                description: "ENROUTE_PAGES_SUPPORT_URL is \(text.debugDescription); it must be https://…, mailto:… or "
                    + "tel:….")
        }
        return text
    }
}
