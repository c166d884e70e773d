// An operator's brand: name, logo, colors and where customers get help. Without settings the pages are Enroute's own.

internal import WebAssets

/// What a deployment sets to make the pages its own.
package struct PageBrand: Sendable {
    /// Shown beside the logo, and used as the name of installed pages.
    package var name: String?
    package var accent: PageAccent?
    package var darkAccent: PageAccent?
    package var logo: Logo?
    /// Where customers get help: `https:`, `mailto:` or `tel:`.
    package var supportURL: String?

    package init() {}

    /// The image in the bar.
    package struct Logo: Sendable {
        package var bytes: [UInt8]
        package var mediaType: String

        /// Maximum file size in bytes. Every customer loads the file.
        package static let largest = 100_000
        package static let mediaTypes = ["svg": "image/svg+xml", "png": "image/png", "webp": "image/webp"]

        package init(_ bytes: [UInt8], mediaType: String) { (self.bytes, self.mediaType) = (bytes, mediaType) }

        var file: PageFiles.File { PageFiles.File(lasting: self.bytes, mediaType: self.mediaType) }
    }
}

extension PageTemplate {
    /// Adds the brand to a page's bar and head.
    ///
    /// - Parameter hasName: whether the page shows the operator's name instead of its own, as the customer's page does.
    mutating func show(_ brand: PageBrand, hasName: Bool) {
        if hasName, let name = brand.name {
            self.fill("title", with: name.escaped)
            self.addToHead(#"<meta name="enroute-name" content="\#(name.escaped)">"#)
        }
        if brand.logo != nil { self.fill("logo", with: #"<img src="/assets/logo" alt="" height="28">"#) }
        if let url = brand.supportURL {
            self.addToHead(#"<meta name="enroute-support" content="\#(url.escaped)">"#)
        }
        let light = brand.accent.map { "html:root { \($0.css) }" }
        let dark = brand.darkAccent.map { "@media (prefers-color-scheme: dark) { html:root { \($0.css) } }" }
        // More specific than the rules in page.css, which follow. The accent for light pages does not apply to dark
        // ones.
        let rules = [light.map { "@media not all and (prefers-color-scheme: dark) { \($0) }" }, dark].compactMap(\.self)
        if !rules.isEmpty { self.addToHead("<style>\(rules.joined(separator: " "))</style>") }
    }
}
